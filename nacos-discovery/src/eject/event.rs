use tokio::time::Instant;

use crate::ServiceInstance;

/// An instance was taken out of the choice, or came back: what this process makes of the calls that it sent there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EjectionEvent {
    /// The instance, with its service.
    pub instance: ServiceInstance,
    /// What happened.
    pub kind: EjectionKind,
    /// When.
    pub at: Instant,
    /// Events before this one that the reader has missed, because it was slow.
    pub missed: u64,
}

/// What happened to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EjectionKind {
    /// It gets no requests.
    Ejected {
        /// From then on the next request probes it.
        until: Instant,
        /// Why.
        cause: EjectionCause,
        /// How many ejections before this one count against it; 0 for the first.
        relapses: u32,
    },
    /// A probe succeeded: it gets requests again.
    Restored,
    /// It gets requests again though nobody knows whether it can serve them: too few others are left.
    Readmitted,
}

/// Why an instance was ejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EjectionCause {
    /// So many calls failed without a success between them.
    ConsecutiveFailures {
        /// How many.
        failures: u32,
    },
    /// Too great a share of the calls failed.
    FailureRate {
        /// How many failed or were refused as too many.
        failed: u32,
        /// Of how many.
        calls: u32,
    },
    /// It was ejected, and the request that probed it failed, too.
    ProbeFailed,
}

/// Whether an instance takes requests, as far as this process's own calls say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EjectionState {
    /// It does.
    Healthy {
        /// Failures since the last success.
        failures: u32,
    },
    /// It gets none.
    Ejected {
        /// From then on the next request probes it.
        until: Instant,
        /// How many ejections before this one count against it.
        relapses: u32,
    },
    /// It has the one request that probes it.
    Probing {
        /// How many ejections before this one count against it.
        relapses: u32,
    },
}
