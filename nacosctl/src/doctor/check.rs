//! One check and what it came to.

use serde::Serialize;

use crate::{
    failure::Failure,
    output::{Output, Tone},
};

/// What a check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    /// As it should be.
    Ok,
    /// It works, and may surprise.
    Warning,
    /// It does not work.
    Failed,
    /// It could not be looked at.
    Skipped,
}

/// A check.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    /// What was seen.
    pub(super) seen: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, seen: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, seen: seen.into(), remedy: None }
    }

    pub(super) fn skipped(name: &'static str, seen: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Skipped, seen: seen.into(), remedy: None }
    }

    pub(super) fn warning(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Warning, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn failed(name: &'static str, seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Failed, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn print(&self, output: Output) -> Result<(), Failure> {
        let (word, tone) = match self.verdict {
            Verdict::Ok => ("ok", Tone::Good),
            Verdict::Warning => ("warning", Tone::Doubtful),
            Verdict::Failed => ("FAILED", Tone::Bad),
            Verdict::Skipped => ("skipped", Tone::Faint),
        };
        let (word, seen) = (format!("{word:<8}"), format!(" {:<10} {}", self.name, self.seen));
        output.toned(&[(Some(tone), &word), (None, &seen)])?;
        match &self.remedy {
            Some(remedy) => output.toned(&[(Some(Tone::Faint), &format!("{:20}→ ", "")), (None, remedy)]),
            None => Ok(()),
        }
    }
}
