//! Why a connection could not be made or ended.

use std::{fmt, io, sync::Arc, time::Duration};

/// The end of a connection, or of an attempt to make one.
#[derive(Debug, Clone)]
pub(crate) struct LinkError {
    /// Address and port really tried, as text; host and port when no address was known yet.
    pub(crate) peer: Arc<str>,
    /// What went wrong.
    pub(crate) fault: LinkFault,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.peer, self.fault)
    }
}

// The fault is shown already, so the chain goes on with what caused it.
impl std::error::Error for LinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.fault)
    }
}

impl LinkFault {
    /// Nobody listens at the address.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Connect(error) if error.kind() == io::ErrorKind::ConnectionRefused)
    }
}

/// What can go wrong with a connection.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum LinkFault {
    /// The host name has no address.
    #[error("the name cannot be resolved")]
    Resolve(#[source] Arc<io::Error>),
    /// The TCP connection was refused or failed.
    #[error("cannot connect")]
    Connect(#[source] Arc<io::Error>),
    /// No TCP and HTTP/2 connection within the limit.
    #[error("no connection within {0:?}")]
    ConnectTimeout(Duration),
    /// The transport broke or the peer closed it.
    #[error("the transport ended")]
    Transport(#[source] Option<Arc<dyn std::error::Error + Send + Sync>>),
    /// The same before the set-up was done: often what listens there is no Nacos server.
    #[error("the transport ended during the set-up (is this the gRPC port of a Nacos server?)")]
    SetupCut(#[source] Option<Arc<dyn std::error::Error + Send + Sync>>),
    /// What answers is no Nacos server, or a proxy in front of one.
    #[error("the peer does not speak the protocol: {0}")]
    Protocol(Arc<str>),
    /// The server refused the set-up; code in the vocabulary of [`nacos_proto::code`].
    #[error("set-up refused with code {code}: {message}")]
    SetupRefused {
        /// The server's code.
        code: i32,
        /// The server's text.
        message: Arc<str>,
    },
    /// A step of the set-up was not answered in time.
    #[error("no answer to {step} within {limit:?}")]
    SetupTimeout {
        /// The step.
        step: &'static str,
        /// Its limit.
        limit: Duration,
    },
    /// The server ended the stream that carries its pushes.
    #[error("the push stream ended")]
    StreamEnded,
    /// A health check failed or was not answered in time.
    #[error("the health check failed")]
    Unhealthy,
    /// A call was not answered within the call limit.
    #[error("a call was not answered within {0:?}")]
    CallTimeout(Duration),
    /// The server no longer knows the connection.
    #[error("the server does not know the connection (code {0})")]
    Unregistered(i32),
    /// The user of the session declared it sick.
    #[error("given up: {0}")]
    GivenUp(&'static str),
    /// A newer connection took over, as the server had asked.
    #[error("replaced by a newer connection")]
    Replaced,
    /// The transport was closed or dropped.
    #[error("closed")]
    Closed,
}

impl LinkFault {
    /// Puts the peer beside the fault.
    pub(crate) fn at(self, peer: &Arc<str>) -> LinkError {
        LinkError { peer: Arc::clone(peer), fault: self }
    }
}
