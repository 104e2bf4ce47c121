use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::time::Instant;

use crate::{Outcome, Picked, TransportFailure};

pin_project! {
    /// The body of a response, whose end is the end of the call. Dropping it before is the caller giving up.
    #[derive(Debug)]
    pub struct Tracked<B> {
        #[pin]
        body: B,
        call: Option<Call>,
    }
}

/// A call whose response's body is being read.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) picked: Picked,
    /// What it ends with if the body ends well.
    pub(super) outcome: Outcome,
}

impl<B> Tracked<B> {
    pub(super) const fn new(body: B, call: Option<Call>) -> Self {
        Self { body, call }
    }
}

impl<B: Body> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let this = self.project();
        let frame = ready!(this.body.poll_frame(cx));
        let ended = match &frame {
            None => this.call.take().map(|call| (call.picked, call.outcome)),
            Some(Err(_)) => this.call.take().map(|call| (call.picked, Outcome::Transport(TransportFailure::Broken))),
            Some(Ok(_)) => None,
        };
        if let Some((picked, outcome)) = ended {
            picked.finish_at(outcome, Instant::now());
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
