//! The server as its peers meet it: raw bytes over real sockets, and the program itself.

mod support;

mod binary;
mod detection;
mod faults;
mod hostile;
mod http;
mod life;
mod nacos25;
mod order;
mod pushes;
mod records;
mod setup;
mod thin_path;
