//! Support code of the end-to-end tests: recorded conversations, a gRPC client that can also misbehave, an HTTP client that
//! sends what it is told, the comparison of answers with recorded ones, the lines of the interoperability drivers, and the
//! documents of the repository.

pub mod compare;
pub mod documents;
pub mod http;
pub mod line_protocol;
#[cfg(doctest)]
pub mod pages;
pub mod raw;
pub mod vectors;
pub mod wait;
