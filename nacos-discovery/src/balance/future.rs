use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response};
use pin_project_lite::pin_project;
use tokio::time::Instant;
use tower_service::Service;

use super::body::Call;
use super::service::send;
use super::{BalanceError, Tracked, classify};
use crate::{Endpoints, NoInstance, Picked};

pin_project! {
    /// The response of [`crate::Balance`]. Dropping it gives the call up.
    #[must_use = "futures do nothing unless polled"]
    pub struct BalanceFuture<S, B>
    where
        S: Service<Request<B>>,
    {
        #[pin]
        state: State<S::Future, S, B>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<F, S, B> {
        /// Before the first list of the service.
        Waiting { ready: Pin<Box<dyn Future<Output = Result<(), NoInstance>> + Send>>, waiting: Option<Waiting<S, B>> },
        Calling { #[pin] future: F, call: Option<(Picked, Instant)> },
        Failed { error: Option<BalanceError> },
    }
}

struct Waiting<S, B> {
    inner: S,
    request: Request<B>,
    endpoints: Arc<Endpoints>,
}

impl<S, B> BalanceFuture<S, B>
where
    S: Service<Request<B>>,
{
    pub(super) fn waiting(inner: S, request: Request<B>, endpoints: Arc<Endpoints>) -> Self {
        let awaited = Arc::clone(&endpoints);
        let ready = Box::pin(async move { awaited.ready().await });
        Self { state: State::Waiting { ready, waiting: Some(Waiting { inner, request, endpoints }) } }
    }

    pub(super) const fn calling(future: S::Future, call: Option<(Picked, Instant)>) -> Self {
        Self { state: State::Calling { future, call } }
    }

    pub(super) fn failed(error: impl Into<BalanceError>) -> Self {
        Self { state: State::Failed { error: Some(error.into()) } }
    }
}

impl<S, B, R> Future for BalanceFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Output = Result<Response<Tracked<R>>, BalanceError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProjection::Waiting { ready, waiting } => {
                    let arrived = ready!(ready.as_mut().poll(cx));
                    let Waiting { mut inner, request, endpoints } =
                        waiting.take().expect("a future is not polled after it is ready");
                    arrived.map_or_else(Self::failed, |()| send(&mut inner, request, &endpoints))
                }
                StateProjection::Calling { future, call } => {
                    let result = ready!(future.poll(cx)).map_err(Into::into);
                    return Poll::Ready(ended(result, call.take()));
                }
                StateProjection::Failed { error } => {
                    let error = error.take().expect("a future is not polled after it is ready");
                    return Poll::Ready(Err(error));
                }
            };
            this.state.set(next.state);
        }
    }
}

fn ended<R>(
    result: Result<Response<R>, Box<dyn Error + Send + Sync>>,
    call: Option<(Picked, Instant)>,
) -> Result<Response<Tracked<R>>, BalanceError> {
    let now = Instant::now();
    match result {
        Ok(response) => {
            let call = call.map(|(picked, started)| {
                let outcome = classify::of_status(response.status(), now.duration_since(started));
                Call { picked, outcome }
            });
            Ok(response.map(|body| Tracked::new(body, call)))
        }
        Err(error) => {
            if let Some((picked, _)) = call {
                picked.finish_at(classify::of_error(&*error), now);
            }
            Err(BalanceError::Inner(error))
        }
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
