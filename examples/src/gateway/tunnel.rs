use std::io;

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tokio_util::sync::CancellationToken;

use super::Refusal;
use super::hop_by_hop::has_token;

/// The only protocol that is changed to. To pass on `h2c` would let callers speak with an instance past the gateway.
const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");

/// A caller who wants to speak WebSocket.
pub(super) struct Tunnel {
    caller: OnUpgrade,
}

impl Tunnel {
    /// `None` for a request that asks for nothing of the kind.
    pub(super) fn asked_for<B>(request: &mut Request<B>) -> Option<Self> {
        let asked = request.version() == Version::HTTP_11 && is_asked(request.headers());
        asked.then(|| Self { caller: hyper::upgrade::on(request) })
    }

    /// Asks the instance for it.
    pub(super) fn ask(headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, WEBSOCKET);
    }

    /// Joins both connections if the instance agreed; `response` is then what tells the caller.
    pub(super) fn join<B>(
        tunnel: Option<Self>,
        response: &mut Response<B>,
        agreed: bool,
        closing: CancellationToken,
    ) -> Result<(), Refusal> {
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Ok(());
        }
        let Some(Self { caller }) = tunnel.filter(|_| agreed) else { return Err(Refusal::Protocol) };
        let instance = hyper::upgrade::on(&mut *response);
        Self::ask(response.headers_mut());
        // Ends when both sides have ended, when one of them fails, or with the gateway.
        tokio::spawn(async move {
            tokio::select! {
                result = bridge(caller, instance) => match result {
                    Ok((up, down)) => tracing::debug!(up, down, "tunnel ended"),
                    Err(error) => tracing::debug!(%error, "tunnel broke"),
                },
                () = closing.cancelled() => {}
            }
        });
        Ok(())
    }
}

/// Whether a message asks for WebSocket, or agrees to it.
pub(super) fn is_asked(headers: &HeaderMap) -> bool {
    has_token(headers, &CONNECTION, "upgrade") && has_token(headers, &UPGRADE, "websocket")
}

/// How many bytes went up and down.
async fn bridge(caller: OnUpgrade, instance: OnUpgrade) -> io::Result<(u64, u64)> {
    let (caller, instance) = tokio::try_join!(caller, instance).map_err(io::Error::other)?;
    copy_bidirectional(&mut TokioIo::new(caller), &mut TokioIo::new(instance)).await
}
