use std::any::Any;
use std::error::Error;
use std::mem;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use ::reqwest::Body;
use bytes::Bytes;
use http_body::{Frame, SizeHint};

/// Makes a body of reqwest out of any other. One that is reqwest's already stays what it is, so that reqwest can repeat it
/// where a redirect asks for that.
pub(super) fn into_reqwest<B>(mut body: B) -> Body
where
    B: http_body::Body<Data: Into<Bytes>, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    if let Some(body) = (&mut body as &mut dyn Any).downcast_mut::<Body>() {
        return mem::take(body);
    }
    if body.is_end_stream() { Body::default() } else { Body::wrap(Shared(Mutex::new(Box::pin(body)))) }
}

/// A body that may be shared between threads, as reqwest asks for, though only one at a time reads it.
struct Shared<B>(Mutex<Pin<Box<B>>>);

impl<B: http_body::Body> Shared<B> {
    fn read<R>(&self, read: impl FnOnce(&B) -> R) -> R {
        read(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<B: http_body::Body> http_body::Body for Shared<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).as_mut().poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.read(B::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.read(B::size_hint)
    }
}
