use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::tonic::Status;
use http::Response;
use pin_project_lite::pin_project;
use tokio::time::Sleep;

use super::TonicBody;
use super::status::{deadline_exceeded, of_call};
use crate::BalanceError;

pin_project! {
    /// The response of [`super::TonicBalanced`]. Dropping it gives the call up.
    #[must_use = "futures do nothing unless polled"]
    pub struct TonicFuture<F> {
        #[pin]
        call: F,
        limit: Option<Pin<Box<Sleep>>>,
    }
}

impl<F> TonicFuture<F> {
    pub(super) const fn new(call: F, limit: Option<Pin<Box<Sleep>>>) -> Self {
        Self { call, limit }
    }
}

impl<F, R> Future for TonicFuture<F>
where
    F: Future<Output = Result<Response<R>, BalanceError>>,
{
    type Output = Result<Response<TonicBody<R>>, Status>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let result = match this.call.as_mut().poll(cx) {
            Poll::Ready(result) => result,
            Poll::Pending => {
                let Some(limit) = this.limit else { return Poll::Pending };
                ready!(limit.as_mut().poll(cx));
                // An attempt that is under way ends by itself now, and then the instance is to blame. Else nobody is.
                match this.call.as_mut().poll(cx) {
                    Poll::Ready(result) => result,
                    Poll::Pending => return Poll::Ready(Err(deadline_exceeded())),
                }
            }
        };
        let limit = this.limit.take();
        Poll::Ready(result.map(|response| response.map(|body| TonicBody::new(body, limit))).map_err(of_call))
    }
}

impl<F> fmt::Debug for TonicFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TonicFuture").finish_non_exhaustive()
    }
}
