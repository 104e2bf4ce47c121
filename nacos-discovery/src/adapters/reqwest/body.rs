use std::any::Any;
use std::error::Error;
use std::mem;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use ::reqwest::Body;
use bytes::Bytes;
use http::Extensions;
use http_body::{Frame, SizeHint};

/// The whole body of a request, among its extensions, in the place of its body. As a piece of reqwest's own it can be
/// repeated where a redirect asks for that, and it is not read before it is sent.
#[derive(Debug, Clone)]
struct Whole(Bytes);

/// Puts a body that is in memory among the extensions, and leaves an empty one.
pub(in crate::adapters) fn set_aside(request: &mut http::Request<Body>) {
    if request.body().as_bytes().is_none_or(<[u8]>::is_empty) {
        return;
    }
    // It is all there, and comes as the one piece it is, without being copied.
    let mut body = mem::take(request.body_mut());
    let polled = http_body::Body::poll_frame(Pin::new(&mut body), &mut Context::from_waker(Waker::noop()));
    if let Poll::Ready(Some(Ok(frame))) = polled
        && let Ok(bytes) = frame.into_data()
    {
        request.extensions_mut().insert(Whole(bytes));
    }
}

/// The body that was set aside, or this one.
pub(super) fn of_request<B>(extensions: &mut Extensions, body: B) -> Body
where
    B: http_body::Body<Data: Into<Bytes>, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    extensions.remove::<Whole>().map_or_else(|| into_reqwest(body), |whole| Body::from(whole.0))
}

/// Makes a body of reqwest out of any other. One that is reqwest's already stays what it is. Nothing is read yet: whoever
/// would send the request again has to know whether it was.
fn into_reqwest<B>(mut body: B) -> Body
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::io;

    use http_body::Body as _;

    use super::*;

    /// Pieces of a body. It can be sent to another thread and not shared with one.
    struct Pieces {
        left: std::cell::RefCell<VecDeque<&'static str>>,
    }

    fn pieces(left: &[&'static str]) -> Pieces {
        Pieces { left: std::cell::RefCell::new(left.iter().copied().collect()) }
    }

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            let piece = self.left.borrow_mut().pop_front();
            Poll::Ready(piece.map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
        }

        fn is_end_stream(&self) -> bool {
            self.left.borrow().is_empty()
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(self.left.borrow().iter().map(|piece| piece.len() as u64).sum())
        }
    }

    #[test]
    fn any_body_becomes_one_of_reqwest_and_is_not_read_before() {
        let mut body = into_reqwest(pieces(&["one", "two"]));
        assert_eq!((body.as_bytes(), body.size_hint().exact(), body.is_end_stream()), (None, Some(6), false));
        for piece in ["one", "two"] {
            let polled = Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(Some(Ok(frame))) = polled else { panic!("{polled:?}") };
            assert_eq!(frame.into_data().unwrap(), piece);
        }
        assert!(body.is_end_stream());
        assert_eq!(into_reqwest(pieces(&[])).as_bytes(), Some(&b""[..]));
        assert_eq!(into_reqwest(Body::from("its own")).as_bytes(), Some(&b"its own"[..]));
    }

    #[test]
    fn a_body_in_memory_is_set_aside_and_comes_back_as_often_as_it_is_needed() {
        let mut request = http::Request::new(Body::from("whole"));
        set_aside(&mut request);
        assert_eq!(request.body().as_bytes(), Some(&b""[..]));
        for _ in 0..2 {
            let body = of_request(&mut request.extensions().clone(), pieces(&[]));
            assert_eq!(body.as_bytes(), Some(&b"whole"[..]));
        }
        let mut request = http::Request::new(into_reqwest(pieces(&["streamed"])));
        set_aside(&mut request);
        assert!(request.extensions().is_empty() && request.body().as_bytes().is_none());
    }
}
