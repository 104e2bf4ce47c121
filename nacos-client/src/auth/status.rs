use std::time::Instant;

use super::LoginError;

/// Whether a client is logged in. Has no token and no password.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoginStatus {
    /// No user is set: the client does not log in.
    Off,
    /// The first login has not ended yet, or not begun: it begins with the first use of the client.
    Pending,
    /// There is a token.
    LoggedIn {
        /// Since when there is this token.
        since: Instant,
        /// The path that it was had by, which tells the generation of the server.
        path: &'static str,
    },
    /// The last login failed; the client tries again.
    Failing {
        /// Since when there was no success.
        since: Instant,
        /// How many have failed since then.
        attempts: u32,
        /// Why the last one did.
        error: LoginError,
        /// Whether an older token is still in use.
        has_token: bool,
    },
}
