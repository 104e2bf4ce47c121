//! What a transport tells naming.

use std::{net::SocketAddr, sync::Arc};

use nacos_proto::grpc::ServiceInfo;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Epoch, LinkError, Session};

/// Something happened to a connection.
#[derive(Debug)]
pub(crate) enum Event {
    /// A connection finished its set-up. The server knows nothing of this client on it.
    Connected {
        /// The new connection.
        session: Arc<dyn Session>,
        /// Present when the server asked the client to move: the old connection still serves until this is dropped.
        handover: Option<Handover>,
    },
    /// The server pushed the full list of a service. It is acknowledged when the handler returns.
    Push {
        /// The connection it came by.
        epoch: Epoch,
        /// The way it came.
        origin: Origin,
        /// The list.
        info: ServiceInfo,
    },
    /// A connection ended: every record and subscription the server kept for it is gone or will be.
    Disconnected {
        /// The connection that ended.
        epoch: Epoch,
        /// Why.
        cause: LinkError,
    },
}

/// The way a push came: what it says about the order of pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The stream of its connection, which keeps the order of one server.
    Stream,
    /// A datagram of the server at this address: it may be late, repeated or overtaken, and other servers may send too.
    Datagram(SocketAddr),
}

/// Receives the events of a transport.
///
/// It is called on the transport's own tasks, one event of an epoch at a time; events of two epochs may overlap during a handover.
/// It must be quick: no blocking, no user code. The transport holds the handler until it is closed or dropped,
/// so a handler must not hold the transport strongly.
pub(crate) trait EventHandler: Send + Sync + 'static {
    /// Takes one event.
    fn handle(&self, event: Event);

    /// Every list that is known, for servers that ask what a client knows.
    fn known_lists(&self) -> Vec<ServiceInfo> {
        Vec::new()
    }
}

/// The right to keep the previous connection for a moment while the new one is filled.
///
/// Dropping it closes the old connection; so does the transport itself after 5 s.
#[derive(Debug)]
#[must_use = "dropping the handover closes the old connection"]
pub(crate) struct Handover {
    old: Epoch,
    _release: DropGuard,
}

impl Handover {
    /// A handover of the connection `old`; `release` is cancelled when it is dropped.
    pub(crate) fn new(old: Epoch, release: CancellationToken) -> Self {
        Self { old, _release: release.drop_guard() }
    }

    /// The same handover, its connection known by another number.
    pub(crate) fn renumbered(self, old: Epoch) -> Self {
        Self { old, ..self }
    }

    /// The connection that still serves.
    pub(crate) fn old_epoch(&self) -> Epoch {
        self.old
    }
}
