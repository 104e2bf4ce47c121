//! Which service a request is for.

mod addressing;
mod destination;
mod form;
mod service_ref;

#[cfg(test)]
mod tests;

pub(super) use addressing::Addressing;
pub(super) use destination::{Destination, Named, bare_host};
pub(super) use form::Form;
pub use service_ref::ServiceRef;
