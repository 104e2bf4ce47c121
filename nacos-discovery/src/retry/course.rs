use std::error::Error;
use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

use http::request::Parts;
use http::{Request, Response};
use http_body::Body;
use tokio::time::Instant;
use tower_service::Service;

use super::body::BodySource;
use super::rules::{BodyState, Ended, Finding, Verdict};
use super::scope::Scope;
use super::{Attempt, Idempotent, ReplayBody, finding, rules};
use crate::route::RequestHead;
use crate::{BalanceError, Tried};

type BoxError = Box<dyn Error + Send + Sync>;

/// A call that may have more than one attempt: how far it is, and what it is repeated with.
pub(super) struct Course<S, B> {
    client: S,
    head: Parts,
    body: BodySource<B>,
    scope: Scope,
    marked: bool,
    attempt: Attempt,
    began: Instant,
    tried: Tried,
    /// How many instances had been tried when the running attempt began.
    tried_before: usize,
    /// How often it may begin anew with instances that were tried.
    rounds: u32,
}

impl<S, B> Course<S, B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    fn request(&self) -> Request<ReplayBody<B>> {
        let mut head = self.head.clone();
        head.extensions.insert(self.attempt);
        head.extensions.insert(self.tried.clone());
        Request::from_parts(head, self.body.body(self.attempt.number()))
    }

    /// Whether the running attempt has gone to an instance.
    pub(super) fn has_reached(&self) -> bool {
        self.tried.len() > self.tried_before
    }

    /// What follows a result: another attempt after a pause, or `None` if the result is to be handed on.
    pub(super) fn after<R>(&mut self, result: &Result<Response<R>, BalanceError>) -> Option<Duration> {
        let now = Instant::now();
        let finding = if self.has_reached() { finding::of(result) } else { Finding::NotSent };
        let ended = Ended {
            method: &self.head.method,
            marked: self.marked,
            finding,
            attempts: self.attempt.number(),
            elapsed: now.saturating_duration_since(self.began),
            body: self.body.state(),
        };
        let Verdict::Again(pause) = rules::next(self.scope.settings(), &ended, fastrand::u64(..)) else { return None };
        if !self.has_another() {
            tracing::trace!(service = self.scope.service(), "not repeated: all instances were tried");
            return None;
        }
        if !self.scope.budget().take(now) {
            tracing::debug!(service = self.scope.service(), "not repeated: the budget is used up");
            return None;
        }
        let attempt = self.attempt.number();
        tracing::debug!(service = self.scope.service(), attempt, ?finding, ?pause, "repeated");
        Some(pause)
    }

    /// Whether there is an instance to go to, be it one that was tried if that is allowed once more.
    fn has_another(&mut self) -> bool {
        if self.scope.has_untried(&self.tried, RequestHead::from(&self.head)) {
            return true;
        }
        let Some(rounds) = self.rounds.checked_sub(1) else { return false };
        self.rounds = rounds;
        self.tried = self.tried.anew();
        true
    }

    /// How long another attempt may still begin.
    pub(super) fn until_deadline(&self) -> Duration {
        self.scope.settings().deadline().saturating_sub(self.began.elapsed())
    }

    /// Ends the course before an attempt that was granted.
    pub(super) fn give_up(&self) {
        self.scope.budget().put_back(Instant::now());
    }
}

impl<S, B> Course<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
    B: Body,
    B::Error: Into<BoxError>,
{
    /// The course and its first attempt. `client` is ready; before the second one it is asked again.
    pub(super) fn begin(client: S, request: Request<B>, scope: Scope) -> (Box<Self>, S::Future) {
        let began = Instant::now();
        scope.budget().request(began);
        let (head, body) = request.into_parts();
        let settings = scope.settings();
        let marked = head.extensions.get::<Idempotent>().is_some()
            || settings.idempotency_header().is_some_and(|name| head.headers.contains_key(name));
        // Of a request that goes elsewhere only if nothing of it was sent, nothing needs to be kept.
        let keeps = marked || settings.repeats_method(&head.method) || settings.repeats_grpc_unavailable();
        let limit = keeps.then(|| settings.body_limit());
        let body = BodySource::new(body, limit);
        let tried = head.extensions.get::<Tried>().cloned().unwrap_or_default();
        let tried_before = tried.len();
        let rounds = settings.same_node_retries();
        let attempt = Attempt::FIRST;
        let course = Self { client, head, body, scope, marked, attempt, began, tried, tried_before, rounds };
        let mut course = Box::new(course);
        let request = course.request();
        let future = course.client.call(request);
        (course, future)
    }

    pub(super) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.client.poll_ready(cx)
    }

    /// Begins the next attempt, if there is still all of the body that is needed.
    pub(super) fn next(&mut self) -> Option<S::Future> {
        if self.body.state() == BodyState::Gone {
            return None;
        }
        self.attempt = self.attempt.next();
        self.tried_before = self.tried.len();
        let request = self.request();
        Some(self.client.call(request))
    }
}

impl<S, B> fmt::Debug for Course<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Course").field("attempt", &self.attempt).field("tried", &self.tried).finish_non_exhaustive()
    }
}
