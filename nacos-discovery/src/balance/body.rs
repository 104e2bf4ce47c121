use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::outcome::Expected;
use super::running::Running;
use crate::TransportFailure;

pin_project! {
    /// The body of a response, whose end is the end of the call: with the last byte, with the trailers, or by an error.
    /// Dropping it before is the caller giving up, unless the head said already that the instance failed: hardly anybody
    /// reads such an answer.
    #[derive(Debug)]
    pub struct Tracked<B> {
        #[pin]
        body: B,
        open: Option<Open>,
    }
}

/// A call whose answer is being read.
#[derive(Debug)]
struct Open {
    /// `None` once it has ended.
    call: Option<(Running, Expected)>,
}

impl Open {
    const fn new(running: Running, expected: Expected) -> Self {
        Self { call: Some((running, expected)) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some((running, expected)) = self.call.take()
            && expected.is_bad()
        {
            running.ended(expected);
        }
    }
}

impl<B> Tracked<B> {
    /// A body that nobody waits for.
    pub(super) const fn untracked(body: B) -> Self {
        Self { body, open: None }
    }

    /// The body as the client below made it. The call, if it has not ended, ends as if this were dropped.
    pub fn into_inner(self) -> B {
        self.body
    }
}

impl<B: Body> Tracked<B> {
    pub(super) fn new(body: B, running: Running, expected: Expected) -> Self {
        // Whoever sees that a body is at its end does not ask it for a frame.
        if body.is_end_stream() {
            running.ended(expected);
            return Self::untracked(body);
        }
        Self { body, open: Some(Open::new(running, expected)) }
    }
}

impl<B: Body> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.body.as_mut().poll_frame(cx));
        if let Some((running, expected)) = this.open.take().and_then(|mut open| open.call.take()) {
            match &frame {
                None => running.ended(expected),
                Some(Err(_)) => running.failed(TransportFailure::Broken, None),
                Some(Ok(frame)) => {
                    let trailers = frame.trailers_ref();
                    let expected = trailers.map_or(expected, |trailers| expected.with_trailers(trailers));
                    if trailers.is_some() || this.body.is_end_stream() {
                        running.ended(expected);
                    } else {
                        *this.open = Some(Open::new(running, expected));
                    }
                }
            }
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
