//! What the tests of this crate share: servers to talk to, a network that fails, waiting, and looking from outside.

pub(crate) mod proxy;
pub(crate) mod wait;

#[cfg(test)]
mod proxy_tests;
