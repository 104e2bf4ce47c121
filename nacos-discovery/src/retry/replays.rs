use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

use super::rules::BodyState;

type BoxError = Box<dyn Error + Send + Sync>;
type Polled = Poll<Option<Result<Frame<Bytes>, BoxError>>>;

/// Pieces that are kept at most, whatever their size: each costs some memory of its own.
const PIECES: usize = 1024;

/// A request's body, of which what one attempt read is there for the next.
///
/// All attempts of a request share it, and the newest one that has read from it is its reader: an earlier attempt may still be
/// held by a connection that is about to break. The lock is held while the body is polled. Only attempts of one request ever
/// meet at it, and a body knows nothing of what it is wrapped in, so it cannot come back here.
pub(super) struct Replays<B> {
    shared: Arc<Mutex<Shared<B>>>,
}

struct Shared<B> {
    body: Pin<Box<B>>,
    kept: Kept,
    /// What may be kept of it, in bytes; `None` if nothing needs to be.
    limit: Option<usize>,
    ended: bool,
    /// The number of the attempt that reads.
    reader: u32,
    /// Who waits for the next frame.
    waiting: Option<Waker>,
}

/// What was read.
enum Kept {
    All {
        pieces: Vec<Bytes>,
        trailers: Option<HeaderMap>,
    },
    /// Too much, or nothing that needed to be kept.
    Gone,
}

/// Where one attempt is in the body.
#[derive(Debug)]
pub(super) struct Reader<B> {
    replays: Replays<B>,
    attempt: u32,
    /// Kept pieces that it has handed out; one more for the trailers.
    position: usize,
}

/// The body of an attempt cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(super) enum Cut {
    #[error("the request is sent to another instance")]
    Superseded,
    #[error("what was sent of the body is no longer there")]
    Gone,
}

impl<B: Body> Replays<B>
where
    B::Error: Into<BoxError>,
{
    pub(super) fn new(body: B, limit: Option<usize>) -> Self {
        let kept = Kept::All { pieces: Vec::new(), trailers: None };
        let shared = Shared { body: Box::pin(body), kept, limit, ended: false, reader: 0, waiting: None };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    pub(super) fn reader(&self, attempt: u32) -> Reader<B> {
        Reader { replays: self.clone(), attempt, position: 0 }
    }

    /// What there is of it for another attempt.
    pub(super) fn state(&self) -> BodyState {
        let shared = self.lock();
        match &shared.kept {
            Kept::Gone => BodyState::Gone,
            Kept::All { .. } if shared.reader == 0 => BodyState::Unread,
            Kept::All { .. } => BodyState::Kept,
        }
    }
}

impl<B> Replays<B> {
    fn lock(&self) -> MutexGuard<'_, Shared<B>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Body> Reader<B>
where
    B::Error: Into<BoxError>,
{
    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Polled {
        let mut shared = self.replays.lock();
        let before = match shared.take_over(self.attempt) {
            Ok(before) => before,
            Err(cut) => return Poll::Ready(Some(Err(cut.into()))),
        };
        let frame = shared.next(&mut self.position, cx);
        drop(shared);
        if let Some(before) = before {
            // It finds that it is superseded, and lets go of its connection.
            before.wake();
        }
        frame
    }

    pub(super) fn is_end_stream(&self) -> bool {
        let shared = self.replays.lock();
        shared.kept.rest(self.position).is_none() && (shared.ended || shared.body.is_end_stream())
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        let shared = self.replays.lock();
        let kept = shared.kept.bytes_from(self.position);
        let rest = if shared.ended { SizeHint::with_exact(0) } else { shared.body.size_hint() };
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(kept)) {
            hint.set_upper(upper);
        }
        hint.set_lower(rest.lower().saturating_add(kept));
        hint
    }
}

impl<B: Body> Shared<B>
where
    B::Error: Into<BoxError>,
{
    /// Makes an attempt the reader. Returns who waits in the one before.
    fn take_over(&mut self, attempt: u32) -> Result<Option<Waker>, Cut> {
        if attempt < self.reader {
            return Err(Cut::Superseded);
        }
        if attempt == self.reader {
            return Ok(None);
        }
        if matches!(self.kept, Kept::Gone) {
            return Err(Cut::Gone);
        }
        self.reader = attempt;
        Ok(self.waiting.take())
    }

    fn next(&mut self, position: &mut usize, cx: &mut Context<'_>) -> Polled {
        if let Some(frame) = self.kept.rest(*position) {
            *position += 1;
            return Poll::Ready(Some(Ok(frame)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        let polled = self.body.as_mut().poll_frame(cx);
        if polled.is_pending() {
            self.waiting = Some(cx.waker().clone());
        }
        match ready!(polled) {
            None => {
                self.ended = true;
                Poll::Ready(None)
            }
            Some(Err(error)) => {
                self.ended = true;
                self.kept = Kept::Gone;
                Poll::Ready(Some(Err(error.into())))
            }
            Some(Ok(frame)) => {
                let frame = frame.map_data(|mut data| data.copy_to_bytes(data.remaining()));
                self.keep(&frame);
                *position += 1;
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn keep(&mut self, frame: &Frame<Bytes>) {
        let fits = self.limit.is_some_and(|limit| self.fits(frame, limit));
        match &mut self.kept {
            Kept::All { pieces, trailers } if fits => {
                pieces.extend(frame.data_ref().cloned());
                *trailers = frame.trailers_ref().cloned();
            }
            kept => *kept = Kept::Gone,
        }
    }

    /// Whether a frame can be kept, and with it, as far as is known, all that follows.
    fn fits(&self, frame: &Frame<Bytes>, limit: usize) -> bool {
        let Kept::All { pieces, .. } = &self.kept else { return false };
        // A body that is one piece is in memory already: keeping it costs nothing.
        if pieces.is_empty() && self.body.is_end_stream() {
            return true;
        }
        let size = frame.data_ref().map_or(0, Bytes::len) as u64 + self.kept.bytes_from(0);
        pieces.len() < PIECES && size.saturating_add(self.body.size_hint().lower()) <= limit as u64
    }
}

impl Kept {
    /// The frame that comes at `position`.
    fn rest(&self, position: usize) -> Option<Frame<Bytes>> {
        let Self::All { pieces, trailers } = self else { return None };
        match pieces.get(position) {
            Some(piece) => Some(Frame::data(piece.clone())),
            None if position == pieces.len() => trailers.clone().map(Frame::trailers),
            None => None,
        }
    }

    fn bytes_from(&self, position: usize) -> u64 {
        match self {
            Self::All { pieces, .. } => pieces.iter().skip(position).map(|piece| piece.len() as u64).sum(),
            Self::Gone => 0,
        }
    }
}

impl<B> Clone for Replays<B> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<B> fmt::Debug for Replays<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replays").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
