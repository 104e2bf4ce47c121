//! From an HTTP/2 connection to one that the server knows: check, set-up, acknowledgement.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use nacos_proto::{
    Payload, ResponseError,
    grpc::{ConnectionSetupRequest, ServerCheckRequest, ServerCheckResponse},
};
use tokio::time::{sleep, timeout};

use super::{
    channel::Channel,
    dialect,
    settings::{GrpcSettings, Timings},
    stream::{Incoming, PushStream},
};
use crate::transport::{Abilities, Dialect, LinkFault};

/// Servers that do not acknowledge the set-up need a moment until they know the connection.
const SETTLE: Duration = Duration::from_millis(100);
const CLIENT_VERSION: &str = concat!("Nacos-Rust-Client:v", env!("CARGO_PKG_VERSION"));
const DEFAULT_APP: &str = "unknown";
const PERSISTENT: &str = "supportPersistentInstanceByGrpc";

/// A connection the server knows.
pub(super) struct Setup {
    pub(super) connection_id: String,
    pub(super) abilities: Abilities,
    pub(super) dialect: Dialect,
    pub(super) stream: PushStream,
}

/// Runs the set-up on `channel`. On failure the connection is of no further use.
pub(super) async fn handshake(
    channel: &Channel,
    settings: &GrpcSettings,
    client_ip: &Arc<str>,
) -> Result<Setup, LinkFault> {
    let timings = &settings.timings;
    let check = check(channel, client_ip, timings).await?;
    let hello = Payload::encode_json(&setup_request(settings)).with_client_ip(&**client_ip);
    let halves = limited("the set-up", timings.server_check, async {
        channel.stream(&hello).await.map_err(super::rpc_error::RpcError::into_setup_fault)
    });
    let mut stream = PushStream::new(halves.await?, Arc::clone(client_ip));
    let abilities = if check.support_ability_negotiation {
        let table = limited("the set-up", timings.setup_ack, acknowledgement(&mut stream)).await?;
        Abilities { negotiated: true, persistent: table.get(PERSISTENT).copied().unwrap_or(false) }
    } else {
        settle(&mut stream).await?;
        Abilities::default()
    };
    Ok(Setup { dialect: dialect::detect(&check), connection_id: check.connection_id, abilities, stream })
}

async fn limited<T>(
    step: &'static str,
    limit: Duration,
    work: impl Future<Output = Result<T, LinkFault>>,
) -> Result<T, LinkFault> {
    timeout(limit, work).await.unwrap_or(Err(LinkFault::SetupTimeout { step, limit }))
}

async fn check(channel: &Channel, client_ip: &str, timings: &Timings) -> Result<ServerCheckResponse, LinkFault> {
    let request = Payload::encode_json(&ServerCheckRequest::default()).with_client_ip(client_ip);
    let answer = limited("the server check", timings.server_check, async {
        channel.unary(&request).await.map_err(super::rpc_error::RpcError::into_setup_fault)
    });
    answer.await?.decode_response().map_err(|error| match error {
        ResponseError::Refused(failure) => {
            LinkFault::SetupRefused { code: failure.code(), message: Arc::from(failure.message) }
        }
        other => LinkFault::Protocol(Arc::from(other.to_string())),
    })
}

fn setup_request(settings: &GrpcSettings) -> ConnectionSetupRequest {
    let app_name = if settings.app_name.trim().is_empty() { DEFAULT_APP } else { &settings.app_name };
    let own = [("source", "sdk"), ("module", "naming"), ("AppName", app_name), ("tls.enable", "false")];
    let mut labels: BTreeMap<String, String> = own.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    for (name, value) in &settings.labels {
        labels.insert(format!("app_{name}"), value.clone());
    }
    ConnectionSetupRequest {
        client_version: Some(CLIENT_VERSION.to_owned()),
        tenant: Some(settings.namespace.to_string()),
        labels: Some(labels),
        ability_table: Some(BTreeMap::new()),
    }
}

/// Reads until the server acknowledges. What else comes meanwhile is answered, except that a request to move ends the attempt.
async fn acknowledgement(stream: &mut PushStream) -> Result<BTreeMap<String, bool>, LinkFault> {
    loop {
        let incoming = stream.next().await?;
        if let Some(table) = early(stream, incoming).await? {
            return Ok(table);
        }
    }
}

/// Waits until a server that does not acknowledge knows the connection.
async fn settle(stream: &mut PushStream) -> Result<(), LinkFault> {
    let pause = sleep(SETTLE);
    tokio::pin!(pause);
    loop {
        tokio::select! {
            biased;
            incoming = stream.next() => { early(stream, incoming?).await?; }
            () = &mut pause => return Ok(()),
        }
    }
}

async fn early(stream: &mut PushStream, incoming: Incoming) -> Result<Option<BTreeMap<String, bool>>, LinkFault> {
    match incoming {
        Incoming::SetupAck(table) => return Ok(Some(table)),
        Incoming::Detection { id } => stream.ack_detection(id).await?,
        // The end of the connection is the answer.
        Incoming::Reset { .. } => return Err(LinkFault::GivenUp("the server asked to move during the set-up")),
        // Nothing is subscribed yet; the server keeps an unacknowledged push for later.
        Incoming::Push { .. } | Incoming::Unreadable { .. } | Incoming::Oversized { .. } | Incoming::Unknown { .. } => {
            tracing::debug!(?incoming, "ignored during the set-up");
        }
    }
    Ok(None)
}
