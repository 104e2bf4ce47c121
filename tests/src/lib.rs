//! Support code of the end-to-end tests: recorded conversations, a gRPC client that can also misbehave, an HTTP client that
//! sends what it is told, the comparison of answers with recorded ones, and the lines of the interoperability drivers.

pub mod compare;
pub mod http;
pub mod line_protocol;
pub mod raw;
pub mod vectors;
pub mod wait;

/// The code in the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
