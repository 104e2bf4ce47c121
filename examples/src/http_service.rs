use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// An HTTP server that answers `GET /` with its own address; it stops when `stop` is called.
#[derive(Debug)]
pub struct HttpService {
    addr: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<io::Result<()>>,
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
        let app = Router::new().route("/", get(move || async move { addr.to_string() }));
        let (stop, stopped) = oneshot::channel::<()>();
        // Ends when `stop` is sent or dropped, after the calls under way.
        let serving = tokio::spawn(async move {
            let stopped = async move { drop(stopped.await) };
            axum::serve(listener, app).with_graceful_shutdown(stopped).await
        });
        Ok(Self { addr, stop, serving })
    }

    /// Where it listens.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
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
