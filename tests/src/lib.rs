//! Support code of the end-to-end tests: recorded conversations, a gRPC client that can also misbehave, and the comparison of
//! answers with recorded ones.

pub mod compare;
pub mod raw;
pub mod vectors;
