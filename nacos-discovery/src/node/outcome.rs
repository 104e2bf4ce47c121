use std::time::Duration;

/// How a call of an instance ended, as far as load balancing cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The instance answered, and not with an error of its own.
    Success {
        /// From sending the request to the end that counts: of the body, or of the headers.
        latency: Duration,
    },
    /// The instance answered that it failed: a status of 500 and above, or the like in gRPC.
    ServerFailure {
        /// From sending the request to the end that counts.
        latency: Duration,
    },
    /// The instance answered that it has too much to do: status 429 or 503 with a pause, or the like in gRPC. It lowers an
    /// instance's share, but says nothing bad of the instance by itself.
    Overloaded {
        /// The pause it asked for.
        retry_after: Option<Duration>,
    },
    /// There was no whole answer.
    Transport(TransportFailure),
    /// The caller gave up by itself. It says nothing about the instance.
    Cancelled,
}

/// Why there was no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransportFailure {
    /// No connection came about, so that no byte of the request was sent.
    Connect,
    /// There was no answer in time.
    Timeout,
    /// The connection broke after bytes of the request may have been sent.
    Broken,
}

impl Outcome {
    /// Whether it counts against the instance.
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::ServerFailure { .. } | Self::Transport(_))
    }
}
