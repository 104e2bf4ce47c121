//! Whether persistent instances can be reached, which the server finds out for itself: they do not beat, and outlive whoever
//! registered them.
//!
//! ```text
//!   registry: persistent instances ──▶ Plan: whom to ask when (pure) ──▶ Prober ── TCP or HTTP ──▶ instance
//!                     ▲                                                    │
//!                     └────── healthy, after so many answers in a row ─────┘
//! ```
//!
//! Each instance of a service is asked more often the quicker it answers, as real servers do. Whom a registrant makes us
//! connect to is not his to say alone: addresses of this machine and of its link are only asked if the settings allow it, and
//! names are never resolved. Nothing of an answer is kept but its status.

mod http;
mod pace;
mod plan;
mod prober;
mod target;

pub(crate) use pace::PaceRules;
pub(crate) use prober::probe_instances;
