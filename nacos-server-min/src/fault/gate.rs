use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Which way bytes no longer pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Direction {
    /// The server hears nothing.
    ToServer,
    /// The server's words do not arrive.
    ToClient,
    /// Neither.
    Both,
}

impl Direction {
    fn bits(self) -> u8 {
        match self {
            Self::ToServer => READ,
            Self::ToClient => WRITE,
            Self::Both => READ | WRITE,
        }
    }
}

const READ: u8 = 1;
const WRITE: u8 = 2;

/// A valve in front of one connection, or of all.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    shut: AtomicU8,
    waiting: Mutex<Vec<Waker>>,
}

impl Gate {
    pub(crate) fn shut(&self, direction: Direction) {
        self.shut.fetch_or(direction.bits(), Ordering::SeqCst);
    }

    pub(crate) fn open(&self) {
        self.shut.store(0, Ordering::SeqCst);
        for waker in self.waiting.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            waker.wake();
        }
    }

    /// Whether anything is held back.
    pub(crate) fn is_shut(&self) -> bool {
        self.shut.load(Ordering::Relaxed) != 0
    }

    fn poll(&self, way: u8, cx: &Context<'_>) -> Poll<()> {
        if self.shut.load(Ordering::Relaxed) & way == 0 {
            return Poll::Ready(());
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        // Asked again under the lock: `open` may have come in between, and it drains only what is in here.
        if self.shut.load(Ordering::SeqCst) & way == 0 {
            return Poll::Ready(());
        }
        if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

/// A TCP stream behind the gates of its connection and of the server.
#[derive(Debug)]
pub(crate) struct GatedIo {
    stream: TcpStream,
    own: Arc<Gate>,
    server: Arc<Gate>,
}

impl GatedIo {
    pub(crate) fn new(stream: TcpStream, own: Arc<Gate>, server: Arc<Gate>) -> Self {
        Self { stream, own, server }
    }

    fn poll_gates(&self, way: u8, cx: &Context<'_>) -> Poll<()> {
        match (self.server.poll(way, cx), self.own.poll(way, cx)) {
            (Poll::Ready(()), Poll::Ready(())) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }
}

impl AsyncRead for GatedIo {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.poll_gates(READ, cx) {
            Poll::Ready(()) => Pin::new(&mut self.stream).poll_read(cx, buf),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncWrite for GatedIo {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.poll_gates(WRITE, cx) {
            Poll::Ready(()) => Pin::new(&mut self.stream).poll_write(cx, buf),
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.poll_gates(WRITE, cx) {
            Poll::Ready(()) => Pin::new(&mut self.stream).poll_write_vectored(cx, bufs),
            Poll::Pending => Poll::Pending,
        }
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
