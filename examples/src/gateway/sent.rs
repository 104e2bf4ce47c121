use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::sync::oneshot;

pin_project! {
    /// The body of a request that tells when it has been sent: when the client has no more use for it.
    #[derive(Debug)]
    pub(super) struct Sent<B> {
        #[pin]
        body: B,
        // Dropping it is the message.
        _sending: Option<oneshot::Sender<()>>,
    }
}

impl<B: Body> Sent<B> {
    /// The body, and what ends when it has been sent; `None` if there is nothing to send.
    pub(super) fn new(body: B) -> (Self, Option<oneshot::Receiver<()>>) {
        if body.is_end_stream() {
            return (Self { body, _sending: None }, None);
        }
        let (sending, sent) = oneshot::channel();
        (Self { body, _sending: Some(sending) }, Some(sent))
    }
}

impl<B: Body> Body for Sent<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
