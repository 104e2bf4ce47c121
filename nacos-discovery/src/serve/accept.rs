use std::convert::Infallible;
use std::future::pending;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Version};
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

use crate::Readiness;

/// How long nothing is accepted after the system refused to, for want of descriptors mostly.
const PAUSE: Duration = Duration::from_millis(100);
/// Connections that a system lets wait; further ones have come since, and would come for ever.
const BACKLOG: usize = 1024;
/// How long a new connection has for its first request, although nothing is accepted any more.
const FIRST_REQUEST: Duration = Duration::from_millis(100);

/// How long a connection may take to ask for anything. hyper has the same limit for a head, but only once it knows by the first
/// bytes which protocol is spoken, and none where that is HTTP/2.
const SILENCE: Duration = Duration::from_secs(30);

/// An application, and whether it is about to stop.
#[derive(Clone)]
pub(super) struct Application {
    pub(super) app: Router,
    pub(super) readiness: Readiness,
}

/// Serves an application until `stop`, then stops accepting, finishes what is under way, and ends. Dropping it cuts
/// everything off.
pub(super) async fn serve(listener: TcpListener, app: Application, stop: CancellationToken) {
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
    for (stream, peer) in waiting(listener).take(BACKLOG) {
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

async fn serve_connection(stream: TcpStream, peer: SocketAddr, app: Application, stop: CancellationToken) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, %peer, "no nodelay");
    }
    let asked = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&asked);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        asks.store(true, Ordering::Relaxed);
        call(app.clone(), peer, request)
    });
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
    let silent = async {
        sleep_until(accepted + SILENCE).await;
        if asked.load(Ordering::Relaxed) {
            pending().await
        }
    };
    let ended = tokio::select! {
        // First, so that a request that has arrived is taken up before the connection is told to end.
        biased;
        ended = connection.as_mut() => ended,
        () = silent => Ok(()),
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
    application: Application,
    peer: SocketAddr,
    mut request: hyper::Request<Incoming>,
) -> Result<Response, Infallible> {
    let Application { mut app, readiness } = application;
    request.extensions_mut().insert(ConnectInfo(peer));
    let is_http1 = request.version() < Version::HTTP_2;
    let request: Request = request.map(axum::body::Body::new);
    let mut response = app.call(request).await?;
    // A caller that keeps its connection would use it to the very end, and so at the moment when it is closed.
    if is_http1 && readiness.is_leaving() {
        response.headers_mut().entry(CONNECTION).or_insert(const { HeaderValue::from_static("close") });
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn application() -> Application {
        Application { app: Router::new().route("/", get(|| async { "here" })), readiness: Readiness::default() }
    }

    #[tokio::test]
    async fn kept_connections_end_with_their_next_answer_once_it_is_about_to_stop() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut caller = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let application = application();
        let readiness = application.readiness.clone();
        let server = tokio::spawn(serve(listener, application, CancellationToken::new()));
        caller.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 1024];
        let read = caller.read(&mut answer).await.unwrap();
        let first = String::from_utf8_lossy(&answer[..read]).into_owned();
        assert!(first.starts_with("HTTP/1.1 200") && !first.contains("connection: close"), "{first}");
        readiness.leave();
        caller.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
        let mut last = String::new();
        caller.read_to_string(&mut last).await.unwrap();
        assert!(last.starts_with("HTTP/1.1 200") && last.contains("connection: close"), "{last}");
        server.abort();
    }

    #[tokio::test]
    async fn requests_that_wait_to_be_accepted_are_answered_although_it_stops() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut callers = Vec::new();
        for _ in 0..20 {
            let mut caller = TcpStream::connect(address).await.unwrap();
            caller.write_all(b"GET / HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
            callers.push(caller);
        }
        let stop = CancellationToken::new();
        stop.cancel();
        serve(listener, application(), stop).await;
        for mut caller in callers {
            let mut answer = String::new();
            caller.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("here"), "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_asks_for_nothing_ends_and_an_answer_may_take_longer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let slow = Router::new().route("/", get(|| async { sleep(4 * SILENCE).await }));
        let server =
            tokio::spawn(serve(listener, Application { app: slow, ..application() }, CancellationToken::new()));
        for said in ["", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nhost:"] {
            let mut caller = TcpStream::connect(address).await.unwrap();
            caller.write_all(said.as_bytes()).await.unwrap();
            let begun = Instant::now();
            // However the system says that it is over.
            let _ = caller.read_to_end(&mut Vec::new()).await;
            assert!(begun.elapsed() >= SILENCE / 2 && begun.elapsed() <= 2 * SILENCE, "{said:?} {:?}", begun.elapsed());
        }
        let mut patient = TcpStream::connect(address).await.unwrap();
        patient.write_all(b"GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        patient.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        server.abort();
    }
}
