//! A ready HTTP client on [hyper-util](hyper_util), for those who work with plain `http` types.
//!
//! [`Discovery::http`](crate::Discovery::http) is the whole stack, with repetitions; [`HyperSettings`] makes the client alone, to go below
//! [`crate::BalanceLayer`] in a stack of one's own.
//!
//! # What to know
//!
//! * **Protocol.** Without TLS nothing tells which protocol a server speaks: HTTP/1.1 is the default, and
//!   [`HyperSettings::with_http2`] makes every request HTTP/2, as gRPC servers expect it. Several requests then share one
//!   connection per instance.
//! * **Idle connections** are closed after 15 s, also those to instances that have left. Servers that close them earlier may do
//!   so at the moment when a request leaves; what such a connection did not take is sent again by hyper-util itself.
//! * **TLS.** The connector speaks none, and a request to an instance that says `secure=true` fails. Wrap
//!   [`HyperSettings::connector`] in one that does, such as that of `hyper-rustls`, and give it to [`HyperSettings::build_on`].
//!   Certificates have to be valid for the address of the instance, as it is what the URI names.
//! * **Time limits** of whole requests are nobody's here: a tower layer or `tokio::time::timeout` around the call sets them, and
//!   dropping the future is the caller giving up.

mod balanced;
mod settings;

pub use balanced::HyperBalanced;
pub use settings::{HyperClient, HyperSettings};
