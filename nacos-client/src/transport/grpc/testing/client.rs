//! A transport under test, with everything it reports.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::sync::mpsc;

use super::{Peer, Script, ScriptedServer};
use crate::{
    auth::Auth,
    model::{Instance, ServiceKey},
    servers::ServerList,
    transport::{
        Call, Epoch, Event, EventHandler, Handover, LinkError, NamingTransport, Session,
        grpc::{GrpcSettings, GrpcTransport, Timings},
    },
};

/// Settings for the given servers, with the default times.
pub(in crate::transport::grpc) fn settings(servers: &[&str]) -> GrpcSettings {
    GrpcSettings {
        auth: Auth::default(),
        servers: ServerList::parse(servers, 1000).unwrap(),
        namespace: Arc::from("prod"),
        app_name: Arc::from("shop"),
        labels: BTreeMap::from([("zone".to_owned(), "a".to_owned())]),
        max_message_size: nacos_proto::MAX_MESSAGE_SIZE,
        timings: Timings::default(),
        tentative: false,
        seed: Some(1),
    }
}

struct Sink(mpsc::UnboundedSender<Event>);

impl EventHandler for Sink {
    fn handle(&self, event: Event) {
        // A test that is over listens no more.
        let _ = self.0.send(event);
    }
}

/// A started transport and what it tells.
pub(in crate::transport::grpc) struct Client {
    pub(in crate::transport::grpc) transport: GrpcTransport,
    pub(in crate::transport::grpc) events: mpsc::UnboundedReceiver<Event>,
    peers: mpsc::UnboundedReceiver<Peer>,
}

impl Client {
    /// Starts a client of two scripted servers.
    pub(in crate::transport::grpc) fn start(script: Script) -> Self {
        Self::start_with(settings(&["one", "two"]), script)
    }

    pub(in crate::transport::grpc) fn start_with(settings: GrpcSettings, script: Script) -> Self {
        let (server, peers) = ScriptedServer::new(script);
        let transport = GrpcTransport::with_connector(settings, Arc::new(server));
        Self::over(transport, peers)
    }

    /// Starts a client whose connections the test does not look at.
    pub(in crate::transport::grpc) fn over(transport: GrpcTransport, peers: mpsc::UnboundedReceiver<Peer>) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        transport.start(Arc::new(Sink(sender))).unwrap();
        Self { transport, events, peers }
    }

    /// The server's view of the next connection.
    pub(in crate::transport::grpc) async fn peer(&mut self) -> Peer {
        self.peers.recv().await.expect("the transport runs")
    }

    pub(in crate::transport::grpc) async fn event(&mut self) -> Event {
        tokio::time::timeout(Duration::from_secs(60), self.events.recv())
            .await
            .expect("an event within a minute")
            .expect("the transport runs")
    }

    pub(in crate::transport::grpc) async fn connected(&mut self) -> (Arc<dyn Session>, Option<Handover>) {
        match self.event().await {
            Event::Connected { session, handover } => (session, handover),
            other => panic!("{other:?}"),
        }
    }

    /// The next connection from both sides, after its set-up.
    pub(in crate::transport::grpc) async fn connection(&mut self) -> (Arc<dyn Session>, Peer) {
        let mut peer = self.peer().await;
        let (session, _) = self.connected().await;
        assert_eq!(peer.received().await.kind(), "ConnectionSetupRequest");
        (session, peer)
    }

    pub(in crate::transport::grpc) async fn disconnected(&mut self) -> (Epoch, LinkError) {
        match self.event().await {
            Event::Disconnected { epoch, cause } => (epoch, cause),
            other => panic!("{other:?}"),
        }
    }
}

pub(in crate::transport::grpc) fn key() -> ServiceKey {
    ServiceKey::new("G", "orders")
}

pub(in crate::transport::grpc) fn register() -> Call {
    Call::Register { key: key(), instance: Arc::new(Instance::new(("10.0.0.9", 8080))) }
}
