//! TCP connections: accepting them, what one of them is to the server, and noticing that one has gone silent.

mod accept;
mod connection;
mod detection;
mod fair_reads;
mod http;
mod http_threads;
mod liveness;
mod setup_gate;
mod stalling;
mod table;
mod tracked;

pub(crate) use accept::{AcceptLoop, Protocol};
pub(crate) use connection::{Connection, Registration, SetUp};
pub(crate) use detection::watch_silent_connections;
pub(crate) use http_threads::HttpThreads;
pub(crate) use table::ConnectionTable;
