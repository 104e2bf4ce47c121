use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Response};
use http_body::Body;
use pin_project_lite::pin_project;
use tokio::time::{Sleep, sleep};
use tower_service::Service;

use super::ReplayBody;
use super::course::Course;
use super::drain::Drain;
use crate::BalanceError;

pin_project! {
    /// The response of [`crate::RetryNext`]. Dropping it gives the call up, whatever it is doing: nothing goes on without it.
    #[must_use = "futures do nothing unless polled"]
    pub struct RetryNextFuture<S, B>
    where
        S: Service<Request<ReplayBody<B>>>,
    {
        #[pin]
        step: Step<S::Future>,
        // `None` if there is one attempt whatever comes. What is large stands elsewhere: a future is moved several times before
        // it is polled.
        course: Option<Box<Course<S, B>>>,
        // What the last attempt that went to an instance ended with, until the next one has gone to another.
        held: Option<Box<Result<S::Response, BalanceError>>>,
        // The rest of an answer that nobody wants.
        drain: Option<Drain>,
    }
}

pin_project! {
    #[project = StepProjection]
    enum Step<F> {
        Calling { #[pin] future: F },
        // Until the next attempt may begin.
        Pausing { #[pin] pause: Sleep },
        // Until the client can take it, or it is too late.
        Readying { #[pin] limit: Sleep },
    }
}

impl<S, B> RetryNextFuture<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
{
    pub(super) const fn once(future: S::Future) -> Self {
        Self { step: Step::Calling { future }, course: None, held: None, drain: None }
    }

    pub(super) const fn repeating(future: S::Future, course: Box<Course<S, B>>) -> Self {
        Self { step: Step::Calling { future }, course: Some(course), held: None, drain: None }
    }
}

impl<F> Step<F> {
    fn before_next(pause: Duration, deadline: Duration) -> Self {
        if pause.is_zero() { Self::readying(deadline) } else { Self::Pausing { pause: sleep(pause) } }
    }

    fn readying(limit: Duration) -> Self {
        Self::Readying { limit: sleep(limit) }
    }
}

impl<S, B, R> Future for RetryNextFuture<S, B>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
    S: Service<Request<ReplayBody<B>>, Response = Response<R>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Body + Send + 'static,
{
    type Output = Result<Response<R>, BalanceError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.step.as_mut().project() {
                StepProjection::Calling { future } => {
                    let polled = future.poll(cx).map_err(|error| BalanceError::of(error.into()));
                    let Some(course) = this.course else { return polled };
                    if this.held.is_some() && course.has_reached() {
                        *this.drain =
                            this.held.take().and_then(|held| held.ok()).map(Response::into_body).and_then(Drain::begin);
                    }
                    if this.drain.as_mut().is_some_and(|drain| drain.poll(cx).is_ready()) {
                        *this.drain = None;
                    }
                    let result = ready!(polled);
                    if let Some(held) = this.held.take() {
                        // This attempt went to nobody: the one before says more.
                        course.give_up();
                        return Poll::Ready(*held);
                    }
                    let Some(pause) = course.after(&result) else { return Poll::Ready(result) };
                    *this.held = Some(Box::new(result));
                    Step::before_next(pause, course.until_deadline())
                }
                StepProjection::Pausing { pause } => {
                    ready!(pause.poll(cx));
                    let course = this.course.as_ref().expect("only a call that is repeated comes here");
                    Step::readying(course.until_deadline())
                }
                StepProjection::Readying { limit } => {
                    let course = this.course.as_mut().expect("only a call that is repeated comes here");
                    let is_ready = match course.poll_ready(cx) {
                        Poll::Ready(ready) => ready.is_ok(),
                        Poll::Pending => {
                            ready!(limit.poll(cx));
                            false
                        }
                    };
                    match is_ready.then(|| course.next()).flatten() {
                        Some(future) => Step::Calling { future },
                        None => {
                            course.give_up();
                            let held = this.held.take();
                            return Poll::Ready(*held.expect("it is held until the next attempt has begun"));
                        }
                    }
                }
            };
            this.step.set(next);
        }
    }
}

impl<S, B> fmt::Debug for RetryNextFuture<S, B>
where
    S: Service<Request<ReplayBody<B>>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryNextFuture").field("course", &self.course).finish_non_exhaustive()
    }
}
