use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame as HttpFrame};

use super::status::Status;
use super::stream::StreamBody;
use crate::conn::Connection;
use crate::push::Frame;
use crate::registry::Service;

/// The body of every response on the gRPC port.
pub(crate) enum GrpcBody {
    /// The status stands in the headers.
    Empty,
    Unary(UnaryBody),
    Stream(Box<StreamBody>),
}

/// One message and the status.
pub(crate) struct UnaryBody {
    pieces: [Bytes; 3],
    next: Next,
    /// The answer to a first subscription: its push may follow when this is written.
    subscribed: Option<(Arc<Connection>, Arc<Service>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Piece(usize),
    Trailers,
    Nothing,
}

impl UnaryBody {
    pub(crate) fn new(frame: Frame, subscribed: Option<(Arc<Connection>, Arc<Service>)>) -> Self {
        let pieces = match frame {
            Frame::One(bytes) => [bytes, Bytes::new(), Bytes::new()],
            Frame::Three(pieces) => pieces,
        };
        Self { pieces, next: Next::Piece(0), subscribed }
    }

    fn next(&mut self) -> Option<HttpFrame<Bytes>> {
        match self.next {
            Next::Piece(at) => {
                let piece = self.pieces.get_mut(at).map(std::mem::take).unwrap_or_default();
                let more = self.pieces.get(at + 1).is_some_and(|piece| !piece.is_empty());
                self.next = if more { Next::Piece(at + 1) } else { Next::Trailers };
                Some(HttpFrame::data(piece))
            }
            Next::Trailers => {
                self.next = Next::Nothing;
                Some(HttpFrame::trailers(Status::OK.trailers()))
            }
            Next::Nothing => None,
        }
    }
}

impl Drop for UnaryBody {
    fn drop(&mut self) {
        if let Some((connection, service)) = self.subscribed.take() {
            connection.outbox().answered(&service);
        }
    }
}

impl Body for GrpcBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<HttpFrame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Unary(unary) => Poll::Ready(unary.next().map(Ok)),
            Self::Stream(stream) => stream.poll_next(cx).map(|frame| frame.map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Empty)
    }
}
