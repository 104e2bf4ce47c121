//! From a change by one client to the moment another client's subscriber sees it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nacos_sdk::api::naming::{NamingChangeEvent, NamingEventListener, ServiceInstance};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::{sleep, timeout_at};

use super::peer::{self, Peer};
use super::report::{Better, Figure, Table, median, percentile};
use super::{Failure, Scale, ours};

/// Metadata key whose value is the number of the change.
pub(crate) const NUMBER: &str = "number";
const SERVICE: &str = "latency";
/// A change that is not seen within this time is lost.
const LOST: Duration = Duration::from_secs(5);

/// Number of the change that is in the list, and when the subscriber's code saw it.
pub(crate) type Seen = (usize, Instant);

/// One change after the other, a few milliseconds apart, against our server or a given one.
pub(crate) async fn run(scale: Scale, server: Option<SocketAddr>, changes: Option<usize>) -> Result<Table, Failure> {
    let changes = changes.unwrap_or_else(|| scale.of(2_000, 100));
    let whose = if server.is_some() { "the given server" } else { "our server" };
    let mut table = Table::new(format!("Change → another client's subscriber, {changes} changes, {whose}"), peer::NAME);
    let own = if server.is_none() { Some(ours::Server::start(0).await?) } else { None };
    let address = server.or(own.as_ref().map(ours::Server::http)).ok_or("no server")?;
    let mut mine = ours_times(address, changes).await?;
    let mut theirs = if scale.peer { Some(peer_times(address, changes).await?) } else { None };
    if let Some(own) = own {
        own.stop().await;
    }
    let mut row = |name, target, value: fn(&mut [f64]) -> f64| {
        let peer = theirs.as_deref_mut().map(value);
        let figure = Figure::new(name, "ms", Better::Less).ours(value(&mut mine)).peer(peer);
        table.push(if let Some(target) = target { figure.target(target) } else { figure });
    };
    row("p50", Some("≤ 2 ms"), median);
    row("p99", Some("≤ 10 ms"), |times| percentile(times, 99));
    row("longest", None, |times| percentile(times, 100));
    Ok(table)
}

async fn ours_times(server: SocketAddr, changes: usize) -> Result<Vec<f64>, Failure> {
    let (publisher, subscriber) = (ours::Client::connect(server).await?, ours::Client::connect(server).await?);
    let (sender, mut seen) = mpsc::unbounded_channel();
    let registration = publisher.register_numbered(SERVICE).await?;
    let watching = subscriber.watch_numbers(SERVICE, sender)?;
    expect(&mut seen, 0).await?;
    let mut times = Vec::with_capacity(changes);
    for number in 1..=changes {
        pause().await;
        let start = Instant::now();
        registration.renumber(number)?;
        times.push(milliseconds(start, expect(&mut seen, number).await?));
    }
    watching.abort();
    publisher.close().await;
    subscriber.close().await;
    Ok(times)
}

async fn peer_times(server: SocketAddr, changes: usize) -> Result<Vec<f64>, Failure> {
    let (publisher, subscriber) = (Peer::connect(server).await?, Peer::connect(server).await?);
    let (sender, mut seen) = mpsc::unbounded_channel();
    let service = format!("{SERVICE}-peer");
    publisher.register(service.clone(), numbered(0)).await?;
    let listener = Arc::new(Listener(sender));
    subscriber.naming.subscribe(service.clone(), Some(peer::GROUP.to_owned()), Vec::new(), listener).await?;
    expect(&mut seen, 0).await?;
    let mut times = Vec::with_capacity(changes);
    for number in 1..=changes {
        pause().await;
        let start = Instant::now();
        publisher.register(service.clone(), numbered(number)).await?;
        times.push(milliseconds(start, expect(&mut seen, number).await?));
    }
    Ok(times)
}

fn numbered(number: usize) -> ServiceInstance {
    ServiceInstance { metadata: [(NUMBER.to_owned(), number.to_string())].into(), ..peer::instance(8080) }
}

struct Listener(UnboundedSender<Seen>);

impl NamingEventListener for Listener {
    fn event(&self, event: Arc<NamingChangeEvent>) {
        let now = Instant::now();
        let list = event.instances.as_deref().unwrap_or_default();
        let number = list.iter().find_map(|i| i.metadata.get(NUMBER)?.parse().ok());
        if let Some(number) = number {
            // Nobody waits any more once the run is over.
            let _: Result<_, _> = self.0.send((number, now));
        }
    }
}

/// Waits for the change of this number, and passes over older ones.
async fn expect(seen: &mut UnboundedReceiver<Seen>, number: usize) -> Result<Instant, Failure> {
    let deadline = tokio::time::Instant::now() + LOST;
    loop {
        let next = timeout_at(deadline, seen.recv()).await.map_err(|_| format!("change {number} was not seen"))?;
        match next {
            Some((seen, at)) if seen == number => return Ok(at),
            Some(_) => {}
            None => return Err("the subscription ended".into()),
        }
    }
}

/// Changes come one by one and not in step with anything.
async fn pause() {
    sleep(Duration::from_micros(fastrand::u64(1_000..8_000))).await;
}

fn milliseconds(start: Instant, end: Instant) -> f64 {
    end.duration_since(start).as_secs_f64() * 1_000.0
}
