//! The life of this process in the registry: registered once it listens, changed while it runs, deregistered before it stops.
//!
//! ```text
//!   Registrar ── register(bound) ──▶ Registered ── update, set_status ──▶ Keeper, the task that owns the registration
//!                                        │                                  │ publishes what it wants and how far it is
//!                                        └── shutdown: the steps in order   ▼
//!                                                              RegistrationWatch, Readiness
//! ```

// Public API.
mod error;
mod readiness;
mod registered;
mod registrar;
mod registration;
mod shutdown;
mod state;
mod status;
mod toggle;
mod watch;

// Needed by the implementation.
mod edits;
mod keeper;
mod record;
mod records;

pub use error::RegisterError;
pub use readiness::{Readiness, ReadinessState};
pub use registered::Registered;
pub use registrar::Registrar;
pub use registration::Registration;
pub use shutdown::{InFlight, ShutdownLimits, ShutdownPlan, ShutdownReport, Step, StepOutcome, StepReport, Traffic};
pub use state::{Off, RegistrationState};
pub use status::Status;
pub use watch::RegistrationWatch;

pub(crate) use record::Record;
pub(crate) use records::Records;
