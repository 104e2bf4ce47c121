//! The server as its peers meet it: raw bytes over real sockets, and the program itself.

mod support;

mod binary;
mod thin_path;
