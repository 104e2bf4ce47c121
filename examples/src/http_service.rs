use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// An HTTP server that answers `GET /` with its own address; it stops when `stop` is called.
#[derive(Debug)]
pub struct HttpService {
    addr: SocketAddr,
    inside: Arc<Inside>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<io::Result<()>>,
}

#[derive(Debug, Default)]
struct Inside {
    broken: AtomicBool,
    calls: AtomicU64,
    failures: AtomicU64,
}

impl Inside {
    fn answer(&self, addr: SocketAddr) -> (StatusCode, String) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.broken.load(Ordering::Relaxed) {
            self.failures.fetch_add(1, Ordering::Relaxed);
            return (StatusCode::INTERNAL_SERVER_ERROR, addr.to_string());
        }
        (StatusCode::OK, addr.to_string())
    }
}

impl HttpService {
    /// Binds `addr` (port 0 takes a free one) and serves.
    ///
    /// # Errors
    ///
    /// What binding said.
    pub async fn start(addr: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let inside = Arc::new(Inside::default());
        let served = Arc::clone(&inside);
        let app = Router::new().route("/", get(move || async move { served.answer(addr) }));
        let (stop, stopped) = oneshot::channel::<()>();
        // Ends when `stop` is sent or dropped, after the calls under way.
        let serving = tokio::spawn(async move {
            let stopped = async move { drop(stopped.await) };
            axum::serve(listener, app).with_graceful_shutdown(stopped).await
        });
        Ok(Self { addr, inside, stop, serving })
    }

    /// Where it listens.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Answers every call with status 500 from now on.
    pub fn break_down(&self) {
        self.inside.broken.store(true, Ordering::Relaxed);
    }

    /// Answers as before.
    pub fn repair(&self) {
        self.inside.broken.store(false, Ordering::Relaxed);
    }

    /// How many calls it has answered.
    pub fn calls(&self) -> u64 {
        self.inside.calls.load(Ordering::Relaxed)
    }

    /// How many of them while it was broken.
    pub fn failures(&self) -> u64 {
        self.inside.failures.load(Ordering::Relaxed)
    }

    /// Finishes the calls under way and ends.
    ///
    /// # Errors
    ///
    /// What serving said.
    pub async fn stop(self) -> io::Result<()> {
        drop(self.stop);
        self.serving.await.map_err(io::Error::other)?
    }
}
