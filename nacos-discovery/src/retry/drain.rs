use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Buf;
use http_body::Body;

/// What is read of an answer that nobody wants, so that its connection can be used again, in bytes. A larger one is dropped,
/// and its connection with it.
const LIMIT: u64 = 64 * 1024;

/// Reads the rest of an answer, beside the next attempt and never in its way.
pub(super) struct Drain {
    reading: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Drain {
    /// `None` if there is nothing to read, or too much.
    pub(super) fn begin<R: Body + Send + 'static>(body: R) -> Option<Self> {
        let worthwhile = !body.is_end_stream() && body.size_hint().lower() <= LIMIT;
        worthwhile.then(|| Self { reading: Box::pin(read(body)) })
    }

    /// Ready once it is read, or there was too much.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.reading.as_mut().poll(cx)
    }
}

async fn read<R: Body>(body: R) {
    let mut body = pin!(body);
    let mut left = LIMIT;
    while let Some(Ok(frame)) = std::future::poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
        let read = frame.data_ref().map_or(0, |data| data.remaining() as u64);
        match left.checked_sub(read) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
