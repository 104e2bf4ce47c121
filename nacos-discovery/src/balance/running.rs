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
    /// `None` where nobody listens: what a call carries along is moved several times.
    span: Option<Box<Span>>,
    started: Instant,
    /// When the head of the answer was there; until then the same.
    head: Instant,
    completion: Completion,
}

impl Running {
    #[inline]
    pub(super) fn new(picked: Picked, observer: Observer, span: Span, completion: Completion) -> Self {
        let span = (!span.is_disabled()).then(|| Box::new(span));
        let started = Instant::now();
        Self { picked, observer, span, started, head: started, completion }
    }

    #[inline]
    pub(super) fn enter(&self) -> Option<Entered<'_>> {
        self.span.as_deref().map(Span::enter)
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
    #[inline]
    pub(super) fn answered(&mut self, status: StatusCode) {
        self.head = Instant::now();
        self.observer.answered(status);
    }

    /// What there is of the answer shows that the instance works.
    #[inline]
    pub(super) fn works(&self) {
        self.picked.answered();
    }

    /// The answer has ended well, as far as its bytes are concerned.
    pub(super) fn ended(self, expected: Expected) {
        let now = Instant::now();
        let outcome = expected.outcome(now.duration_since(self.started));
        self.finish(outcome, now, None);
    }

    /// The answer is nothing but its head, which came a moment ago.
    pub(super) fn ended_with_head(self, expected: Expected) {
        let (outcome, now) = (expected.outcome(self.to_head()), self.head);
        self.finish(outcome, now, None);
    }

    /// Nothing but the head of the answer counts.
    pub(super) fn ended_by_head(self, expected: Expected) {
        let outcome = expected.outcome_of_head(self.to_head());
        self.finish(outcome, Instant::now(), None);
    }

    fn to_head(&self) -> Duration {
        self.head.duration_since(self.started)
    }

    /// There was no whole answer.
    pub(super) fn failed(self, outcome: Outcome, error: Option<&(dyn Error + 'static)>) {
        self.finish(outcome, Instant::now(), error);
    }

    #[inline]
    fn finish(self, outcome: Outcome, now: Instant, error: Option<&(dyn Error + 'static)>) {
        let Self { picked, observer, span, .. } = self;
        picked.finish_at(outcome, now);
        if let Some(span) = &span {
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
