//! What an answer means.

use http::StatusCode;
use nacos_proto::{code, grpc::ServiceInfo, http as wire};

use super::server::Answer;
use crate::transport::{Call, CallError, Refusal, RefusalShape, Reply};

/// First server with everything this client asks of the HTTP naming API.
const SINCE: &str = "1.1.0";
/// Longest text taken over from an answer that is not of the protocol.
const LONGEST_TEXT: usize = 300;

/// Why an answer is no success, and whether another server may do better.
#[derive(Debug)]
pub(super) enum Rejection {
    /// Every server would say the same.
    Final(CallError),
    /// The server works and failed at this.
    Fault(CallError),
    /// The server does not serve at the moment, or is no Nacos server.
    Away(CallError),
}

/// The body of a success; statuses and bodies count, content types do not, since servers and proxies choose them freely.
pub(super) fn success(answer: &Answer) -> Result<&[u8], Rejection> {
    let status = answer.status;
    if status.is_success() {
        return Ok(&answer.body);
    }
    let said = || said(&answer.body);
    let refused = |code| CallError::Refused(Refusal { code, message: said(), shape: RefusalShape::Status });
    Err(match status.as_u16() {
        300..=399 => {
            let to = answer.location.as_deref().map_or_else(String::new, |to| format!(" to {to}"));
            let text = format!(
                "HTTP status {status}: a redirection{to}, which is not followed; configure the address of the server itself"
            );
            Rejection::Away(CallError::Decode(text))
        }
        401 | 403 => Rejection::Final(refused(code::NO_RIGHT)),
        404 | 405 | 501 => Rejection::Final(CallError::Unsupported { needs: SINCE }),
        410 => {
            let message = format!("{}: the server has retired this part of its HTTP API, use gRPC", said());
            let refusal = Refusal { code: 410, message, shape: RefusalShape::Status };
            Rejection::Final(CallError::Refused(refusal))
        }
        // Slow or too busy: a matter of this server and moment.
        408 | 429 => Rejection::Fault(refused(code::OVER_THRESHOLD)),
        other @ 400..=499 => Rejection::Final(refused(i32::from(other))),
        502..=504 => Rejection::Away(refused(code::OVER_THRESHOLD)),
        500..=599 => Rejection::Fault(refused(code::FAIL)),
        _ => Rejection::Away(CallError::Decode(format!("HTTP status {status}"))),
    })
}

/// The reply to `call`.
pub(super) fn reply(call: &Call, answer: &Answer) -> Result<Reply, Rejection> {
    let body = success(answer)?;
    match call {
        Call::Query { .. } | Call::Subscribe { .. } => {
            let info: ServiceInfo = read(body, "list of instances")?;
            Ok(Reply::Service(Some(info)))
        }
        Call::List { .. } => {
            let names: wire::ServiceNames = read(body, "list of services")?;
            Ok(Reply::Services { count: usize::try_from(names.count).unwrap_or(0), names: names.doms })
        }
        Call::Register { .. }
        | Call::RegisterBatch { .. }
        | Call::Deregister { .. }
        | Call::RegisterPersistent { .. }
        | Call::DeregisterPersistent { .. }
        | Call::Unsubscribe { .. } => done(body).map(|()| Reply::Done),
    }
}

/// A write succeeded if the body does not say otherwise. Most servers write `ok`, but a page of markup is the word of a proxy.
pub(super) fn done(body: &[u8]) -> Result<(), Rejection> {
    if body.trim_ascii_start().starts_with(b"<") {
        return Err(foreign(body));
    }
    Ok(())
}

/// The answer to a beat.
pub(super) fn beat(answer: &Answer) -> Result<wire::BeatAnswer, Rejection> {
    read(success(answer)?, "answer to a beat")
}

/// Whether the server serves. Some servers close this question to clients, and say so as only Nacos does.
pub(super) fn state(answer: &Answer) -> Result<(), Rejection> {
    match answer.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::GONE | StatusCode::NOT_IMPLEMENTED
            if wire::read::<wire::ErrorPage>(&answer.body, "error").is_ok_and(|page| page.status != 0) =>
        {
            Ok(())
        }
        StatusCode::NOT_FOUND => Err(Rejection::Away(CallError::Decode(
            "HTTP status 404: no Nacos server at this address, or its context path is another one".to_owned(),
        ))),
        _ => {
            let state: wire::ServerState = read(success(answer)?, "state of a server")?;
            match state.status.as_deref() {
                Some("UP") => Ok(()),
                Some(other) => {
                    let message = format!("the server is {other}");
                    let (code, shape) = (code::OVER_THRESHOLD, RefusalShape::Typed);
                    Err(Rejection::Away(CallError::Refused(Refusal { code, message, shape })))
                }
                None => Err(foreign(&answer.body)),
            }
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(body: &[u8], expected: &'static str) -> Result<T, Rejection> {
    wire::read(body, expected).map_err(|_| foreign(body))
}

fn foreign(body: &[u8]) -> Rejection {
    let text = String::from_utf8_lossy(body);
    let text = if text.trim().is_empty() { "an empty body".to_owned() } else { shortened(text.trim()) };
    Rejection::Away(CallError::Decode(format!("this is no answer of a Nacos server: {text}")))
}

/// The text of a refusal: plain, in the form of 1.4 (`caused: …;`), or in an error page.
pub(crate) fn said(body: &[u8]) -> String {
    shortened(&said_in_full(body))
}

/// The same at its whole length.
pub(crate) fn said_in_full(body: &[u8]) -> String {
    if let Ok(wire::ErrorPage { message: Some(message), .. }) = wire::read(body, "error") {
        return message.trim().to_owned();
    }
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let text = text.strip_prefix("caused: ").map_or(text, |rest| rest.strip_suffix(';').unwrap_or(rest));
    text.to_owned()
}

/// Not more of a text than an error has room for.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_TEXT) {
        Some((at, _)) => format!("{} …", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
