use std::time::Duration;

use http_body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};

/// A client for requests with bodies `B`.
pub type HyperClient<B> = Client<HttpConnector, B>;

/// Long enough for one lost packet to be sent again, which takes a second.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Below the 20 s after which Tomcat closes a connection that idles, the shortest time among the common Java servers.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// What kind of connections a client makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HyperSettings {
    connect_timeout: Duration,
    idle_timeout: Duration,
    idle_per_instance: usize,
    http2: bool,
}

impl Default for HyperSettings {
    fn default() -> Self {
        Self {
            connect_timeout: CONNECT_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            idle_per_instance: usize::MAX,
            http2: false,
        }
    }
}

impl HyperSettings {
    /// How long a connection may take to come about, default 2 s. Then the request fails, of which no byte was sent.
    #[must_use]
    pub const fn with_connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// How long a connection is kept without a request, default 15 s. Shorter than that of the servers.
    #[must_use]
    pub const fn with_idle_timeout(mut self, limit: Duration) -> Self {
        self.idle_timeout = limit;
        self
    }

    /// How many connections without a request are kept for each instance, default any number.
    #[must_use]
    pub const fn with_idle_per_instance(mut self, count: usize) -> Self {
        self.idle_per_instance = count;
        self
    }

    /// HTTP/2 from the first byte, without asking: default is HTTP/1.1.
    #[must_use]
    pub const fn with_http2(mut self) -> Self {
        self.http2 = true;
        self
    }

    pub(super) const fn is_http2(&self) -> bool {
        self.http2
    }

    /// A client without TLS.
    #[must_use]
    pub fn build<B>(&self) -> HyperClient<B>
    where
        B: Body<Data: Send> + Send,
    {
        self.build_on(self.connector())
    }

    /// A client on another connector, such as one that speaks TLS.
    #[must_use]
    pub fn build_on<C, B>(&self, connector: C) -> Client<C, B>
    where
        C: Connect + Clone,
        B: Body<Data: Send> + Send,
    {
        // Without a timer idle connections are closed only when another one is asked for, and those to an instance that has
        // left never.
        Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.idle_timeout)
            .pool_max_idle_per_host(self.idle_per_instance)
            .http2_only(self.http2)
            .build(connector)
    }

    /// The connector without TLS, to be wrapped in one that has it.
    #[must_use]
    pub fn connector(&self) -> HttpConnector {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(self.connect_timeout));
        // A request is written at once and waited for: nothing is won by collecting packets.
        connector.set_nodelay(true);
        connector
    }
}
