//! What the tests of this crate share: servers to talk to, a network that fails, waiting, and looking from outside.

pub(crate) mod attacker;
pub(crate) mod client;
pub(crate) mod consumer;
pub(crate) mod forge;
pub(crate) mod logs;
pub(crate) mod operator;
pub(crate) mod pair;
pub(crate) mod proxy;
pub(crate) mod tap;
pub(crate) mod wait;
pub(crate) mod witness;
pub(crate) mod world;

#[cfg(test)]
mod proxy_tests;
