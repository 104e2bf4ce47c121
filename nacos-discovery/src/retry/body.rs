use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::replays::{Reader, Replays};
use super::rules::BodyState;

pin_project! {
    /// The body of a request as [`crate::RetryNext`] sends it: the caller's, of which what is sent is kept for another
    /// attempt.
    ///
    /// A body that is one piece in memory is kept as it is. One that is produced while it is sent is kept as far as
    /// [`crate::RetrySettings::with_body_limit`] allows; the request is sent once if it is larger.
    #[derive(Debug)]
    pub struct ReplayBody<B> {
        #[pin]
        kind: Kind<B>,
    }
}

pin_project! {
    #[project = KindProjection]
    #[derive(Debug)]
    enum Kind<B> {
        Empty,
        Once { #[pin] body: B },
        Kept { reader: Reader<B> },
    }
}

/// Where the bodies of later attempts come from.
#[derive(Debug)]
pub(super) enum BodySource<B> {
    Empty,
    Kept(Replays<B>),
}

impl<B: Body> ReplayBody<B>
where
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Of a request that is sent once.
    pub(super) const fn once(body: B) -> Self {
        Self { kind: Kind::Once { body } }
    }
}

impl<B: Body> BodySource<B>
where
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// `limit`: how many bytes to keep, if anything is to be kept at all.
    pub(super) fn new(body: B, limit: Option<usize>) -> Self {
        if body.is_end_stream() { Self::Empty } else { Self::Kept(Replays::new(body, limit)) }
    }

    /// The body of an attempt, which is 1 for the first one.
    pub(super) fn body(&self, attempt: u32) -> ReplayBody<B> {
        let kind = match self {
            Self::Empty => Kind::Empty,
            Self::Kept(replays) => Kind::Kept { reader: replays.reader(attempt) },
        };
        ReplayBody { kind }
    }

    pub(super) fn state(&self) -> BodyState {
        match self {
            Self::Empty => BodyState::Kept,
            Self::Kept(replays) => replays.state(),
        }
    }
}

impl<B: Body> Body for ReplayBody<B>
where
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.project().kind.project() {
            KindProjection::Empty => Poll::Ready(None),
            KindProjection::Once { body } => body.poll_frame(cx).map(|frame| {
                let frame = frame?.map_err(Into::into);
                Some(frame.map(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining()))))
            }),
            KindProjection::Kept { reader } => reader.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Empty => true,
            Kind::Once { body } => body.is_end_stream(),
            Kind::Kept { reader } => reader.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Once { body } => body.size_hint(),
            Kind::Kept { reader } => reader.size_hint(),
        }
    }
}
