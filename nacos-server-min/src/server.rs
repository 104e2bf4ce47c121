use std::net::SocketAddr;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::builder::Builder;
use crate::context::Context;
use crate::counters::Counters;
use crate::fault::Fault;

/// A running server. Dropping it ends everything at once; [`Server::shutdown`] lets requests under way finish.
#[derive(Debug)]
#[must_use = "dropping a server stops it"]
pub struct Server {
    context: Arc<Context>,
    abort: CancellationToken,
    http_addr: SocketAddr,
    grpc_addr: SocketAddr,
}

/// One gRPC connection, as an operator sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionInfo {
    /// The server's name for it, also told to the client.
    pub id: String,
    /// Where it comes from.
    pub remote: SocketAddr,
    /// False until it was set up, and again after an eviction.
    pub registered: bool,
    /// What the client calls itself; empty before the set-up.
    pub client_version: String,
    /// The client's own idea of its address.
    pub client_ip: String,
    /// Application name, if it gave one.
    pub app: String,
    /// `naming`, `config` or another label.
    pub module: String,
    /// `sdk` or `cluster`.
    pub source: String,
    /// Services it publishes instances into.
    pub published: usize,
    /// Services it is subscribed to.
    pub subscribed: usize,
}

impl Server {
    /// A server with default settings, on free ports of 127.0.0.1, unless told otherwise.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn new(
        context: Arc<Context>,
        abort: CancellationToken,
        http_addr: SocketAddr,
        grpc_addr: SocketAddr,
    ) -> Self {
        Self { context, abort, http_addr, grpc_addr }
    }

    /// The main port, which speaks HTTP; the one that clients are configured with.
    pub fn http_addr(&self) -> SocketAddr {
        self.http_addr
    }

    /// The gRPC port.
    pub fn grpc_addr(&self) -> SocketAddr {
        self.grpc_addr
    }

    /// The main address as clients write it: `127.0.0.1:8848`, IPv6 in brackets.
    pub fn server_addr(&self) -> String {
        self.http_addr.to_string()
    }

    /// What the server did so far.
    pub fn counters(&self) -> Counters {
        self.context.counters.snapshot()
    }

    /// All present gRPC connections, in no order.
    pub fn connections(&self) -> Vec<ConnectionInfo> {
        let mut all = Vec::new();
        self.context.connections.for_each(|connection| {
            let registration = connection.registration();
            let text = |of: fn(&crate::conn::Registration) -> &String| {
                registration.as_deref().map(of).cloned().unwrap_or_default()
            };
            let client = registration.as_ref().and_then(|r| r.client.as_ref());
            let (published, subscribed) = client.map_or((0, 0), |client| client.sizes());
            all.push(ConnectionInfo {
                id: connection.id.to_string(),
                remote: connection.remote,
                registered: registration.is_some(),
                client_version: text(|r| &r.client_version),
                client_ip: text(|r| &r.client_ip),
                app: text(|r| &r.app),
                module: text(|r| &r.module),
                source: text(|r| &r.source),
                published,
                subscribed,
            });
        });
        all
    }

    /// Asks a client to move to another server, `target` as `host:port` or any other. The connection stays usable until the
    /// client leaves. False if there is no such connection, or it has no stream.
    pub fn reset_connection(&self, id: &str, target: Option<&str>) -> bool {
        self.context.connections.get(id).is_some_and(|connection| connection.reset(target))
    }

    /// Closes one connection at once; what it published goes with it. False if there is no such connection.
    pub fn close_connection(&self, id: &str) -> bool {
        self.context.connections.get(id).map(|connection| connection.close.cancel()).is_some()
    }

    /// The switches for faults.
    pub fn fault(&self) -> Fault {
        Fault::new(Arc::clone(&self.context))
    }

    /// Returns when a part of the server has panicked. From then on it is not ready: probes say so, requests are answered with
    /// 300. Nothing but a new server helps.
    ///
    /// # Cancel safety
    ///
    /// Holds nothing; it may be asked again.
    pub async fn failed(&self) {
        self.context.supervisor.wait().await;
    }

    /// Stops accepting, ends all streams, waits for requests under way, and closes what is left after
    /// [`Settings::shutdown_grace`](crate::Settings::shutdown_grace). The ports are free afterwards.
    ///
    /// # Cancel safety
    ///
    /// Cancelling it drops the server, which ends everything at once.
    pub async fn shutdown(self) {
        self.context.tasks.close();
        self.context.stop.cancel();
        let grace = self.context.settings.shutdown_grace;
        if tokio::time::timeout(grace, self.context.tasks.wait()).await.is_err() {
            self.abort.cancel();
            self.context.tasks.wait().await;
        }
        tracing::info!(http_addr = %self.http_addr, "server stopped");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.context.tasks.close();
        self.context.stop.cancel();
        self.abort.cancel();
    }
}
