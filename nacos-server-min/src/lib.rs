//! A compact Nacos-compatible registry server, in-process or as a binary.
//!
//! ```no_run
//! # async fn run() -> Result<(), nacos_server_min::StartError> {
//! use nacos_server_min::Server;
//!
//! let server = Server::builder().start().await?; // free ports on 127.0.0.1
//! println!("clients may connect to {}", server.server_addr());
//! server.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! ```text
//!   port         api::http ──┐
//!   port + 1000  api::grpc ──┤──▶ registry ──changes──▶ push ──▶ streams of the subscribed connections
//!   port + 1001  reserved    │        ▲
//!                            └── conn ┘ a connection that ends takes its instances with it
//! ```
//!
//! # Layout
//!
//! * `server`, `builder`, `config` — what users of the crate see: [`Server`], [`Builder`], [`Settings`], [`Behaviour`].
//! * [`fault`] — faults on demand, for tests of clients.
//! * `api` — the gRPC and the HTTP port: reading requests, checking them, writing answers.
//! * `auth` — who is let in, if not everybody.
//! * `conn` — accepting connections, their set-up, and noticing that one has gone silent.
//! * `ops` — what can be asked of the server, in terms of no protocol.
//! * `registry` — what is registered; synchronous, without runtime.
//! * `health` — whether instances without a connection still live.
//! * `push` — who gets which list when; pure state machines and a thin driver.
#![forbid(unsafe_code)]

// What users name.
mod builder;
mod config;
mod counters;
pub mod fault;
mod server;

// What it is made of.
mod api;
mod auth;
mod clock;
mod conn;
mod context;
mod health;
mod instance_id;
mod namespaces;
mod oddity;
mod ops;
mod ports;
mod push;
mod registry;
mod supervision;

pub use builder::{Builder, StartError};
pub use config::{Behaviour, Probes, Settings, SettingsError};
pub use counters::Counters;
pub use server::{ConnectionInfo, Server};
