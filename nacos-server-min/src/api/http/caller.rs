use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderValue, Request, header};

use crate::context::Context;
use crate::ops::ServiceKey;
use crate::push::Polling;

/// Where a connection comes from; every request of it says so.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

/// Who sent a request.
#[derive(Debug)]
pub(super) struct Caller {
    agent: Option<HeaderValue>,
    ip: Option<IpAddr>,
}

impl Caller {
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let ip = request.extensions().get::<PeerAddress>().map(|PeerAddress(address)| address.ip());
        Self { agent: agent(request.headers()).cloned(), ip }
    }

    fn agent(&self) -> &str {
        self.agent.as_ref().and_then(|agent| agent.to_str().ok()).unwrap_or_default()
    }

    /// Subscribes the caller to pushes by UDP, if it named a port. `ip` is what it says of itself; blank is where it comes from.
    pub(super) fn subscribe(
        &self,
        context: &Context,
        service: &ServiceKey,
        clusters: &str,
        (ip, port): (Option<&str>, Option<i32>),
        app: Option<&str>,
    ) {
        let Some(port) = port.filter(|port| *port != 0) else { return };
        let told = ip.map(str::trim).filter(|ip| !ip.is_empty());
        // Names are not resolved: that would take as long as others like.
        let ip = told.map_or(self.ip, |told| told.trim_matches(['[', ']']).parse().ok());
        let port = u16::try_from(port).ok();
        let Some((ip, port)) = ip.zip(port) else { return context.counters.udp_refused.add() };
        let (service, target) = (service.as_ref(), SocketAddr::new(ip, port));
        let (agent, app) = (self.agent(), app.unwrap_or_default());
        context.udp.polled(context, Polling { service, clusters, target, agent, app });
    }
}

/// What the client calls itself. The second header is what old ones add for servers that do not look at the first.
fn agent(headers: &HeaderMap) -> Option<&HeaderValue> {
    let named = |name: &str| headers.get(name).filter(|value| !value.as_bytes().trim_ascii().is_empty());
    named(header::USER_AGENT.as_str()).or_else(|| named("client-version"))
}
