//! Pushes for clients of the 1.x protocol: a datagram to the port they gave when they asked for a list.
//!
//! ```text
//!   GET …/list?udpPort=… ──▶ Subscribers: who is to get what when (pure) ◀── registry: this service changed
//!                                │
//!                            Courier: one socket, one task ──packet──▶ client ──acknowledgement──▶ Courier
//! ```
//!
//! Nobody unsubscribes: who does not ask again is forgotten. A datagram is a hint, never the truth: a client that misses one, or
//! whose list is too large for one, has the change with its next question. So there is one repetition and no more, and memory
//! is bounded by the number of subscribers and of differently filtered lists of a service, each of which is encoded once.

mod agent;
mod courier;
mod packet;
mod state;
mod subscribers;
#[cfg(test)]
mod subscribers_test;

pub(crate) use agent::Family;
pub(crate) use courier::{Courier, Polling};
pub(crate) use subscribers::UdpTiming;
