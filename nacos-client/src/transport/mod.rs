//! How naming talks to a server, whatever the protocol.
//!
//! A [`NamingTransport`] keeps one connection *epoch* after the other alive and reports them to an [`EventHandler`]:
//!
//! ```text
//! Connected(session 1) ─ Push* ─ Disconnected(1) ─ Connected(session 2) ─ …
//! server asks to move:   Connected(session 2, handover) ─ handover dropped ─ Disconnected(1, Replaced)
//! ```
//!
//! Promises of every implementation
//!
//! * Events of one epoch come in order: `Connected`, then its pushes in the order of their arrival, then exactly one `Disconnected`; nothing of that epoch follows. Epochs grow.
//!   While a [`Handover`] is held, pushes of the old and the new epoch interleave.
//! * [`Session::call`] always resolves: with an answer, or with [`CallError::Link`] when the epoch ends. A call without answer for the call limit (10 s) ends the epoch itself,
//!   so the caller needs no timer and must not cancel a mutating call.
//! * Over HTTP an epoch is a span in which some server answers. With both protocols an [`AutoTransport`] numbers the epochs of both as one sequence.
//! * A code that means "this connection is no longer known" ends the epoch and is reported as [`CallError::Link`].

mod auto;
mod backoff;
mod call;
mod call_error;
mod counters;
mod event;
mod link_error;
mod naming_transport;
mod session;
mod status;
mod tasks;

pub(crate) mod grpc;
pub(crate) mod http;

pub(crate) use auto::{AutoTransport, Protocols};
pub(crate) use call::{Call, Reply};
pub(crate) use call_error::{CallClass, CallError, Refusal, RefusalShape};
pub(crate) use counters::{StreamCounters, TransportCounts};
pub(crate) use event::{Event, EventHandler, Handover, Origin};
pub(crate) use link_error::{LinkError, LinkFault};
pub(crate) use naming_transport::{NamingTransport, StartError};
pub(crate) use session::{Abilities, Dialect, Epoch, Freshness, Session, SessionInfo};
pub(crate) use status::{Phase, StatusWriter, TransportStatus};
pub(crate) use tasks::Tasks;
