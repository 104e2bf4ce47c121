//! The HTTP protocol of all servers, and the only one of 1.x.
//!
//! ```text
//! HttpTransport ── start ─▶ Supervisor (one task) ── Begin ─▶ HttpSession ── calls ──┐
//!                            │ life: pure machine      └────▶ Beats (one task) ──────┤
//!                            │                                BeatReactor: schedule  ▼
//!                            └── looks for a server ────────────────────────▶ Servers: a round, each server once
//!                            ◀────────────── Pulse: who answered, since when nobody ─┘
//! ```
//!
//! HTTP has no connection whose end could mean anything. So an epoch is a span in which some server answers, whichever it is; it ends when none has answered for a while, and everything
//! is registered again in the next one. A server that fails within an epoch is replaced by the next one, silently.

mod beat_reactor;
mod beats;
mod counters;
mod driver;
mod life;
mod pulse;
mod push_receiver;
mod query;
mod requests;
mod round;
mod server;
mod session;
mod settings;
mod transport;
mod verdict;
mod wire;

pub(crate) use query::Query;
pub(crate) use settings::{HttpLimits, HttpSettings};
pub(crate) use transport::HttpTransport;
#[cfg(feature = "maintain")]
pub(crate) use verdict::said;
pub(crate) use verdict::{said_in_full, shortened};

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
