//! Placeholder entry point; see `quickstart`.
fn main() {}
