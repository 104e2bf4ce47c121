use std::fmt;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::EjectionState;

/// That an instance is left out because requests to it failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum EjectionReport {
    /// It gets no request until the pause is over.
    Ejected {
        /// What is left of the pause, in milliseconds; 0 = the next request goes there, to find out.
        for_ms: u64,
        /// How many ejections before this one count against it.
        relapses: u32,
    },
    /// One request finds out whether it works again; it gets no other.
    Probing {
        /// How many ejections before this one count against it.
        relapses: u32,
    },
}

impl EjectionReport {
    /// `None` if it is not left out.
    pub(crate) fn new(state: EjectionState, now: Instant) -> Option<Self> {
        match state {
            EjectionState::Healthy { .. } => None,
            EjectionState::Ejected { until, relapses } => {
                let left = until.saturating_duration_since(now).as_millis();
                Some(Self::Ejected { for_ms: u64::try_from(left).unwrap_or(u64::MAX), relapses })
            }
            EjectionState::Probing { relapses } => Some(Self::Probing { relapses }),
        }
    }
}

impl fmt::Display for EjectionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relapses = match self {
            Self::Ejected { for_ms: 0, relapses } => {
                f.write_str("ejected after failed requests, the next one finds out whether it works again")?;
                *relapses
            }
            Self::Ejected { for_ms, relapses } => {
                let left = Duration::from_millis(for_ms.next_multiple_of(100));
                write!(f, "ejected after failed requests, for another {left:?}")?;
                *relapses
            }
            Self::Probing { relapses } => {
                f.write_str("ejected after failed requests, one request finds out whether it works again")?;
                *relapses
            }
        };
        if relapses > 0 { write!(f, " (ejections before: {relapses})") } else { Ok(()) }
    }
}
