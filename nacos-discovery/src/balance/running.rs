use std::error::Error;
use std::time::Duration;

use http::StatusCode;
use tokio::time::Instant;
use tracing::Span;
use tracing::span::Entered;

use super::observe::{Completed, Observer};
use super::outcome::Expected;
use crate::{Completion, Outcome, Picked, ServiceInstance};

/// A call that was sent to an instance and has not ended. Dropping it is the caller's giving up. However it ends, the
/// instance is released first and the hooks are told then.
#[derive(Debug)]
pub(super) struct Running {
    // Dropped in this order.
    picked: Picked,
    observer: Observer,
    span: Span,
    started: Instant,
    /// From the start to the head of the answer.
    to_head: Duration,
    completion: Completion,
}

impl Running {
    pub(super) fn new(picked: Picked, observer: Observer, span: Span, completion: Completion) -> Self {
        Self { picked, observer, span, started: Instant::now(), to_head: Duration::ZERO, completion }
    }

    pub(super) fn enter(&self) -> Entered<'_> {
        self.span.enter()
    }

    pub(super) const fn completion(&self) -> Completion {
        self.completion
    }

    pub(super) fn picked(&self) -> &Picked {
        &self.picked
    }

    pub(super) fn instance(&self) -> &ServiceInstance {
        self.picked.instance()
    }

    /// The head of the answer is there.
    pub(super) fn answered(&mut self, status: StatusCode) {
        self.to_head = self.started.elapsed();
        self.observer.answered(status);
    }

    /// What there is of the answer shows that the instance works.
    pub(super) fn works(&self) {
        self.picked.answered();
    }

    /// The answer has ended well, as far as its bytes are concerned.
    pub(super) fn ended(self, expected: Expected) {
        let now = Instant::now();
        let outcome = expected.outcome(now.duration_since(self.started));
        self.finish(outcome, now, None);
    }

    /// Nothing but the head of the answer counts.
    pub(super) fn ended_by_head(self, expected: Expected) {
        let outcome = expected.outcome_of_head(self.to_head);
        self.finish(outcome, Instant::now(), None);
    }

    /// There was no whole answer.
    pub(super) fn failed(self, outcome: Outcome, error: Option<&(dyn Error + 'static)>) {
        self.finish(outcome, Instant::now(), error);
    }

    fn finish(self, outcome: Outcome, now: Instant, error: Option<&(dyn Error + 'static)>) {
        let Self { picked, observer, span, .. } = self;
        picked.finish_at(outcome, now);
        if !span.is_disabled() {
            span.record("outcome", tracing::field::debug(&outcome));
        }
        observer.complete(|status| match (outcome, status) {
            (Outcome::Success { .. } | Outcome::ServerFailure { .. } | Outcome::Overloaded { .. }, Some(status)) => {
                Completed::Success { status, outcome }
            }
            (_, status) => Completed::Failed { outcome, status, error },
        });
    }
}
