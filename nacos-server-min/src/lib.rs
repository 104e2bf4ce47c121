//! A compact Nacos-compatible registry server.
