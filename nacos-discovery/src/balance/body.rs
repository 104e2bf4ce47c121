use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::outcome::{Expected, Reply};
use super::running::Running;
use crate::{Outcome, TransportFailure};

pin_project! {
    /// The body of a response, whose end is the end of the call: with the last byte, with the trailers, or by an error.
    ///
    /// Dropping it before is the caller giving up, which says nothing of the instance. But where the head says already that
    /// the instance failed, or the caller never asked for the body, the head is what counts: hardly anybody reads the body of
    /// a 503, and many look at the status alone.
    #[derive(Debug)]
    pub struct Tracked<B> {
        #[pin]
        body: B,
        reading: Reading,
    }
}

impl<B> Tracked<B> {
    /// A body that nobody waits for.
    pub(super) const fn untracked(body: B) -> Self {
        Self { body, reading: Reading { call: None, begun: false } }
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
            running.ended_with_head(expected);
            return Self::untracked(body);
        }
        if expected == Expected::Known(Reply::Fine) {
            running.works();
        }
        Self { body, reading: Reading { call: Some((running, expected)), begun: false } }
    }
}

impl<B: Body> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        this.reading.begun = true;
        let frame = ready!(this.body.as_mut().poll_frame(cx));
        this.reading.advance(&frame, || this.body.is_end_stream());
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How far the answer of a call was read. Dropping it ends the call, if nothing has.
#[derive(Debug)]
struct Reading {
    /// Until the call has ended.
    call: Option<(Running, Expected)>,
    /// Whether somebody asked for a part of the body.
    begun: bool,
}

impl Reading {
    /// A part of it came.
    fn advance<D, E>(&mut self, frame: &Option<Result<Frame<D>, E>>, is_last: impl FnOnce() -> bool) {
        let Some((running, expected)) = &mut self.call else { return };
        match frame {
            None => self.end(Running::ended),
            Some(Err(_)) => {
                self.end(|running, _| running.failed(Outcome::Transport(TransportFailure::Broken), None));
            }
            Some(Ok(frame)) => {
                let trailers = frame.trailers_ref();
                if let Some(trailers) = trailers {
                    *expected = expected.with_trailers(trailers);
                }
                if trailers.is_some() || is_last() {
                    self.end(Running::ended);
                } else if *expected == Expected::InTrailers {
                    // A stream of gRPC may go on for days before its trailers come.
                    running.works();
                }
            }
        }
    }

    fn end(&mut self, how: impl FnOnce(Running, Expected)) {
        if let Some((running, expected)) = self.call.take() {
            how(running, expected);
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        match self.call {
            Some((_, Expected::Known(_))) if !self.begun => self.end(Running::ended_by_head),
            Some((_, expected)) if self.begun && expected.is_bad() => self.end(Running::ended),
            // What is dropped here is cancelled.
            Some(_) | None => {}
        }
    }
}
