use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::{Propagated, current};

pin_project! {
    /// The body of an answer, which is made with the headers of its request as the current ones: it may call other services
    /// while it is sent.
    #[derive(Debug)]
    pub struct ScopedBody<B> {
        #[pin]
        body: B,
        propagated: Propagated,
    }
}

impl<B> ScopedBody<B> {
    pub(super) const fn new(body: B, propagated: Propagated) -> Self {
        Self { body, propagated }
    }

    /// The body as the application made it.
    pub fn into_inner(self) -> B {
        self.body
    }
}

impl<B: Body> Body for ScopedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        current::during(this.propagated, || this.body.poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
