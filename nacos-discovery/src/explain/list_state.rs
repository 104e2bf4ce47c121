use std::fmt;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::ListStatus;

/// What is known of a list beside its instances.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ListState {
    /// Local number of the list, which grows with every change.
    pub revision: u64,
    /// For how long requests have been spread over it, in milliseconds: since something in it changed last.
    pub age_ms: u64,
    /// For how long nobody has kept it up to date, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_for_ms: Option<u64>,
    /// Whether the registry shows unhealthy instances as healthy, because too few are healthy.
    pub protected: bool,
    /// Instances that the last list lacked and that are kept until it is confirmed.
    pub held: usize,
}

impl ListState {
    pub(super) fn new(status: &ListStatus, now: Instant) -> Self {
        Self {
            revision: status.revision(),
            age_ms: milliseconds(status.since(), now),
            stale_for_ms: status.stale_since().map(|since| milliseconds(since, now)),
            protected: status.is_protected(),
            held: status.held(),
        }
    }
}

fn milliseconds(since: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(since).as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Display for ListState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "revision {}", self.revision)?;
        if let Some(age) = seconds(self.age_ms) {
            write!(f, ", unchanged for {age:?}")?;
        }
        match (self.stale_for_ms, self.stale_for_ms.and_then(seconds)) {
            (Some(_), Some(stale)) => write!(f, ", nobody has kept it up to date for {stale:?}")?,
            (Some(_), None) => f.write_str(", nobody keeps it up to date")?,
            (None, _) => f.write_str(", kept up to date")?,
        }
        if self.protected {
            f.write_str("; protected: too few are healthy, so the registry shows all as healthy")?;
        }
        if self.held > 0 {
            write!(f, "; {} held: the last list lacked them, which is not confirmed yet", self.held)?;
        }
        Ok(())
    }
}

/// People count in whole seconds.
fn seconds(milliseconds: u64) -> Option<Duration> {
    Some(Duration::from_secs(milliseconds / 1000)).filter(|duration| !duration.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_about_a_list_is_told() {
        let fresh = ListState { revision: 7, age_ms: 999, stale_for_ms: None, protected: false, held: 0 };
        assert_eq!(fresh.to_string(), "revision 7, kept up to date");
        let old = ListState { age_ms: 61_500, stale_for_ms: Some(10), ..fresh };
        assert_eq!(old.to_string(), "revision 7, unchanged for 61s, nobody keeps it up to date");
        let odd = ListState { stale_for_ms: Some(2000), protected: true, held: 2, ..fresh };
        assert_eq!(
            odd.to_string(),
            "revision 7, nobody has kept it up to date for 2s; protected: too few are healthy, so the registry shows all as \
             healthy; 2 held: the last list lacked them, which is not confirmed yet"
        );
    }
}
