use std::fmt;

use serde::Serialize;

/// Where a request goes by the routing rules of its service.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ExplainedRoute {
    /// The rule that applies; `None`: none does, so that it goes to the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Where to. More than one where a draw decides.
    pub to: Vec<ExplainedShare>,
    /// Where it goes if nobody there takes it: metadata such as `version=v1`, or `the baseline`; `None`: nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss: Option<String>,
}

/// One of the places that a request can go to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ExplainedShare {
    /// How many percent of such requests go there.
    pub percent: f64,
    /// What the instances are of: metadata such as `version=v2`, or `the baseline`.
    pub label: String,
    /// How many of them take requests now.
    pub serving: usize,
    /// Whether none of them does, so that these requests go where the rule says for that case.
    pub missed: bool,
    /// Why these requests find nobody at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_instance: Option<String>,
}

impl fmt::Display for ExplainedRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.rule {
            Some(rule) => write!(f, "by the rule `{rule}` to ")?,
            None => f.write_str("no rule applies, so to ")?,
        }
        for (at, to) in self.to.iter().enumerate() {
            f.write_str(if at > 0 { ", to " } else { "" })?;
            f.write_str(&to.label)?;
            if self.to.len() > 1 {
                write!(f, " {} %", to.percent)?;
            }
            match (&to.no_instance, to.missed, &self.miss) {
                (Some(_), ..) => f.write_str(" (nobody takes requests: they fail)")?,
                (None, true, Some(miss)) => write!(f, " (nobody takes requests: they go to {miss})")?,
                _ => write!(f, " ({} take requests)", to.serving)?,
            }
        }
        Ok(())
    }
}
