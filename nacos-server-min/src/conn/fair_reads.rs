use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// So many bytes a connection may read before it lets others have their turn: the smallest frames of HTTP/2 take 9 bytes, and some are
/// answered within the protocol, so a socket that is always full keeps its task busy for as long as it likes.
const TURN: usize = 16 * 1024;

/// A connection that gives way after it has read a lot.
#[derive(Debug)]
pub(crate) struct FairReads<S> {
    stream: S,
    /// Bytes read since it last gave way or had nothing to read.
    taken: usize,
}

impl<S> FairReads<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, taken: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FairReads<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.taken >= TURN {
            self.taken = 0;
            // Again after all that wait now.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        self.taken = if polled.is_ready() { self.taken + buf.filled().len() - before } else { 0 };
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FairReads<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::task::noop_waker;

    use super::*;

    /// Always full.
    struct Endless;

    impl AsyncRead for Endless {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            let length = buf.remaining();
            buf.put_slice(&vec![0; length]);
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn a_full_socket_gives_way_after_each_turn_and_loses_nothing() {
        let (waker, mut space) = (noop_waker(), [0; 4 * 1024]);
        let mut cx = Context::from_waker(&waker);
        let mut fair = FairReads::new(Endless);
        let mut turns = Vec::new();
        for _ in 0..3 {
            let mut read = 0;
            loop {
                let mut buf = ReadBuf::new(&mut space);
                match Pin::new(&mut fair).poll_read(&mut cx, &mut buf) {
                    Poll::Ready(result) => result.expect("it never fails"),
                    Poll::Pending => break,
                }
                read += buf.filled().len();
            }
            turns.push(read);
        }
        assert_eq!(turns, [TURN; 3]);
    }

    #[tokio::test]
    async fn whoever_gives_way_goes_on_by_itself() {
        use tokio::io::AsyncReadExt;
        let mut read = vec![0; 10 * TURN];
        FairReads::new(Endless).read_exact(&mut read).await.expect("it never fails");
    }
}
