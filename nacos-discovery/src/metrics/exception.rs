use ::metrics::Label;

use super::labels::UNKNOWN;
use crate::{BalanceError, NoInstanceReason, Outcome, TransportFailure};

fn label(word: &'static str) -> Label {
    Label::from_static_parts("exception", word)
}

/// Why there was no whole answer.
pub(super) fn of_outcome(outcome: &Outcome) -> Label {
    label(match outcome {
        Outcome::Transport(TransportFailure::Connect) => "Connect",
        Outcome::Transport(TransportFailure::Timeout) => "Timeout",
        Outcome::Transport(TransportFailure::Broken) => "Broken",
        _ => UNKNOWN,
    })
}

/// Why nobody was called.
pub(super) fn of_error(error: &BalanceError) -> Label {
    label(match error {
        BalanceError::NoInstance(none) => of_reason(&none.reason),
        BalanceError::BadTarget(_) => "BadTarget",
        BalanceError::Discovery(_) => "Discovery",
        BalanceError::Inner { .. } => "NotReady",
    })
}

const fn of_reason(reason: &NoInstanceReason) -> &'static str {
    match reason {
        NoInstanceReason::Unknown { .. } => "Unknown",
        NoInstanceReason::NoneRegistered => "NoneRegistered",
        NoInstanceReason::AllDrained { .. } => "AllDrained",
        NoInstanceReason::AllUnhealthy { .. } => "AllUnhealthy",
        NoInstanceReason::NoUsableAddress { .. } => "NoUsableAddress",
        NoInstanceReason::Filtered { .. } => "Filtered",
        NoInstanceReason::RouteMiss { .. } => "RouteMiss",
        NoInstanceReason::AllTried { .. } => "AllTried",
        NoInstanceReason::AllEjected => "AllEjected",
        NoInstanceReason::Stale { .. } => "Stale",
        NoInstanceReason::Closed => "Closed",
    }
}
