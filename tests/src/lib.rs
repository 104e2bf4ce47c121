//! Support code of the end-to-end tests.
