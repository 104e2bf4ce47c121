use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;

use super::Net;
use crate::{
    auth::Auth,
    config::UdpPush,
    model::{Instance, ServiceKey},
    servers::{ContextPath, ServerList},
    transport::{
        Call, CallError, Epoch, Event, EventHandler, LinkError, NamingTransport, Reply, Session,
        http::{HttpLimits, HttpSettings, HttpTransport},
    },
};

/// Settings for the given servers, with the default times.
pub(in crate::transport::http) fn settings(servers: &[&str]) -> HttpSettings {
    let mut quiet = UdpPush::DEFAULT;
    quiet.enabled = false;
    HttpSettings {
        auth: Auth::default(),
        servers: ServerList::parse(servers, 1000).unwrap(),
        context_path: ContextPath::default(),
        namespace: Arc::from("prod"),
        app_name: Arc::from("shop"),
        push: quiet,
        limits: HttpLimits::default(),
        max_message_size: nacos_proto::MAX_MESSAGE_SIZE,
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
pub(in crate::transport::http) struct Client {
    pub(in crate::transport::http) transport: HttpTransport,
    events: mpsc::UnboundedReceiver<Event>,
}

impl Client {
    /// Starts a client of the server `one`.
    pub(in crate::transport::http) fn start(net: &Net) -> Self {
        Self::start_with(settings(&["one"]), net)
    }

    pub(in crate::transport::http) fn start_with(settings: HttpSettings, net: &Net) -> Self {
        Self::over(HttpTransport::with_connector(settings, Arc::new(net.clone())))
    }

    pub(in crate::transport::http) fn over(transport: HttpTransport) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        transport.start(Arc::new(Sink(sender))).unwrap();
        Self { transport, events }
    }

    pub(in crate::transport::http) async fn event(&mut self) -> Event {
        tokio::time::timeout(Duration::from_secs(60), self.events.recv())
            .await
            .expect("an event within a minute")
            .expect("the transport runs")
    }

    /// Whether nothing was told.
    pub(in crate::transport::http) fn is_quiet(&mut self) -> bool {
        self.events.try_recv().is_err()
    }

    pub(in crate::transport::http) async fn connected(&mut self) -> Arc<dyn Session> {
        match self.event().await {
            Event::Connected { session, .. } => session,
            other => panic!("{other:?}"),
        }
    }

    pub(in crate::transport::http) async fn disconnected(&mut self) -> (Epoch, LinkError) {
        match self.event().await {
            Event::Disconnected { epoch, cause } => (epoch, cause),
            other => panic!("{other:?}"),
        }
    }
}

pub(in crate::transport::http) fn key() -> ServiceKey {
    ServiceKey::new("G", "orders")
}

pub(in crate::transport::http) fn instance(port: u16) -> Arc<Instance> {
    Arc::new(Instance::new(("10.0.0.9", port)).weight(2.5).metadata("json", r#"{"a":1}"#).cluster("c1"))
}

/// Registers an instance at `port`.
pub(in crate::transport::http) async fn register(session: &Arc<dyn Session>, port: u16) -> Result<Reply, CallError> {
    session.call(Call::Register { key: key(), instance: instance(port) }).await
}
