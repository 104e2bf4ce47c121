//! The gRPC implementation of [`NamingTransport`].

use std::{fmt, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};

use super::{
    connection::Context,
    driver::{SIGNALS, Supervisor},
    settings::GrpcSettings,
};
use crate::{
    log_limit::LogLimit,
    servers::{Connector, SystemResolver, TcpConnector},
    transport::{
        EventHandler, NamingTransport, Phase, StartError, StatusWriter, StreamCounters, Tasks, TransportCounts,
        TransportStatus,
    },
};

/// Keeps one client connected over gRPC.
pub(crate) struct GrpcTransport {
    settings: Arc<GrpcSettings>,
    connector: Arc<dyn Connector>,
    counters: Arc<StreamCounters>,
    status: watch::Sender<TransportStatus>,
    /// The supervisor, which waits for everything else.
    tasks: Tasks,
}

impl GrpcTransport {
    /// A transport over TCP. No I/O happens before the start.
    pub(crate) fn new(settings: GrpcSettings) -> Self {
        Self::with_connector(settings, Arc::new(TcpConnector::new(Arc::new(SystemResolver))))
    }

    /// A transport over whatever `connector` connects to.
    pub(crate) fn with_connector(settings: GrpcSettings, connector: Arc<dyn Connector>) -> Self {
        Self {
            settings: Arc::new(settings),
            connector,
            counters: Arc::default(),
            status: watch::Sender::new(TransportStatus::idle()),
            tasks: Tasks::new(),
        }
    }
}

impl NamingTransport for GrpcTransport {
    fn start(&self, handler: Arc<dyn EventHandler>) -> Result<(), StartError> {
        self.tasks.begin(|_| {
            let (signals, inbox) = mpsc::channel(SIGNALS);
            let context = Context {
                settings: Arc::clone(&self.settings),
                connector: Arc::clone(&self.connector),
                handler,
                signals,
                counters: Arc::clone(&self.counters),
                oversized_log: LogLimit::default(),
            };
            let status = StatusWriter(self.status.clone());
            Supervisor::new(Arc::new(context), inbox, status, self.tasks.stop().clone()).run()
        })
    }

    fn status(&self) -> watch::Receiver<TransportStatus> {
        self.status.subscribe()
    }

    fn counts(&self) -> TransportCounts {
        self.counters.counts()
    }

    fn close(&self, deadline: Duration) -> BoxFuture<'static, bool> {
        self.tasks.end(deadline).unwrap_or_else(|| {
            self.status.send_modify(|status| status.phase = Phase::Closed);
            Box::pin(async { true })
        })
    }
}

impl fmt::Debug for GrpcTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrpcTransport").field("servers", &self.settings.servers).finish_non_exhaustive()
    }
}
