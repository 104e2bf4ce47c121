use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response, StatusCode};
use http_body::Body;
use pin_project_lite::pin_project;
use tower_service::Service;

use super::aimed::Aimed;
use super::outcome::Judge;
use super::running::Running;
use super::{BalanceError, ServedBy, Tracked};
use crate::{Completion, Endpoints, NoInstance, Outcome, TransportFailure};

pin_project! {
    /// The response of [`crate::Balance`]. Dropping it gives the call up: the instance no longer has it in flight, and
    /// neither its latency nor its health is judged by it.
    #[must_use = "futures do nothing unless polled"]
    pub struct BalanceFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        state: State<S::Future, S, B>,
        judge: Judge,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F, S, B> {
        /// Before the first list of the service. → `Calling` when it is there, `Failed` when it is not in time.
        Waiting { ready: Pin<Box<dyn Future<Output = Result<(), NoInstance>> + Send>>, held: Option<Box<Held<S, B>>> },
        /// `running` is `None` for a request that has nothing to do with a service. Then `host` is its host if that may be
        /// meant for one.
        Calling { #[pin] future: F, running: Option<Running>, host: Option<Box<str>> },
        Failed { error: Option<BalanceError> },
    }
}

/// The client, which is ready, and the request that waits.
struct Held<S, B> {
    inner: S,
    request: Request<B>,
    aimed: Aimed,
    endpoints: Arc<Endpoints>,
}

impl<S, B> BalanceFuture<S, B>
where
    S: Service<Request<B>>,
{
    pub(super) fn waiting(
        inner: S,
        request: Request<B>,
        aimed: Aimed,
        endpoints: Arc<Endpoints>,
        judge: Judge,
    ) -> Self {
        let service = Arc::clone(&endpoints);
        let ready = Box::pin(async move { service.ready().await });
        let held = Some(Box::new(Held { inner, request, aimed, endpoints }));
        Self { state: State::Waiting { ready, held }, judge }
    }

    pub(super) fn calling(inner: &mut S, request: Request<B>, running: Running, judge: Judge) -> Self {
        Self { state: State::calling(inner, request, running), judge }
    }

    pub(super) const fn passing(future: S::Future, host: Option<Box<str>>, judge: Judge) -> Self {
        Self { state: State::Calling { future, running: None, host }, judge }
    }

    pub(super) const fn failed(error: BalanceError, judge: Judge) -> Self {
        Self { state: State::Failed { error: Some(error) }, judge }
    }
}

impl<S, B, R> Future for BalanceFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    R: Body,
{
    type Output = Result<Response<Tracked<R>>, BalanceError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProjection::Waiting { ready, held } => {
                    let arrived = ready!(ready.as_mut().poll(cx));
                    let held = held.take().expect("a future is not polled after it is ready");
                    held.send(arrived)
                }
                StateProjection::Calling { future, running, host } => {
                    let entered = running.as_ref().and_then(Running::enter);
                    let result = ready!(future.poll(cx));
                    drop(entered);
                    return Poll::Ready(match result {
                        Ok(response) => Ok(this.judge.answered(response, running.take())),
                        Err(error) => Err(this.judge.failed(error.into(), running.take(), host.take())),
                    });
                }
                StateProjection::Failed { error } => {
                    let error = error.take().expect("a future is not polled after it is ready");
                    return Poll::Ready(Err(error));
                }
            };
            this.state.set(next);
        }
    }
}

impl<S, B> State<S::Future, S, B>
where
    S: Service<Request<B>>,
{
    fn calling(inner: &mut S, request: Request<B>, running: Running) -> Self {
        let future = {
            let _entered = running.enter();
            inner.call(request)
        };
        Self::Calling { future, running: Some(running), host: None }
    }
}

impl<S, B> Held<S, B>
where
    S: Service<Request<B>>,
{
    fn send(self, arrived: Result<(), NoInstance>) -> State<S::Future, S, B> {
        let Self { mut inner, mut request, aimed, endpoints } = self;
        let picked = match arrived {
            Ok(()) => aimed.pick_target(&mut request, &endpoints),
            Err(error) => Err(aimed.fail(error)),
        };
        match picked {
            Ok(running) => State::calling(&mut inner, request, running),
            Err(error) => State::Failed { error: Some(error) },
        }
    }
}

impl Judge {
    /// The head of an answer is there.
    fn answered<R: Body>(&self, mut response: Response<R>, running: Option<Running>) -> Response<Tracked<R>> {
        let Some(mut running) = running else { return response.map(Tracked::untracked) };
        let status = response.status();
        running.answered(status);
        response.extensions_mut().insert(ServedBy::new(Arc::clone(running.picked().endpoint())));
        let expected = self.head(status, response.headers());
        // What is spoken on a connection after its protocol was switched is no body of ours.
        if running.completion() == Completion::Headers || status == StatusCode::SWITCHING_PROTOCOLS {
            running.ended_by_head(expected);
            return response.map(Tracked::untracked);
        }
        response.map(|body| Tracked::new(body, running, expected))
    }

    /// There is no answer.
    fn failed(
        &self,
        source: Box<dyn Error + Send + Sync>,
        running: Option<Running>,
        host: Option<Box<str>>,
    ) -> BalanceError {
        let failure = self.error(&*source);
        let instance = running.as_ref().map(|running| running.instance().clone());
        if let Some(running) = running {
            // Whose body broke off, or who asked for what cannot be sent, says nothing of the instance.
            let own = self.is_of_caller(&*source);
            let outcome = if own { Outcome::Cancelled } else { Outcome::Transport(failure) };
            running.failed(outcome, Some(&*source));
        }
        let host = host.filter(|_| failure == TransportFailure::Connect);
        BalanceError::Inner { failure, instance, host, source }
    }
}

impl<S, B> fmt::Debug for BalanceFuture<S, B>
where
    S: Service<Request<B>>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BalanceFuture").finish_non_exhaustive()
    }
}
