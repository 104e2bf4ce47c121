//! The server as its peers meet it: raw bytes over real sockets.

mod support;

mod beats;
mod detection;
mod faults;
mod hostile;
mod http;
mod http_modern;
mod http_threads;
mod http_transport;
mod http_v1;
mod life;
mod nacos25;
mod order;
mod probes;
mod pushes;
mod records;
mod setup;
mod thin_path;
mod udp;
