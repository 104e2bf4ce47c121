//! Balancing as a middleware of [reqwest-middleware](::reqwest_middleware), for clients that have others, too.
//!
//! [`BalanceMiddleware`], made by [`Discovery::reqwest_middleware`](crate::Discovery::reqwest_middleware), is the whole stack in one
//! middleware: it picks an instance, tells how the call ended, and repeats what may be repeated. Who has no other middleware finds the
//! same in [`adapters::reqwest`](crate::adapters::reqwest), with errors that are [`crate::BalanceError`] alone.
//!
//! # What to know
//!
//! What [`adapters::reqwest`](crate::adapters::reqwest) says of names, redirects, time limits, TLS and dropped responses holds here, too.
//!
//! * **Order.** Middlewares that were added before this one see the name of the service, and one request and one response of each call.
//!   Those after it see the address of the instance, and each attempt: tracing belongs before it for one span a call, after it for one
//!   an attempt, and into both places for both.
//! * **Extensions** that a request was given (`with_extension`) are what [`crate::BalanceLayer`] and [`crate::RetryNextLayer`] read: a
//!   [`nacos_client::ServiceKey`], a [`crate::HashKey`], [`crate::Idempotent`], [`crate::route::RequestTags`], [`crate::Tried`]. Middlewares
//!   after this one find a [`crate::Attempt`] and a [`crate::Tried`] beside them; what the last attempt left there, those two excepted, the
//!   ones before it find afterwards. The response has a [`crate::ServedBy`] among its extensions.
//! * **Repetitions: ours or theirs.** A middleware that repeats calls, such as that of `reqwest-retry`, multiplies the attempts of this one.
//!   After this one it also stays with the instance that was chosen. With it before this one,
//!   [`RetrySettings::off`](crate::RetrySettings::off) leaves the repeating to it, and a [`crate::Tried`] among the request's extensions
//!   sends every attempt to another instance, until there is none left. It repeats by its own rules, which know neither whether anything
//!   was sent nor what the service can bear.
//! * **Bodies** that are a stream are sent once, or kept as they are sent for calls that may be repeated, up to
//!   [`RetrySettings::with_body_limit`](crate::RetrySettings::with_body_limit).
//! * **Errors** of reqwest and of the middlewares after this one come as they are. What the balancer says is
//!   [`Error::Middleware`](::reqwest_middleware::Error::Middleware) with a [`crate::BalanceError`] inside, which
//!   `downcast_ref` finds.

mod error;
mod middleware;
mod rest;

pub use middleware::BalanceMiddleware;
