//! Whether instances that were registered by HTTP still live, which they say by beats.
//!
//! ```text
//!   registration ─┐                                              ┌─ silent for 15 s ─▶ unhealthy
//!   beat ─────────┼─▶ Pulse: when the instance was last heard of ─┤
//!   deregistration┘   (one for each service and address)          └─ silent for 30 s ─▶ removed
//! ```
//!
//! A beat costs one look into a hash table and the writing of a time. Everything else waits for the check, every few seconds,
//! which asks the registry what each instance's metadata allow it. Time is passed in; only `watch` knows a clock.
//!
//! Locks are taken in the order shard of pulses → registry.
//!
//! Persistent instances do not beat; `probe` asks them.

mod beats;
mod grace;
mod probe;
mod pulse;
mod watch;

#[cfg(test)]
mod tests;

pub(crate) use beats::{BeatRules, Beats, By, Heard};
pub(crate) use probe::{PaceRules, probe_instances};
pub(crate) use watch::watch_beats;
