//! Balancing for [reqwest], in two forms.
//!
//! * [`ReqwestBalanced`], made by [`Discovery::reqwest`](crate::Discovery::reqwest), is used like a [`::reqwest::Client`]:
//!   `web.get("lb://order-service/v1").send()`. Its requests are reqwest's own, so that headers, bodies, JSON and time limits are
//!   what they always are, and so are its responses.
//! * [`ReqwestService`] is a tower service over a [`::reqwest::Client`], for stacks that one builds oneself:
//!   `ServiceBuilder::new().layer(BalanceLayer::new(&discovery)).service(ReqwestService::new(client))`.
//!
//! # What to know
//!
//! * **Names.** The URLs of reqwest write host names of `http:` and `https:` in small letters, those of `lb:` as they are. Names in
//!   Nacos are case-sensitive: `lb://` is the form for names with capitals. Names that fit in no URL, and services of other groups, go
//!   by [`BalancedRequest::service`].
//! * **Repetitions.** [`ReqwestBalanced`] repeats failed calls by the [`crate::RetrySettings`] of their service; for a
//!   [`ReqwestService`] put a [`crate::RetryNextLayer`] above the balancer.
//! * **Time limits** are the client's and the request's, and count for each attempt, from the connection to the end of the body.
//! * **Redirects** are followed by reqwest below the balancer: a `Location` without a host leads to the instance that sent it, one
//!   that names a service by its name leads nowhere. `::reqwest::redirect::Policy::none()` hands them to the caller instead.
//! * **Cookies**, if the client keeps any, belong to the address of an instance, not to a service.
//! * **Retries** of reqwest itself (`ClientBuilder::retry`) see addresses of instances and stay with the one that was chosen. What
//!   reqwest does by default, to send a request again that a peer provably has not begun, does no harm.
//! * **TLS.** An instance that says `secure=true` is called by `https`. Whether the client can do so is decided by the features of
//!   the application's own dependency on reqwest, such as `rustls`, or `rustls-no-provider` with a provider it installs itself;
//!   this crate turns none on. Certificates have to be valid for the address of the instance, as it is what the URL names.
//! * **Dropping** a response, or its future, before its end is the caller giving up: it says nothing about the instance.

mod balanced;
mod body;
mod convert;
mod future;
mod request;
mod service;

pub use balanced::ReqwestBalanced;
pub(in crate::adapters) use body::set_aside;
pub(in crate::adapters) use convert::{to_http, to_reqwest};
pub use future::ReqwestFuture;
pub use request::BalancedRequest;
pub use service::ReqwestService;
