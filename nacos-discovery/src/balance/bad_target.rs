use nacos_client::ServiceKey;

/// What is wrong with where a request goes to. URIs in it are without user info and query, which may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadTarget {
    /// Nothing says which service is meant.
    #[error("the URI `{uri}` names no service: write `lb://service/path`, or bind the layer to one service")]
    NoService {
        /// The URI.
        uri: String,
    },
    /// The name of a service with user info before it.
    #[error(
        "the URI `{uri}` has user info before the name of the service: credentials go into a header, and another group is \
         named by a `ServiceKey` among the request's extensions"
    )]
    UserInfo {
        /// The URI.
        uri: String,
    },
    /// A scheme that cannot be spoken with an instance: neither `lb`, nor `http`, `https`, `ws` or `wss`.
    #[error("`{scheme}` cannot be spoken with an instance: write `lb://service/path`")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// `CONNECT` to a service: it asks for a tunnel to one address.
    #[error("`CONNECT` asks for a tunnel to one address, not to a service: name host and port of an instance")]
    Connect,
    /// It asks for TLS, and no instance that can take requests has it.
    #[error(
        "a request for TLS, and no instance of {service} has it: register instances with `secure`, ask by `lb://`, or allow \
         the downgrade"
    )]
    NotSecure {
        /// The service.
        service: ServiceKey,
    },
}
