//! Labels of a request travel on with the calls that are made for it: a tester's request stays on the new version behind the
//! first service, too.
//!
//! Routing looks at headers of the request that is sent, and the requests that an application sends are new ones: what the
//! first caller said is lost there, unless somebody carries it on.
//!
//! ```text
//!   caller ── x-version: v2 ──▶ incoming() ─▶ handler ─▶ outgoing() ─▶ BalanceLayer ── x-version: v2 ──▶ next service
//!                                   └─ task-local, request extension ─▶ ┘
//! ```
//!
//! [`Propagation::headers`] names the headers. Its [incoming](Propagation::incoming) layer goes around an axum application, or
//! any other server that is a tower service; it keeps the values for the handler, and for the body of the answer, which may
//! call others while it is sent. On the way out either the [outgoing](Propagation::outgoing) layer adds them, or the balancer
//! itself, if it was told to [propagate](crate::BalanceLayer::propagating) them. Metadata of gRPC are headers of HTTP/2, so that the
//! same layers serve both.
//!
//! # Examples
//!
//! ```no_run
//! # async fn example(discovery: nacos_discovery::Discovery) -> Result<(), Box<dyn std::error::Error>> {
//! # #[cfg(all(feature = "axum", feature = "reqwest"))] {
//! use axum::{Router, routing::get};
//! use nacos_discovery::BalanceLayer;
//! use nacos_discovery::adapters::reqwest::ReqwestBalanced;
//! use nacos_discovery::propagate::Propagation;
//!
//! let labels = Propagation::headers(["x-version", "x-tenant"])?;
//! let web = ReqwestBalanced::new(reqwest::Client::new(), &BalanceLayer::new(&discovery).propagating(&labels));
//! let call = move || async move { web.get("lb://stock-service/items").send().await.map(|_| ()).map_err(|e| e.status()) };
//! let app = Router::new().route("/orders", get(call)).layer(labels.incoming());
//! discovery.serve(app).run().await?;
//! # }
//! # Ok(()) }
//! ```
//!
//! # What to know
//!
//! * **The order counts.** Headers that are added below the balancer come too late to be routed by.
//! * **Other tasks** know nothing of the request: what is spawned takes the headers along by
//!   `tokio::spawn(Propagated::current().scope(work))`.
//! * **Trust.** What a caller may say to the first application, it says to all behind it. An application at the border strips such
//!   headers from what comes from outside, in a layer around `incoming()`.
//! * **Redirects** that a client below the balancer follows take the headers along, to whatever host they lead:
//!   `reqwest::redirect::Policy::none()` where that may be a stranger.
//! * **Limits.** A header is passed on as it came or not at all: one with a value above 256 bytes
//!   ([`Propagation::with_max_bytes`]), or with anything but visible ASCII, spaces and tabs, is left out and counted.

mod body;
mod current;
mod error;
mod future;
mod incoming;
mod outgoing;
mod propagated;
mod propagation;
mod reserved;

#[cfg(test)]
mod tests;

pub use body::ScopedBody;
pub use error::PropagationError;
pub use future::{IncomingFuture, Scoped};
pub use incoming::{Incoming, IncomingLayer};
pub use outgoing::{Outgoing, OutgoingLayer};
pub use propagated::Propagated;
pub use propagation::Propagation;
