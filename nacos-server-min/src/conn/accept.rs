use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::fair_reads::FairReads;
use super::http::serve_http;
use super::http_threads::HttpThreads;
use super::tracked::TrackedExecutor;
use crate::api::grpc::GrpcService;
use crate::api::http::HttpService;
use crate::context::Context;
use crate::fault::GatedIo;

/// After a failed accept, which is mostly a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// HTTP/2 windows: one per stream and one per connection. Requests are small; lists may be large, but those are the client's windows.
const STREAM_WINDOW: u32 = 1024 * 1024;
const CONNECTION_WINDOW: u32 = 4 * 1024 * 1024;
/// First byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

/// What is spoken on a port.
pub(crate) enum Protocol {
    /// On the scheduler that the server was started on.
    Http(HttpService),
    /// On threads of its own.
    HttpOnThreads(HttpThreads),
    Grpc,
    /// Taken, so that nobody else takes it; whoever connects is turned away.
    Reserved,
}

/// Accepts the connections of one port; each gets a task of its own.
pub(crate) struct AcceptLoop {
    pub(crate) listener: TcpListener,
    pub(crate) protocol: Protocol,
    pub(crate) context: Arc<Context>,
    /// Cancelled when everything has to end at once.
    pub(crate) abort: CancellationToken,
}

impl AcceptLoop {
    /// Runs until the server stops; then the port is free again.
    pub(crate) async fn run(self) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = self.context.stop.cancelled() => return,
                () = self.abort.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, remote)) => self.accept(stream, remote),
                Err(error) => {
                    tracing::warn!(%error, "accepting a connection failed");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn accept(&self, stream: TcpStream, remote: SocketAddr) {
        // Answers are single small writes; waiting for more to send would only delay them.
        if stream.set_nodelay(true).is_err() {
            return;
        }
        let Ok(local) = stream.local_addr() else { return };
        match &self.protocol {
            Protocol::Reserved => {}
            Protocol::Http(service) => {
                let close = self.context.fault.connection_token();
                let task = serve_http(Arc::clone(&self.context), service.clone(), (stream, remote), close);
                // Ends with its connection, at the latest when the token is cancelled.
                self.context.spawn(task);
            }
            Protocol::HttpOnThreads(threads) => threads.take(stream, remote),
            Protocol::Grpc => {
                if self.context.connections.len() >= self.context.settings.max_connections {
                    self.context.counters.connections_refused.add();
                    return;
                }
                self.context.counters.connections.add();
                let connection = Arc::new(Connection::new(Arc::clone(&self.context), remote, local));
                let open = OpenConnection::new(connection);
                // Ends with its connection, at the latest when the token is cancelled.
                self.context.spawn(serve_grpc(open, stream));
            }
        }
    }
}

/// Takes a connection out of everything when its task ends, however it ends.
struct OpenConnection(Arc<Connection>);

impl OpenConnection {
    fn new(connection: Arc<Connection>) -> Self {
        connection.context.connections.add(&connection);
        Self(connection)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.closed();
        self.0.context.connections.remove(&self.0);
    }
}

async fn serve_grpc(open: OpenConnection, stream: TcpStream) {
    let connection = &open.0;
    let context = &connection.context;
    let Some(first) = first_byte(&stream, connection).await else { return };
    if first == TLS_HANDSHAKE {
        return context.note_tls(connection.remote);
    }
    let io = GatedIo::new(stream, Arc::clone(connection.gate()), Arc::clone(&context.fault.gate));
    let serving =
        http2(context).serve_connection(TokioIo::new(FairReads::new(io)), GrpcService::new(Arc::clone(connection)));
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = connection.close.cancelled() => return,
        () = context.stop.cancelled() => {
            // No new requests; the streams end, and what is under way may finish.
            serving.as_mut().graceful_shutdown();
            connection.outbox().end_all();
            tokio::select! {
                served = &mut serving => served,
                () = connection.close.cancelled() => return,
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(conn.id = %connection.id, %error, "connection ended");
    }
}

fn http2(context: &Arc<Context>) -> http2::Builder<TrackedExecutor> {
    let mut http2 = http2::Builder::new(TrackedExecutor(Arc::clone(context)));
    http2
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_concurrent_streams(context.settings.max_streams)
        .max_header_list_size(context.settings.max_header_size);
    http2
}

/// Looks at the first byte without taking it. `None` if none comes.
async fn first_byte(stream: &TcpStream, connection: &Connection) -> Option<u8> {
    let context = &connection.context;
    let limit = context.settings.handshake_timeout;
    let mut first = [0];
    tokio::select! {
        peeked = tokio::time::timeout(limit, stream.peek(&mut first)) => match peeked {
            Ok(Ok(1)) => Some(first[0]),
            _ => None,
        },
        () = connection.close.cancelled() => None,
        () = context.stop.cancelled() => None,
    }
}
