use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::tonic::Status;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::Sleep;

use super::status::{deadline_exceeded, of_answer};

pin_project! {
    /// The body of an answer: messages and trailers, until the deadline of the call. What breaks it off is told as a [`Status`].
    pub struct TonicBody<R> {
        // `None` once it was given up.
        #[pin]
        body: Option<R>,
        limit: Option<Pin<Box<Sleep>>>,
    }
}

impl<R> TonicBody<R> {
    pub(super) const fn new(body: R, limit: Option<Pin<Box<Sleep>>>) -> Self {
        Self { body: Some(body), limit }
    }
}

impl<R> Body for TonicBody<R>
where
    R: Body,
    R::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = R::Data;
    type Error = Status;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<R::Data>, Status>>> {
        let mut this = self.project();
        let Some(body) = this.body.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        if this.limit.as_mut().is_some_and(|limit| limit.as_mut().poll(cx).is_ready()) {
            this.body.set(None);
            return Poll::Ready(Some(Err(deadline_exceeded())));
        }
        let frame = ready!(body.poll_frame(cx));
        Poll::Ready(frame.map(|frame| frame.map_err(|error| of_answer(error.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(R::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), R::size_hint)
    }
}

impl<R> fmt::Debug for TonicBody<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TonicBody").finish_non_exhaustive()
    }
}
