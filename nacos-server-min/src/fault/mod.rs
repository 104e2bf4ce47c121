//! Faults on demand, so that tests of clients can see how these behave when a server is slow, deaf, forgetful or wrong.
//!
//! All of it is off until asked for, and costs one atomic load per request while it is off.

mod answers;
mod gate;
mod handle;
mod state;

pub use answers::AnswerFault;
pub use gate::Direction;
pub use handle::Fault;

pub(crate) use answers::Injected;
pub(crate) use gate::{Gate, GatedIo};
pub(crate) use state::{FaultState, PushMode};
