use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use nacos_proto::grpc::{Ack, ClientDetectionRequest, ConnectResetRequest, ConnectionSetupRequest, SetupAckRequest};
use tokio_util::sync::CancellationToken;

use super::liveness::{Liveness, Patience, Verdict};
use super::setup_gate::SetupGate;
use crate::context::Context;
use crate::fault::Gate;
use crate::push::{Frame, Outbox, OutboxContext, StreamId};
use crate::registry::{Client, Sink};

/// What a connection said about itself in its set-up.
#[derive(Debug)]
pub(crate) struct Registration {
    /// Present when the label `module` is `naming`: only then it can publish and subscribe.
    pub(crate) client: Option<Arc<Client>>,
    pub(crate) client_version: String,
    pub(crate) client_ip: String,
    pub(crate) app: String,
    pub(crate) module: String,
    pub(crate) source: String,
}

/// What came of a set-up message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetUp {
    Accepted,
    /// The stream is to fail: the labels are null.
    Malformed,
    /// The connection is to be closed: the server is not ready.
    Rejected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    /// The TCP connection is gone or going.
    Closed,
}

/// One TCP connection of the gRPC port, which is also one client of the registry once it was set up.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) id: Box<str>,
    pub(crate) remote: SocketAddr,
    pub(crate) context: Arc<Context>,
    /// Cancelled when the connection is to close at once.
    pub(crate) close: CancellationToken,
    pub(crate) setup_gate: SetupGate,
    gate: Arc<Gate>,
    registration: ArcSwapOption<Registration>,
    outbox: Arc<Outbox>,
    liveness: Mutex<Liveness>,
    /// Held while registering and unregistering, so that nothing registers behind the end.
    phase: Mutex<Phase>,
}

impl Connection {
    pub(crate) fn new(context: Arc<Context>, remote: SocketAddr, local: SocketAddr) -> Self {
        let id = format!("{}_{}_{}", context.clock.wall_ms(), remote.ip(), remote.port());
        let outbox = Outbox::new(OutboxContext { server: Arc::clone(&context), local_ip: local.ip().to_string() });
        Self {
            id: id.into_boxed_str(),
            remote,
            close: context.fault.connection_token(),
            setup_gate: SetupGate::default(),
            gate: Arc::default(),
            registration: ArcSwapOption::empty(),
            outbox: Arc::new(outbox),
            liveness: Mutex::new(Liveness::Heard { last: context.clock.ticks() }),
            phase: Mutex::new(Phase::Open),
            context,
        }
    }

    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    pub(crate) fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    pub(crate) fn registration(&self) -> Option<Arc<Registration>> {
        self.registration.load_full()
    }

    pub(crate) fn is_registered(&self) -> bool {
        self.registration.load().is_some()
    }

    // === set-up and end ===

    /// Handles a set-up that came by `stream`. The first one registers the connection; later ones are acknowledged and
    /// change nothing but where pushes go.
    pub(crate) fn set_up(&self, stream: StreamId, request: ConnectionSetupRequest, client_ip: &str) -> SetUp {
        let Some(labels) = request.labels else { return SetUp::Malformed };
        let label = |name: &str| labels.get(name).cloned().unwrap_or_default();
        let source = label("source");
        if source == "sdk" && !self.context.ready() {
            return SetUp::Rejected;
        }
        let ack = request.ability_table.map(|_| {
            let abilities = [("supportPersistentInstanceByGrpc".to_owned(), true)].into();
            let ack = SetupAckRequest { ability_table: Some(abilities) };
            Frame::message(&ack, self.outbox.local_ip())
        });
        let phase = self.lock_phase();
        if *phase == Phase::Closed {
            return SetUp::Accepted;
        }
        if !self.is_registered() {
            let module = label("module");
            let client = (module == "naming").then(|| {
                let sink = Arc::clone(&self.outbox) as Arc<dyn Sink>;
                self.context.registry.open_client(&self.id, Some(sink))
            });
            let registration = Registration {
                client,
                client_version: request.client_version.unwrap_or_default(),
                client_ip: client_ip.to_owned(),
                app: label("AppName"),
                module,
                source,
            };
            tracing::debug!(conn.id = %self.id, version = %registration.client_version, module = %registration.module, "set up");
            self.registration.store(Some(Arc::new(registration)));
            self.context.counters.setups.add();
            // Only this once: repeated set-ups are no sign of life.
            self.touch();
        }
        self.outbox.set_up(stream, ack);
        drop(phase);
        SetUp::Accepted
    }

    /// Takes back everything the connection published; its requests are answered with 301 until it is set up again.
    pub(crate) fn forget(&self) {
        let _phase = self.lock_phase();
        self.unregister();
    }

    /// Ends the registration and the streams; the peer has to set up again.
    pub(crate) fn evict(&self) {
        self.forget();
        self.outbox.end_all();
        self.context.counters.evictions.add();
        tracing::info!(conn.id = %self.id, "connection stayed silent, its registration is ended");
    }

    /// The TCP connection is over.
    pub(crate) fn closed(&self) {
        let mut phase = self.lock_phase();
        *phase = Phase::Closed;
        self.unregister();
        self.outbox.end_all();
        self.close.cancel();
    }

    fn unregister(&self) {
        if let Some(client) = self.registration.swap(None).as_ref().and_then(|r| r.client.as_ref()) {
            self.context.registry.close_client(client, self.context.clock.seconds());
        }
    }

    fn lock_phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // === signs of life ===

    /// The peer did something that counts as activity.
    pub(crate) fn touch(&self) {
        self.lock_liveness().heard(self.context.clock.ticks());
    }

    /// Time since the last activity, or since the probe that asked for some.
    pub(crate) fn idle(&self) -> Duration {
        let now = self.context.clock.ticks();
        match *self.lock_liveness() {
            Liveness::Heard { last: since } | Liveness::Probed { sent: since, .. } => now.saturating_sub(since),
        }
    }

    /// Probes or evicts a registered connection that was silent for too long; says when to look again.
    pub(crate) fn check_liveness(&self, patience: Patience) -> Option<Duration> {
        let now = self.context.clock.ticks();
        let mut liveness = self.lock_liveness();
        match liveness.verdict(now, patience) {
            Verdict::Nothing => {}
            Verdict::Probe => {
                let id = self.context.next_request_id();
                liveness.probed(id, now);
                let probe = ClientDetectionRequest { request_id: id.to_string() };
                // Without a stream there is nobody to ask, which ends like a probe that is not answered.
                self.outbox.send(Frame::message(&probe, self.outbox.local_ip()));
                self.context.counters.probes.add();
            }
            Verdict::Evict => {
                drop(liveness);
                self.evict();
                return None;
            }
        }
        liveness.deadline(patience)
    }

    /// Takes any response that came by a stream.
    pub(crate) fn acknowledged(&self, ack: &Ack) {
        let id = ack.request_id.as_deref().and_then(|text| text.parse::<u64>().ok());
        let mut liveness = self.lock_liveness();
        let probe = id.is_some_and(|id| liveness.is_probe(id));
        if probe && !ack.is_success() {
            // Counts as no answer at all.
            return;
        }
        liveness.heard(self.context.clock.ticks());
        drop(liveness);
        if probe && self.is_acknowledged_in_vain() {
            return self.evict();
        }
        if id.filter(|_| !probe).is_some_and(|id| self.outbox.acked(id, ack.is_success())) {
            self.give_up();
        }
    }

    /// With the recorded habits a probe's acknowledgement may come to nothing, if it was the last one to be waited for.
    fn is_acknowledged_in_vain(&self) -> bool {
        let Some(oddities) = &self.context.oddities else { return false };
        let mut others_are_probed = false;
        self.context.connections.for_each(|other| {
            others_are_probed |= matches!(*other.lock_liveness(), Liveness::Probed { .. });
        });
        !others_are_probed && oddities.probe_in_vain()
    }

    /// Closes a connection whose pushes were never acknowledged.
    pub(crate) fn give_up(&self) {
        self.context.counters.unacknowledged_closed.add();
        tracing::warn!(conn.id = %self.id, "pushes are not acknowledged, closing the connection");
        self.close.cancel();
    }

    fn lock_liveness(&self) -> MutexGuard<'_, Liveness> {
        self.liveness.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // === operator calls ===

    /// Asks the client to move, to `target` if that is an address; false if there is no stream to ask by.
    pub(crate) fn reset(&self, target: Option<&str>) -> bool {
        let target = target.and_then(split_address);
        let request = ConnectResetRequest {
            request_id: self.context.next_request_id().to_string(),
            connection_id: target.map(|_| self.id.to_string()),
            server_ip: target.map(|(ip, _)| ip.to_owned()),
            server_port: target.map(|(_, port)| port.to_owned()),
        };
        let sent = self.outbox.send(Frame::message(&request, self.outbox.local_ip()));
        if sent {
            self.context.counters.resets.add();
        }
        sent
    }
}

/// Host and port; IPv6 addresses may stand in brackets.
fn split_address(text: &str) -> Option<(&str, &str)> {
    let (host, port) = text.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then_some((host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        assert_eq!(split_address("127.0.0.1:8848"), Some(("127.0.0.1", "8848")));
        assert_eq!(split_address("[::1]:8848"), Some(("::1", "8848")));
        for nothing in ["nope", "", ":8848", "a:b", "a:70000", "a:"] {
            assert_eq!(split_address(nothing), None, "{nothing}");
        }
    }
}
