//! Taking instances that fail out of the choice for a while, and letting new ones in slowly.
//!
//! [`breaker::Breaker`] is what becomes of one instance, a pure state machine; [`Ejector`] holds those of one service together.

mod breaker;
mod ejections;
mod ejector;
mod event;
mod gate;
mod listener;
mod passive_health;
mod pause;
mod rate;
mod seat;
mod slow_start;
#[cfg(test)]
mod tests;

pub(crate) use ejections::EjectionSender;
pub use ejections::Ejections;
pub(crate) use ejector::Ejector;
pub use event::{EjectionCause, EjectionEvent, EjectionKind, EjectionState};
pub use listener::EjectionListener;
pub(crate) use seat::Seat;
pub(crate) use slow_start::Ramp;
