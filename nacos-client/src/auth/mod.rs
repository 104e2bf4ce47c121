//! Logging in with user and password, and keeping a token that servers take.
//!
//! ```text
//! calls ── pass, renewed ─▶ Auth ◀── standing ── Driver (one task) ─▶ Logins: each server once, by the path that it has
//!                            │                    │
//!                            └──── machine ───────┘   pure: when to log in, and who waits for it
//! ```
//!
//! Nothing begins before the first use, and nothing waits but the calls that need a token. A call that is denied with a token leads to
//! one login, however many are denied at once, and is made once more. A token that can still be used stays in use while
//! another one is being asked for.

mod client;
mod credentials;
mod driver;
mod error;
mod logins;
mod machine;
mod source;
mod standing;
mod status;
mod token;

pub use credentials::Credentials;
pub use error::LoginError;
pub use status::LoginStatus;

pub(crate) use client::{Auth, LoginWatch};
pub(crate) use source::CredentialsSource;
pub(crate) use token::{Scheme, Token};

#[cfg(test)]
mod tests;
