use std::fmt;
use std::time::Instant;

use nacos_client::{RegistrationStatus, ServerRefusal};

/// How far the registration of this process has come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistrationState {
    /// The settings want none.
    Off(Off),
    /// Not acknowledged yet, and nothing went wrong so far: there is no connection, or the request is on its way.
    Pending,
    /// The server that the client is connected to has it as it is wanted.
    Registered,
    /// The server failed to take it; it is tried again, with growing pauses of at most 5 s.
    Failing {
        /// Failed attempts in a row.
        attempts: u32,
        /// When the first of them failed.
        since: Instant,
        /// What the last one failed with, as text for people.
        last_error: String,
    },
    /// The server refused it as it is; tried again after a change or 30 s.
    Refused(ServerRefusal),
    /// The server cannot hold it.
    Unsupported {
        /// First server version that can.
        needs: &'static str,
    },
    /// It is set down, and out of the registry until it is set up again: an operator's setting would have kept it in traffic.
    Withheld,
    /// Another registration of the same address and cluster by the same client took its place.
    Replaced,
    /// It was taken back, or the client is shut down.
    Deregistered,
}

/// Why nothing is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Off {
    /// `register-enabled` or `enabled` is false.
    Disabled,
    /// No service name is configured.
    NoService,
}

impl RegistrationState {
    /// One word for it, for logs and reports.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Off(_) => "off",
            Self::Pending => "pending",
            Self::Registered => "registered",
            Self::Failing { .. } => "failing",
            Self::Refused(_) => "refused",
            Self::Unsupported { .. } => "unsupported",
            Self::Withheld => "withheld",
            Self::Replaced => "replaced",
            Self::Deregistered => "deregistered",
        }
    }

    /// Whether it will not change by itself any more.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self, Self::Off(_) | Self::Replaced | Self::Deregistered)
    }
}

impl From<RegistrationStatus> for RegistrationState {
    fn from(status: RegistrationStatus) -> Self {
        match status {
            RegistrationStatus::Confirmed => Self::Registered,
            RegistrationStatus::Refused(refusal) => Self::Refused(refusal),
            RegistrationStatus::Failing { attempts, since, last_error } => {
                Self::Failing { attempts, since, last_error }
            }
            RegistrationStatus::Unsupported { needs } => Self::Unsupported { needs },
            RegistrationStatus::Withdrawn => Self::Replaced,
            _ => Self::Pending,
        }
    }
}

impl fmt::Display for RegistrationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off(Off::Disabled) => f.write_str("off: disabled by the settings"),
            Self::Off(Off::NoService) => f.write_str("off: no service name is configured"),
            Self::Failing { attempts, last_error, .. } => write!(f, "failing: {attempts} attempts, last: {last_error}"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
            Self::Unsupported { needs } => write!(f, "unsupported: Nacos {needs} or newer is needed"),
            other => f.write_str(other.name()),
        }
    }
}
