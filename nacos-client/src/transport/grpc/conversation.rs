//! What is said on a connection: the set-up, then pushes and health checks until one of them fails.

use std::{net::IpAddr, sync::Arc};

use nacos_proto::{
    Payload, ResponseError, code,
    grpc::{HealthCheckRequest, HealthCheckResponse},
};
use tokio::time::{Instant, sleep, timeout};

use super::{
    channel::Channel,
    connection::{Attempt, Context, Signal},
    handshake::{Setup, handshake},
    liveness::{Verdict, judge},
    session::{GrpcSession, Life, SessionParts},
    settings::Timings,
    stream::{Incoming, PushStream},
    traffic::Traffic,
};
use crate::config::Protocol;
use crate::transport::{CallError, Epoch, Event, Freshness, Handover, LinkFault, Origin, SessionInfo};

/// One connection's talk with its server.
pub(super) struct Conversation<'a> {
    context: &'a Context,
    attempt: Attempt,
    channel: Channel,
    life: Arc<Life>,
    peer: Arc<str>,
    local_ip: Option<IpAddr>,
    client_ip: Arc<str>,
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        context: &'a Context,
        attempt: Attempt,
        channel: Channel,
        life: Arc<Life>,
        peer: Arc<str>,
        local_ip: Option<IpAddr>,
    ) -> Self {
        let client_ip = Arc::from(local_ip.map(|ip| ip.to_string()).unwrap_or_default());
        Self { context, attempt, channel, life, peer, local_ip, client_ip }
    }

    /// Talks until the connection is of no further use. Sets `announced` before it emits `Connected`.
    pub(super) async fn run(mut self, announced: &mut bool) -> LinkFault {
        let setup = match handshake(&self.channel, &self.context.settings, &self.client_ip).await {
            Ok(setup) => setup,
            Err(fault) => return fault,
        };
        let epoch = self.attempt.epoch;
        let traffic = Arc::new(Traffic::new());
        let (info, stream) = self.describe(setup);
        if self.context.signals.send(Signal::Up(epoch, Arc::clone(&info))).await.is_err() {
            return LinkFault::Closed;
        }
        let session = Arc::new(GrpcSession::new(SessionParts {
            epoch,
            info,
            channel: self.channel.clone(),
            life: Arc::clone(&self.life),
            traffic: Arc::clone(&traffic),
            settings: Arc::clone(&self.context.settings),
            client_ip: Arc::clone(&self.client_ip),
        }));
        let handover = self.attempt.replaces.take().map(|(old, release)| Handover::new(old, release));
        *announced = true;
        self.context.handler.handle(Event::Connected { session, handover });
        tokio::select! {
            biased;
            fault = serve_stream(self.context, epoch, stream, &traffic) => fault,
            fault = self.watch(&traffic) => fault,
        }
    }

    fn describe(&self, setup: Setup) -> (Arc<SessionInfo>, PushStream) {
        let Setup { connection_id, abilities, dialect, stream } = setup;
        let info = SessionInfo {
            server: Arc::from(self.attempt.server.to_string()),
            peer: Arc::clone(&self.peer),
            local_ip: self.local_ip,
            connection_id: Arc::from(connection_id),
            abilities,
            dialect,
            protocol: Protocol::Grpc,
            freshness: Freshness::Pushed,
        };
        (Arc::new(info), stream)
    }

    /// Checks the server's health after silence; returns when it is gone or leaves a call unanswered.
    async fn watch(&self, traffic: &Traffic) -> LinkFault {
        let mut timings = self.context.settings.timings;
        timings.call_limit = timings.call_limit.min(Traffic::MAX_CALL_LIMIT);
        loop {
            match judge(&timings, traffic.age(), traffic.last_heard(), traffic.oldest_waiting()) {
                Verdict::LookAgain(at) => sleep(at.saturating_sub(traffic.age())).await,
                Verdict::CallOverdue => return LinkFault::CallTimeout(timings.call_limit),
                Verdict::Probe => match self.probe(&timings).await {
                    Ok(()) => traffic.heard(),
                    Err(fault) => return fault,
                },
            }
        }
    }

    async fn probe(&self, timings: &Timings) -> Result<(), LinkFault> {
        let request = Payload::encode_json(&HealthCheckRequest::default()).with_client_ip(&*self.client_ip);
        let answer = timeout(timings.health_timeout.0, self.channel.unary(&request)).await;
        let answer = answer.map_err(|_| LinkFault::Unhealthy)?.map_err(|error| {
            // A server that refuses health checks is as good as dead.
            error.into_call_error().map_or_else(|fault| fault, |_| LinkFault::Unhealthy)
        })?;
        match answer.decode_response::<HealthCheckResponse>() {
            Ok(_) => Ok(()),
            Err(ResponseError::Refused(failure)) => match failure.code() {
                lost @ (code::UNREGISTERED | code::CLIENT_DISCONNECT) => Err(LinkFault::Unregistered(lost)),
                // An overloaded server knows us; to come back with a new connection would add to its load.
                code::OVER_THRESHOLD => Ok(()),
                _ => Err(LinkFault::Unhealthy),
            },
            Err(_) => Err(LinkFault::Unhealthy),
        }
    }
}

/// Hands over pushes and answers what the server asks, until the stream ends.
async fn serve_stream(context: &Context, epoch: Epoch, mut stream: PushStream, traffic: &Traffic) -> LinkFault {
    loop {
        let incoming = match stream.next().await {
            Ok(incoming) => incoming,
            Err(fault) => return fault,
        };
        match answer(context, epoch, &mut stream, incoming).await {
            Ok(true) => traffic.heard(),
            Ok(false) => {}
            Err(fault) => return fault,
        }
    }
}

/// Does what a message asks for. Whether it was answered: any answer proves to the server that we live.
async fn answer(
    context: &Context,
    epoch: Epoch,
    stream: &mut PushStream,
    incoming: Incoming,
) -> Result<bool, LinkFault> {
    match incoming {
        Incoming::Push { id, info } => {
            context.counters.push();
            if let Some(info) = info {
                context.handler.handle(Event::Push { epoch, origin: Origin::Stream, info });
            }
            stream.ack_push(id).await?;
            Ok(true)
        }
        Incoming::Detection { id } => {
            stream.ack_detection(id).await?;
            Ok(true)
        }
        Incoming::Reset { id, target } => {
            stream.ack_reset(id).await?;
            tracing::info!(%epoch, ?target, "the server asks the client to move");
            // A full queue means that enough has been said.
            if context.signals.try_send(Signal::ResetAsked(epoch, target)).is_err() {
                tracing::debug!(%epoch, "one more request to move, dropped");
            }
            Ok(true)
        }
        Incoming::Unreadable { kind, id, why } => {
            context.counters.unreadable();
            tracing::warn!(%epoch, kind, error = why, "a message of the server cannot be read");
            let Some(id) = id else { return Ok(false) };
            stream.nack(id).await?;
            Ok(true)
        }
        Incoming::Oversized { id, size } => {
            context.counters.unreadable();
            if let Some(left_out) = context.oversized_log.pass(Instant::now()) {
                let error = CallError::Oversized { size };
                tracing::error!(%epoch, %error, lines_left_out = left_out, "a list is left out, and what is known of it grows old");
            }
            // Acknowledged, as servers send the same again to who says no, and in the end close the connection.
            let Some(id) = id else { return Ok(false) };
            stream.ack_push(id).await?;
            Ok(true)
        }
        Incoming::Unknown { kind } => {
            context.counters.unknown();
            tracing::debug!(%epoch, kind, "a message of an unknown type is ignored");
            Ok(false)
        }
        Incoming::SetupAck(_) => Ok(false), // a repetition
    }
}
