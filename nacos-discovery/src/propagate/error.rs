use http::HeaderName;

/// A header that cannot be passed on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PropagationError {
    /// It is no name of a header.
    #[error("`{name}` is no name of a header")]
    Name {
        /// What was given.
        name: String,
    },
    /// It is about one connection, or about who is asked on it.
    #[error("`{name}` belongs to one connection, and must not be passed on to another")]
    Connection {
        /// The header.
        name: HeaderName,
    },
    /// It describes one message: its body, or the answer that is wanted.
    #[error("`{name}` describes one message, and would be wrong of another")]
    Message {
        /// The header.
        name: HeaderName,
    },
    /// It proves who the caller is, and whoever gets it can act as the caller.
    #[error("`{name}` holds credentials, which are passed on only if they are named as such, by `with_credentials`")]
    Credentials {
        /// The header.
        name: HeaderName,
    },
}
