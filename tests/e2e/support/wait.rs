//! Waiting on conditions, never for times.

pub(crate) use nacos_tests::wait::*;
