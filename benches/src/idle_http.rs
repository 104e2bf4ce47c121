//! An HTTP server made with axum in the ordinary way that answers everything with one constant: the yardstick of what the machine
//! and the libraries allow.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::serve::ListenerExt;
use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::Failure;

/// The server; dropping it ends it.
#[derive(Debug)]
pub(crate) struct IdleHttp {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl IdleHttp {
    /// Listens on a free port of the loopback interface. Reads get `answer` bytes, everything else gets `ok`.
    pub(crate) async fn start(answer: usize) -> Result<Self, Failure> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let listener = listener.tap_io(|tcp| drop(tcp.set_nodelay(true)));
        let list = Bytes::from(vec![b' '; answer]);
        let router = Router::new().fallback(move |method: Method| {
            let reading = method == Method::GET;
            let (kind, body) = if reading { ("application/json", list.clone()) } else { ("text/plain", "ok".into()) };
            std::future::ready(([(CONTENT_TYPE, kind)], body))
        });
        // Ends when the handle is dropped.
        let task = tokio::spawn(async move { drop(axum::serve(listener, router).await) });
        Ok(Self { address, task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for IdleHttp {
    fn drop(&mut self) {
        self.task.abort();
    }
}
