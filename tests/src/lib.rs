//! Support code of the end-to-end tests: recorded conversations, a gRPC client that can also misbehave, an HTTP client that
//! sends what it is told, and the comparison of answers with recorded ones.

pub mod compare;
pub mod http;
pub mod raw;
pub mod vectors;
pub mod wait;

/// The code in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
