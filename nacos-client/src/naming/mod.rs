//! Registration and discovery: what the application sees of a registry.

mod alias;
pub(crate) mod select;
