//! When a subscriber gets which list.
//!
//! ```text
//!   registry ──changed──▶ Outbox of each subscribed connection ── Plan: what is due when (pure)
//!                              │ polled by the connection's stream, when the peer has room for more
//!                              ▼
//!                         NotifySubscriberRequest ──▶ client ──ack──▶ Outbox
//! ```
//!
//! [`Slot`](slot::Slot) is the life of one subscription's pushes, [`Schedule`](schedule::Schedule) all slots of a connection,
//! [`Chains`](chains::Chains) their counterpart with the habits of the recorded server. All three are pure: they are told the
//! time and answer what to do. A list is read when it is sent, so a slow reader costs one slot per service, never a queue of lists.
//! Clients of the 1.x protocol are pushed to by `udp`.

mod chains;
mod delay;
mod frame;
mod outbox;
mod schedule;
mod slot;
mod udp;

pub(crate) use delay::{DelayEngine, Direct};
pub(crate) use frame::{Frame, ListFrames, encode};
pub(crate) use outbox::{Outbox, OutboxContext, Outgoing, StreamId};
pub(crate) use slot::PushTiming;
pub(crate) use udp::{Courier, Family, Polling, UdpTiming};
