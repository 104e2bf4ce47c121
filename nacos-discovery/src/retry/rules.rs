//! Whether an attempt may be followed by another one. Pure.

use std::time::Duration;

use http::{Method, StatusCode};

use super::RetrySettings;
use crate::TransportFailure;

/// An attempt that has ended, and all that counts for another one.
#[derive(Debug)]
pub(super) struct Ended<'a> {
    pub(super) method: &'a Method,
    /// Whether the request says of itself that it may be sent more than once.
    pub(super) marked: bool,
    pub(super) finding: Finding,
    /// Attempts so far, this one included.
    pub(super) attempts: u32,
    /// Since the first one began.
    pub(super) elapsed: Duration,
    pub(super) body: BodyState,
}

/// What an attempt ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    /// An answer.
    Answered {
        status: StatusCode,
        retry_after: Option<Duration>,
    },
    /// A gRPC answer that is nothing but `UNAVAILABLE`.
    GrpcUnavailable,
    Failed(TransportFailure),
    /// It went to no instance, or to none of our choosing.
    NotSent,
}

/// What there is of a request's body for another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyState {
    /// Nothing of it was read.
    Unread,
    /// What was read of it is kept.
    Kept,
    /// What was read of it is gone.
    Gone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Another attempt may begin after this pause.
    Again(Duration),
    Stop(Stop),
}

/// Why there is no other attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The result is one that another instance would not better, or is no failure.
    Result,
    /// The instance may have done what was asked for, and the request may not be repeated.
    Method,
    /// The body cannot be sent again.
    Body,
    /// That was the last attempt.
    Attempts,
    /// The next one would begin after the deadline.
    Deadline,
}

/// The rules, in the order in which they apply. `random` is uniform over all values.
pub(super) fn next(settings: &RetrySettings, ended: &Ended<'_>, random: u64) -> Verdict {
    let Some((repeatable, pause)) = by_finding(settings, ended) else { return Verdict::Stop(Stop::Result) };
    if !repeatable {
        return Verdict::Stop(Stop::Method);
    }
    if ended.body == BodyState::Gone {
        return Verdict::Stop(Stop::Body);
    }
    if ended.attempts >= settings.attempts() {
        return Verdict::Stop(Stop::Attempts);
    }
    let backoff = || settings.backoff().pause(ended.attempts, random);
    let pause = match pause {
        Pause::None => Duration::ZERO,
        Pause::Backoff => backoff(),
        Pause::AtLeast(least) => backoff().max(least),
    };
    if ended.elapsed.saturating_add(pause) >= settings.deadline() {
        return Verdict::Stop(Stop::Deadline);
    }
    Verdict::Again(pause)
}

enum Pause {
    None,
    Backoff,
    AtLeast(Duration),
}

/// Whether the request may be repeated after such a result, and after what; `None` if the result is to be handed on.
fn by_finding(settings: &RetrySettings, ended: &Ended<'_>) -> Option<(bool, Pause)> {
    let repeatable = ended.marked || settings.repeats_method(ended.method);
    match ended.finding {
        Finding::NotSent => None,
        // Not a byte was sent, so every method may go elsewhere, and at once: no instance is spared by a pause.
        Finding::Failed(TransportFailure::Connect) => Some((true, Pause::None)),
        Finding::Failed(_) => Some((repeatable, Pause::Backoff)),
        Finding::Answered { status: StatusCode::TOO_MANY_REQUESTS, retry_after: Some(after) } => {
            Some((repeatable, Pause::AtLeast(after)))
        }
        Finding::Answered { status, .. } => settings.repeats_status(status).then_some((repeatable, Pause::Backoff)),
        // Who switches it on says that every call may be repeated: all of them are POSTs.
        Finding::GrpcUnavailable => settings.repeats_grpc_unavailable().then_some((true, Pause::Backoff)),
    }
}

#[cfg(test)]
mod tests;
