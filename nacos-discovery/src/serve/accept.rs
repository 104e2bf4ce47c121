use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

/// How long nothing is accepted after the system refused to, for want of descriptors mostly.
const PAUSE: Duration = Duration::from_millis(100);
/// How long a new connection has for its first request, although nothing is accepted any more.
const FIRST_REQUEST: Duration = Duration::from_millis(100);

/// Serves `app` until `stop`, then stops accepting, finishes what is under way, and ends. Dropping it cuts everything off.
pub(super) async fn serve(listener: TcpListener, app: Router, stop: CancellationToken) {
    let mut connections = JoinSet::new();
    let mut refused = false;
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    refused = false;
                    // Ends with its connection, by `stop` after the request under way, or with the set.
                    connections.spawn(serve_connection(stream, peer, app.clone(), stop.clone()));
                }
                // The peer may be gone already: that is its own affair.
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    if !std::mem::replace(&mut refused, true) {
                        tracing::warn!(%error, "cannot accept connections, trying on");
                    }
                    sleep(PAUSE).await;
                }
            },
        }
    }
    for (stream, peer) in waiting(listener) {
        connections.spawn(serve_connection(stream, peer, app.clone(), stop.clone()));
    }
    while connections.join_next().await.is_some() {}
}

/// Ends the listener. Callers take what the system has accepted for them as accepted by us, so their requests are answered.
fn waiting(listener: TcpListener) -> impl Iterator<Item = (TcpStream, SocketAddr)> {
    let listener = listener.into_std().ok();
    std::iter::from_fn(move || {
        let (stream, peer) = listener.as_ref()?.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        Some((TcpStream::from_std(stream).ok()?, peer))
    })
}

fn is_of_the_peer(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

async fn serve_connection(stream: TcpStream, peer: SocketAddr, app: Router, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, %peer, "no nodelay");
    }
    let service = service_fn(move |request: hyper::Request<Incoming>| call(app.clone(), peer, request));
    let mut builder = Builder::new(TokioExecutor::new());
    // The timer lets hyper end connections that never send a whole head.
    builder.http1().timer(TokioTimer::new());
    builder.http2().timer(TokioTimer::new());
    let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
    let accepted = Instant::now();
    let stopped = async {
        stop.cancelled().await;
        sleep_until(accepted + FIRST_REQUEST).await;
    };
    let ended = tokio::select! {
        // First, so that a request that has arrived is taken up before the connection is told to end.
        biased;
        ended = connection.as_mut() => ended,
        () = stopped => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(error, %peer, "connection failed");
    }
}

async fn call(
    mut app: Router,
    peer: SocketAddr,
    mut request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    request.extensions_mut().insert(ConnectInfo(peer));
    let request: Request = request.map(axum::body::Body::new);
    app.call(request).await
}
