//! Balancing for the stubs of [tonic].
//!
//! [`TonicBalanced`], made by [`Discovery::tonic`](crate::Discovery::tonic), is what a stub goes over in the place of a channel:
//! `OrdersClient::new(discovery.tonic("order-service"))`. Each call is for itself: one instance is picked for it by weights, routes, hash
//! key and ejection, and a stream stays with its instance to its end.
//!
//! For those who must have a [`Channel`](::tonic::transport::Channel) there is [`ChannelFeed`], made by
//! [`Discovery::balance_channel`](crate::Discovery::balance_channel), which only says who is there.
//!
//! # What to know
//!
//! * **Ports.** gRPC is often served beside HTTP, on another port, which starters for Spring register in the metadata as `gRPC_port`.
//!   [`Discovery::tonic`](crate::Discovery::tonic) calls that port, and the registered one of instances without such an entry. So its
//!   directory is one of its own, [`Discovery::grpc_directory`](crate::Discovery::grpc_directory), with its own ejections and routes.
//!   [`TonicBalanced::new`] takes any other, whose [`Ports`](crate::Ports) say otherwise.
//! * **Options** of single calls are extensions of the [`tonic::Request`]: a [`crate::HashKey`], [`crate::Idempotent`],
//!   [`crate::route::RequestTags`]; metadata are headers. The response has a [`crate::ServedBy`] among its extensions.
//! * **Deadlines.** What [`Request::set_timeout`](::tonic::Request::set_timeout) says holds for the whole call: for the wait for instances, for
//!   all attempts, and for a stream to its end. An attempt tells its instance what is left of it. When it has passed the call ends with
//!   `DEADLINE_EXCEEDED`, and if no head of an answer was there, that counts against the instance. A call without a deadline has none.
//! * **Repetitions.** All calls of gRPC are `POST`. By default they go to another instance only if no connection came about; then a
//!   stream of messages that was not begun goes along, too. [`RetrySettings`](crate::RetrySettings) can say that a service's calls may be
//!   repeated after `UNAVAILABLE` ([`with_grpc_unavailable`](crate::RetrySettings::with_grpc_unavailable)), or after any failure
//!   ([`all_methods`](crate::RetrySettings::all_methods)), and [`crate::Idempotent`] says it of one call. What is sent of a message is kept for
//!   that up to [`with_body_limit`](crate::RetrySettings::with_body_limit).
//! * **Statuses.** An instance that answers with a status is judged by it, in header or trailers: `UNKNOWN`, `DEADLINE_EXCEEDED`, `INTERNAL`,
//!   `UNAVAILABLE` and `DATA_LOSS` are failures, `RESOURCE_EXHAUSTED` is overload, and every other one is a good answer.
//!   What the balancer itself has to say is a status, too: `UNAVAILABLE` if nobody can be called or no connection came about, with the
//!   reason as its message. Its [`source`](std::error::Error::source) is the [`crate::BalanceError`].
//! * **Connections.** One HTTP/2 connection for each instance carries all its calls. Clones share connections; two services made by
//!   [`Discovery::tonic`](crate::Discovery::tonic) share none. One without a new call for 15 s is closed once its streams have ended.
//! * **TLS.** The connector speaks none, and an instance that says `secure=true` cannot be called without one:
//!   [`HyperSettings::build_on`](crate::adapters::hyper::HyperSettings::build_on) takes one that does, such as that of `hyper-rustls` with `h2`
//!   among its protocols, and [`Discovery::tonic_with`](crate::Discovery::tonic_with) the client that it makes. Certificates have to be valid
//!   for the address of the instance, unless the connector is told another name.
//! * **Dropping** a call or a stream resets the stream on the connection, and says nothing of the instance.

mod backlog;
mod balanced;
mod body;
mod channel_feed;
mod deadline;
mod future;
mod status;
mod timeout;

pub use balanced::TonicBalanced;
pub use body::TonicBody;
pub use channel_feed::ChannelFeed;
pub use future::TonicFuture;
pub use timeout::{GrpcTimeout, GrpcTimeoutFuture};
