//! Connections for the HTTP client's pool, made by our own connector.

use std::{
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use http::Uri;
use hyper::rt::{Executor, Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::runtime::Handle;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::push_receiver::Pushes;
use crate::{
    servers::{Connector, DialError, Host, Io, Link},
    transport::{LinkError, LinkFault},
};

/// Connects to one server, whatever the URI says.
#[derive(Debug, Clone)]
pub(super) struct Dial {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) host: Host,
    pub(super) port: u16,
    pub(super) limit: Duration,
    /// Is told of each server that was reached.
    pub(super) pushes: Arc<Pushes>,
}

impl tower_service::Service<Uri> for Dial {
    type Response = Wire;
    type Error = LinkError;
    type Future = BoxFuture<'static, Result<Wire, LinkError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), LinkError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let limit = self.limit;
        let name = self.host.authority(self.port);
        let link = self.connector.connect(self.host.clone(), self.port, limit);
        let pushes = Arc::clone(&self.pushes);
        Box::pin(async move {
            match tokio::time::timeout(limit, link).await {
                Ok(Ok(link)) => {
                    pushes.reached(&link.peer, link.local_ip);
                    Ok(Wire::new(link))
                }
                Ok(Err(DialError::Resolve(error))) => Err(LinkFault::Resolve(Arc::new(error)).at(&Arc::from(name))),
                Ok(Err(DialError::Connect { peer, source })) => Err(LinkFault::Connect(Arc::new(source)).at(&peer)),
                Err(_) => Err(LinkFault::ConnectTimeout(limit).at(&Arc::from(name))),
            }
        })
    }
}

/// Both ends of a connection; found among the extensions of every answer that came by it.
#[derive(Debug, Clone)]
pub(super) struct Ends {
    /// Address and port of the server.
    pub(super) peer: Arc<str>,
    /// Our own address.
    pub(super) local_ip: Option<IpAddr>,
}

/// One connection.
pub(super) struct Wire {
    io: TokioIo<Box<dyn Io>>,
    ends: Ends,
}

impl Wire {
    fn new(link: Link) -> Self {
        Self { io: TokioIo::new(link.io), ends: Ends { peer: link.peer, local_ip: link.local_ip } }
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.ends.clone())
    }
}

impl Read for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

/// Where the pool's tasks run: one for each connection. They end with it, at the latest when `stop` is cancelled.
#[derive(Debug, Clone)]
pub(super) struct PoolTasks {
    pub(super) tasks: TaskTracker,
    pub(super) runtime: Handle,
    pub(super) stop: CancellationToken,
}

impl<F> Executor<F> for PoolTasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, connection: F) {
        let stop = self.stop.clone();
        let connection = async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = connection => {}
            }
        };
        self.tasks.spawn_on(connection, &self.runtime);
    }
}
