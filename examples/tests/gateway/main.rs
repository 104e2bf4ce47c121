//! The gateway of the examples between callers and instances, over real sockets.

mod bytes;
mod failing;
mod streams;
mod support;
mod tunnels;
