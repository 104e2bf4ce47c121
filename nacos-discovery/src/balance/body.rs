use std::mem;
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
        Self { body, reading: Reading { stage: Stage::Ended } }
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
        if expected == Expected::Known(Reply::Fine) {
            running.works();
        }
        Self { body, reading: Reading { stage: Stage::Unread(running, expected) } }
    }
}

impl<B: Body> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let mut this = self.project();
        this.reading.begin();
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
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Nobody asked for it. → `Begun` when somebody does.
    Unread(Running, Expected),
    /// → `Ended` with the end of the body.
    Begun(Running, Expected),
    /// The call has ended.
    Ended,
}

impl Reading {
    fn take(&mut self) -> Stage {
        mem::replace(&mut self.stage, Stage::Ended)
    }

    /// Somebody asks for a part of it.
    fn begin(&mut self) {
        if let Stage::Unread(..) = self.stage
            && let Stage::Unread(running, expected) = self.take()
        {
            self.stage = Stage::Begun(running, expected);
        }
    }

    /// A part of it came.
    fn advance<D, E>(&mut self, frame: &Option<Result<Frame<D>, E>>, is_last: impl FnOnce() -> bool) {
        let Stage::Begun(running, expected) = self.take() else { return };
        match frame {
            None => running.ended(expected),
            Some(Err(_)) => running.failed(Outcome::Transport(TransportFailure::Broken), None),
            Some(Ok(frame)) => {
                let trailers = frame.trailers_ref();
                let expected = trailers.map_or(expected, |trailers| expected.with_trailers(trailers));
                if trailers.is_some() || is_last() {
                    running.ended(expected);
                } else {
                    // A stream of gRPC may go on for days before its trailers come.
                    if expected == Expected::InTrailers {
                        running.works();
                    }
                    self.stage = Stage::Begun(running, expected);
                }
            }
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        match self.take() {
            Stage::Unread(running, expected @ Expected::Known(_)) => running.ended_by_head(expected),
            Stage::Begun(running, expected) if expected.is_bad() => running.ended(expected),
            // What is dropped here is cancelled.
            Stage::Unread(..) | Stage::Begun(..) | Stage::Ended => {}
        }
    }
}
