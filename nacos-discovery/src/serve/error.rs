use std::io;
use std::net::SocketAddr;

use crate::RegisterError;

/// Why an application is not served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Bind {
        /// The address: `server.address` and `server.port`, unless the code names another.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The listener that was handed over cannot be used.
    #[error("the listener cannot be used")]
    Listener(#[source] io::Error),
    /// The signals that end the process cannot be listened to.
    #[error("cannot listen to signals")]
    Signal(#[source] io::Error),
    /// The path of the operations cannot be used.
    #[error(
        "invalid path {0:?} of the operations: it begins with / and has letters, digits, -, _, . and single / only"
    )]
    OperationsPath(String),
    /// It is not registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
}
