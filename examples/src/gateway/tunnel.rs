use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{Either, select};
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, Version};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::hop_by_hop::has_token;

/// The only protocol that is changed to. To pass on `h2c` would let callers speak with an instance past the gateway.
const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
/// How long one side may go on when the other has ended: time for what it has sent already.
const LINGER: Duration = Duration::from_secs(2);
const BUFFER: usize = 8 * 1024;

/// A caller who wants to speak WebSocket.
#[derive(Debug)]
pub(super) struct Tunnel {
    caller: OnUpgrade,
    idle: Duration,
    closing: CancellationToken,
}

impl Tunnel {
    /// `None` for a request that asks for nothing of the kind.
    pub(super) fn asked_for<B>(request: &mut Request<B>, idle: Duration, closing: &CancellationToken) -> Option<Self> {
        let asked = request.version() == Version::HTTP_11 && Self::is_asked(request.headers());
        asked.then(|| Self { caller: hyper::upgrade::on(request), idle, closing: closing.clone() })
    }

    /// Whether a message asks for WebSocket, or agrees to it.
    pub(super) fn is_asked(headers: &HeaderMap) -> bool {
        has_token(headers, &CONNECTION, "upgrade") && has_token(headers, &UPGRADE, "websocket")
    }

    /// Asks the instance for it.
    pub(super) fn ask(headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, WEBSOCKET);
    }

    /// Joins both connections, as the instance agreed; `response` is then what tells the caller.
    pub(super) fn join<B>(self, response: &mut Response<B>) {
        let Self { caller, idle, closing } = self;
        let instance = hyper::upgrade::on(&mut *response);
        Self::ask(response.headers_mut());
        // Ends soon after one of the sides, when both are silent for too long, or with the gateway.
        tokio::spawn(async move {
            tokio::select! {
                ended = bridge(caller, instance, idle) => match ended {
                    Ok(how) => tracing::debug!(how, "tunnel ended"),
                    Err(error) => tracing::debug!(%error, "tunnel broke"),
                },
                () = closing.cancelled() => {}
            }
        });
    }
}

/// Says how it ended. Both connections end with it.
async fn bridge(caller: OnUpgrade, instance: OnUpgrade, idle: Duration) -> io::Result<&'static str> {
    let (caller, instance): (Upgraded, Upgraded) = tokio::try_join!(caller, instance).map_err(io::Error::other)?;
    let (from_caller, to_caller) = split(TokioIo::new(caller));
    let (from_instance, to_instance) = split(TokioIo::new(instance));
    let moved = AtomicU64::new(0);
    let up = pin!(pass(from_caller, to_instance, &moved));
    let down = pin!(pass(from_instance, to_caller, &moved));
    tokio::select! {
        ended = select(up, down) => {
            let (Either::Left((ended, other)) | Either::Right((ended, other))) = ended;
            ended?;
            match timeout(LINGER, other).await {
                Ok(ended) => ended.map(|()| "by both sides"),
                Err(_) => Ok("by one side"),
            }
        }
        () = silence(&moved, idle) => Ok("by silence"),
    }
}

/// Passes on what one side says until it ends, which the other is told.
async fn pass(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, moved: &AtomicU64) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..length]).await?;
        moved.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ends when nothing has moved for so long, or for half as long again.
async fn silence(moved: &AtomicU64, limit: Duration) {
    let mut seen = [None; 2];
    loop {
        let now = moved.load(Ordering::Relaxed);
        if seen == [Some(now); 2] {
            return;
        }
        seen = [seen[1], Some(now)];
        sleep(limit / 2).await;
    }
}
