//! One attempt to connect and, if it succeeds, the whole life of that connection: the body of one task.

use std::{net::IpAddr, sync::Arc};

use bytes::Bytes;
use h2::client::{Connection, SendRequest};
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    channel::Channel, conversation::Conversation, rpc_error::transport_fault, session::Life, settings::GrpcSettings,
};
use crate::{
    log_limit::LogLimit,
    servers::{Connector, DialError, Io, Link, ServerAddress},
    transport::{Epoch, Event, EventHandler, LinkError, LinkFault, SessionInfo, StreamCounters},
};

/// Receive windows: a list of some thousand instances fits without a round trip in between.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

/// What all connections of a transport share.
pub(super) struct Context {
    pub(super) settings: Arc<GrpcSettings>,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) handler: Arc<dyn EventHandler>,
    pub(super) signals: mpsc::Sender<Signal>,
    pub(super) counters: Arc<StreamCounters>,
    pub(super) oversized_log: LogLimit,
}

/// What a connection tells its supervisor. Its end is told by the end of its task.
#[derive(Debug)]
pub(super) enum Signal {
    /// The set-up finished.
    Up(Epoch, Arc<SessionInfo>),
    /// The server asks the client to move, perhaps to a host and main port.
    ResetAsked(Epoch, Option<(String, Option<u16>)>),
}

/// How a supervisor ends a connection.
#[derive(Debug, Clone)]
pub(super) struct Control {
    /// Cancelled when the transport closes.
    pub(super) stop: CancellationToken,
    /// Cancelled when a newer connection has taken over.
    pub(super) release: CancellationToken,
}

/// One attempt.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) epoch: Epoch,
    pub(super) server: ServerAddress,
    pub(super) control: Control,
    /// The connection to be replaced and the token that releases it.
    pub(super) replaces: Option<(Epoch, CancellationToken)>,
}

/// Connects, serves, and returns why that ended. Emits `Connected` at most once and then exactly one `Disconnected`, unless it is dropped.
pub(super) async fn run(context: Arc<Context>, attempt: Attempt) -> LinkError {
    let port = context.settings.servers.grpc_port(&attempt.server);
    let authority: Arc<str> = Arc::from(attempt.server.host.authority(port));
    let wire = tokio::select! {
        biased;
        () = attempt.control.stop.cancelled() => Err(LinkFault::Closed.at(&authority)),
        wire = connect(&context, &attempt.server, &authority) => wire,
    };
    match wire {
        Ok(wire) => serve(&context, attempt, wire, &authority).await,
        Err(error) => error,
    }
}

struct Wire {
    send: SendRequest<Bytes>,
    connection: Connection<Box<dyn Io>, Bytes>,
    peer: Arc<str>,
    local_ip: Option<IpAddr>,
}

async fn connect(context: &Context, server: &ServerAddress, authority: &Arc<str>) -> Result<Wire, LinkError> {
    let limit = context.settings.timings.connect;
    let port = context.settings.servers.grpc_port(server);
    let dial = async {
        let link = context.connector.connect(server.host.clone(), port, limit).await;
        let Link { io, peer, local_ip } = link.map_err(|error| match error {
            DialError::Resolve(error) => LinkFault::Resolve(Arc::new(error)).at(authority),
            DialError::Connect { peer, source } => LinkFault::Connect(Arc::new(source)).at(&peer),
        })?;
        let (send, connection) = h2::client::Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .enable_push(false)
            .handshake(io)
            .await
            .map_err(|error| transport_fault(error).at(&peer))?;
        Ok(Wire { send, connection, peer, local_ip })
    };
    timeout(limit, dial).await.unwrap_or_else(|_| Err(LinkFault::ConnectTimeout(limit).at(authority)))
}

async fn serve(context: &Context, attempt: Attempt, wire: Wire, authority: &str) -> LinkError {
    let Wire { send, connection, peer, local_ip } = wire;
    let Some(channel) = Channel::new(send, authority, context.settings.max_message_size) else {
        return LinkFault::Protocol(Arc::from("the server's name is no HTTP authority")).at(&peer);
    };
    let life = Arc::new(Life::new(Arc::clone(&peer)));
    let _net = EndOnDrop(&life);
    let epoch = attempt.epoch;
    let control = attempt.control.clone();
    let mut announced = false;
    let talk = Conversation::new(context, attempt, channel, Arc::clone(&life), Arc::clone(&peer), local_ip);
    // The connection future is the epoch: it is polled here and nowhere else, and dropped, socket and all, with the others when one of them ends.
    let fault = tokio::select! {
        biased;
        () = control.stop.cancelled() => LinkFault::Closed,
        () = control.release.cancelled() => LinkFault::Replaced,
        () = life.sick.cancelled() => life.fault(),
        end = connection => end.map_or_else(transport_fault, |()| LinkFault::Transport(None)),
        fault = talk.run(&mut announced) => fault,
    };
    let fault = match fault {
        LinkFault::Transport(cause) if !announced => LinkFault::SetupCut(cause),
        fault => fault,
    };
    let cause = fault.at(&peer);
    if announced {
        context.handler.handle(Event::Disconnected { epoch, cause: cause.clone() });
    }
    life.end(cause.clone());
    cause
}

/// Lets calls in flight end when the task is dropped or panics.
struct EndOnDrop<'a>(&'a Life);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end_closed();
    }
}
