use std::time::Duration;

/// Why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The servers do not take this user with this password. The client asks for other credentials every second if they come from a
    /// callback, and tries the same ones again after 1, 2, 4 … 30 s.
    #[error("the login of {username:?} is refused (status {status}): {message}; check username and password")]
    Refused {
        /// Who wanted to log in.
        username: String,
        /// The HTTP status. Some servers answer 500 to a wrong password, and some 0, which is none.
        status: u16,
        /// The server's text. Not to be compared.
        message: String,
    },
    /// No server answered the login as Nacos does. The client goes on trying.
    #[error(
        "no server takes a login: {reason}; logins go over HTTP, usually to port 8848, also where all else goes over gRPC"
    )]
    Unreachable {
        /// What happened with each.
        reason: String,
    },
    /// The callback gave no credentials. The client asks it again.
    #[error("there are no credentials to log in with: {reason}")]
    Credentials {
        /// What it said.
        reason: String,
    },
    /// No login has ended in time: the servers or the callback take long. The client goes on trying.
    #[error("no login has ended within {waited:?}")]
    Unfinished {
        /// How long the end of one was waited for.
        waited: Duration,
    },
    /// The client is shut down.
    #[error("the client is shut down")]
    Closed,
}

impl LoginError {
    /// Whether waiting can help without anybody doing anything.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Credentials { .. } | Self::Unfinished { .. })
    }
}
