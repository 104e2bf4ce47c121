//! Whether changes come by themselves: a probe of our own is registered, and the list with it waited for.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nacos_client::{Instance, NamingService, Protocol, Select};
use tokio::time::{Instant, timeout};

use super::check::Check;
use crate::{
    failure::{Failure, described},
    registry::{Registry, leave},
};

/// The probe's group, so that nobody takes it for a service.
const GROUP: &str = "NACOSCTL";
/// Where nobody listens. An ephemeral instance is not called by the server.
const PROBE: (&str, u16) = ("127.0.0.1", 9);
/// Real servers wait half a second before they push; more than this is slow.
const SLOW: Duration = Duration::from_secs(2);
/// Clients over HTTP ask every 10 s: what comes later was not asked for in time, either.
const LONGEST: Duration = Duration::from_secs(12);

/// How a probe came to its subscriber.
struct Arrival {
    after: Duration,
    /// Pushes the subscriber got until then.
    pushes: u64,
}

/// The time from a registration to the subscriber, by whatever is spoken.
pub(super) async fn round_trip(registry: &Registry) -> Result<Check, Failure> {
    Ok(match measured(registry, "push").await? {
        Ok(Arrival { after, .. }) if after <= SLOW => {
            Check::ok("push", format!("a change reached its subscriber after {} ms", after.as_millis()))
        }
        Ok(Arrival { after, .. }) => Check::warning(
            "push",
            format!("a change reached its subscriber after {} ms", after.as_millis()),
            "over gRPC the server is busy or the way is slow; over HTTP it was asked for, see `udp`",
        ),
        Err(error) => Check::failed("push", error, "see `protocol`; clients would not learn of changes"),
    })
}

/// The way of UDP packets from the server to here.
pub(super) async fn udp(registry: &Registry) -> Result<Check, Failure> {
    let remedy = "clients over HTTP ask every 10 s all the same; for changes in less, let UDP from the server to this machine \
                  through, and set NACOS_CLIENT_IP if the server reaches it under another address (NAT, containers)";
    Ok(match measured(&registry.speaking(Protocol::Http), "udp").await? {
        Ok(Arrival { after, pushes: 1.. }) => {
            Check::ok("udp", format!("a packet of the server came after {} ms", after.as_millis()))
        }
        Ok(Arrival { after, .. }) => {
            let seen = format!("no packet came; the change was asked for after {} ms", after.as_millis());
            Check::warning("udp", seen, remedy)
        }
        Err(error) => Check::warning("udp", error, "only clients that speak HTTP need it"),
    })
}

async fn measured(registry: &Registry, what: &str) -> Result<Result<Arrival, String>, Failure> {
    // Two clients, as in life.
    let (subscriber, registrant) = (registry.naming()?, registry.naming()?);
    let arrival = probe(registry, &subscriber, &registrant, &unique(what)).await;
    leave(registrant).await;
    leave(subscriber).await;
    Ok(arrival)
}

async fn probe(
    registry: &Registry,
    subscriber: &NamingService,
    registrant: &NamingService,
    service: &str,
) -> Result<Arrival, String> {
    let key = (GROUP, service);
    let limit = registry.timeout();
    for client in [subscriber, registrant] {
        client.connected(limit).await.map_err(|error| described(&error))?;
    }
    let mut changes = subscriber.service(key).map_err(|error| described(&error))?.subscribe(Select::all());
    // The first is the empty list, by which the subscription is known to stand.
    let first = timeout(limit, changes.next()).await;
    first.map_err(|_| format!("no list within {limit:?}"))?;
    let pushes = subscriber.stats().pushes;
    let begin = Instant::now();
    let handle = registrant.service(key).map_err(|error| described(&error))?;
    let registration = handle.register(Instance::new(PROBE)).map_err(|error| described(&error))?;
    let arrived = async {
        while let Some(change) = changes.next().await {
            if !change.instances().is_empty() {
                return Some(begin.elapsed());
            }
        }
        None
    };
    let after = timeout(LONGEST, arrived).await.ok().flatten();
    let pushes = subscriber.stats().pushes - pushes;
    // An unacknowledged end is made up for by the end of the client.
    let registered = registration.confirmed_within(limit).await;
    drop(registration.withdraw().await);
    registered.map_err(|error| format!("the probe was not registered: {}", described(&error)))?;
    let after = after.ok_or_else(|| format!("a change did not reach its subscriber within {LONGEST:?}"))?;
    Ok(Arrival { after, pushes })
}

/// A name that nobody else uses.
fn unique(what: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("doctor-{what}-{}-{:x}", std::process::id(), now.as_micros())
}
