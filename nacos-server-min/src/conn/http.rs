use std::net::SocketAddr;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::fair_reads::FairReads;
use super::stalling::StallGuard;
use crate::api::http::HttpService;
use crate::context::Context;
use crate::fault::{Gate, GatedIo};

/// Answers the requests of one HTTP connection until it ends, or `close` is cancelled.
pub(super) async fn serve_http(
    context: Arc<Context>,
    service: HttpService,
    (stream, remote): (TcpStream, SocketAddr),
    close: CancellationToken,
) {
    let io = GatedIo::new(stream, Arc::<Gate>::default(), Arc::clone(&context.fault.gate));
    // A body that stops in the middle, or an answer that nobody fetches, does not hold the connection for ever.
    let io = StallGuard::new(FairReads::new(io), context.settings.unregistered_timeout);
    let mut http1 = hyper::server::conn::http1::Builder::new();
    // This time runs between requests too, and clients that ask every 10 s keep their connection.
    http1.timer(TokioTimer::new()).header_read_timeout(context.settings.unregistered_timeout);
    let service = service_fn(move |request: Request<Incoming>| service.answer(request, remote));
    let serving = http1.serve_connection(TokioIo::new(io), service);
    tokio::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = close.cancelled() => return,
        () = context.stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            tokio::select! {
                served = &mut serving => served,
                () = close.cancelled() => return,
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "HTTP connection ended");
    }
}
