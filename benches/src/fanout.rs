//! From a change to the moment when the last of many subscribers has the bytes of the new list.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::incoming::Message;
use super::process::{Process, Role};
use super::raw::{Connection, first_instance, instance_number};
use super::report::{Better, Figure, Table, median, percentile};
use super::{Failure, Scale};

pub(crate) const SERVICE: &str = "order-service";
const SUBSCRIBERS: usize = 100;
const INSTANCES: usize = 100;
const WARM_UP: usize = 5;
/// Between two changes, so that the next one meets subscribers that have acknowledged.
const PAUSE: Duration = Duration::from_millis(20);
/// For first lists to arrive.
const SETTLE: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(60);

/// Our server and one that pushes a constant list of the same size.
pub(crate) async fn run(scale: Scale) -> Result<Table, Failure> {
    let changes = scale.of(300, 20);
    let mut table = Table::new(
        format!(
            "Change → the last of {SUBSCRIBERS} subscribers has the list of {INSTANCES} instances, {changes} changes"
        ),
        "tonic server that pushes a constant",
    );
    let server = Process::start()?;
    let publisher = Connection::open_answering(server.grpc()).await?;
    publisher.registered().await?;
    publisher.register(SERVICE.to_owned(), first_instance(0)).await?;
    let others = Connection::open_answering(server.grpc()).await?;
    others.registered().await?;
    others.register_batch(SERVICE, (1..INSTANCES).map(instance_number).collect()).await?;
    let mut audience = Audience::gather(server.grpc(), SUBSCRIBERS, Speaker::Ours).await?;
    let (mut ours, length) = measure(&publisher, &mut audience, changes, true).await?;
    drop((audience, others, publisher, server));

    let idle = Process::start_idle(Role::IdleGrpc, length)?;
    let publisher = Connection::open(idle.http()).await?;
    let mut audience = Audience::gather(idle.http(), SUBSCRIBERS, Speaker::Idle).await?;
    let (mut yardstick, _) = measure(&publisher, &mut audience, changes, false).await?;
    for (name, percent) in [("p50", 50), ("p99", 99), ("longest", 100)] {
        let figure = Figure::new(format!("{name}, {length} bytes each"), "ms", Better::Less)
            .ours(percentile(&mut ours, percent))
            .peer(percentile(&mut yardstick, percent));
        table.push(if percent == 100 { figure } else { figure.target("≤ 15 ms") });
    }
    table.push(
        Figure::new("median against what was measured of Nacos 2.5.1 before, not in this run", "ms", Better::Less)
            .ours(median(&mut ours))
            .peer(596.0),
    );
    table.push(
        Figure::new("median against what was measured of r-nacos 0.8.8 before, not in this run", "ms", Better::Less)
            .ours(median(&mut ours))
            .peer(802.0),
    );
    Ok(table)
}

/// The times in milliseconds, and the size of a push.
async fn measure(
    publisher: &Connection,
    audience: &mut Audience,
    changes: usize,
    marked: bool,
) -> Result<(Vec<f64>, usize), Failure> {
    let (mut times, mut length) = (Vec::new(), 0);
    for number in 1..=changes + WARM_UP {
        let start = Instant::now();
        publisher.register(SERVICE.to_owned(), first_instance(number)).await?;
        let heard = audience.all_have(marked.then_some(number)).await?;
        length = heard.length;
        if number > WARM_UP {
            times.push(heard.last.duration_since(start).as_secs_f64() * 1e3);
        }
        sleep(PAUSE).await;
    }
    Ok((times, length))
}

/// What an audience listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// Pushes a constant to everybody and knows nothing of set-ups and subscriptions.
    Idle,
    /// Its lists are sorted by address.
    Ours,
    /// Its lists have any order.
    Foreign,
}

/// Subscribers, each on a connection of its own.
pub(crate) struct Audience {
    size: usize,
    connections: Vec<Connection>,
    messages: UnboundedReceiver<(usize, Message)>,
    /// Ends with the audience.
    readers: JoinSet<()>,
}

/// What a round of pushes was.
pub(crate) struct Heard {
    pub(crate) last: Instant,
    /// Of the last message, in bytes.
    pub(crate) length: usize,
    /// Of all that was received meanwhile, in bytes.
    pub(crate) total: usize,
}

impl Audience {
    pub(crate) async fn gather(server: SocketAddr, size: usize, speaker: Speaker) -> Result<Self, Failure> {
        let nacos = speaker != Speaker::Idle;
        let (sender, messages) = mpsc::unbounded_channel();
        let (mut connections, mut readers) = (Vec::new(), JoinSet::new());
        for number in 0..size {
            let (connection, mut incoming) = Connection::open_reading(server).await?;
            if speaker == Speaker::Foreign {
                incoming.keep_all();
            }
            let sender = sender.clone();
            // Ends with the connection, or with the audience.
            readers.spawn(async move {
                while let Ok(Some(message)) = incoming.next().await {
                    let acknowledged = !nacos || incoming.acknowledge(&message).is_ok();
                    if !acknowledged || sender.send((number, message)).is_err() {
                        break;
                    }
                }
            });
            connection.heard(nacos).await?;
            if nacos {
                connection.subscribe(SERVICE).await?;
            }
            connections.push(connection);
        }
        let mut audience = Self { size, connections, messages, readers };
        // What comes with the subscriptions themselves is not wanted.
        sleep(SETTLE).await;
        while audience.messages.try_recv().is_ok() {}
        Ok(audience)
    }

    /// Waits until everybody has the list in which the first instance says this number, or any list.
    pub(crate) async fn all_have(&mut self, number: Option<usize>) -> Result<Heard, Failure> {
        self.all_hear(number.map(|number| format!(r#""number":"{number}""#))).await
    }

    /// Waits until everybody has a list in which this text stands, or any list.
    pub(crate) async fn all_hear(&mut self, text: Option<String>) -> Result<Heard, Failure> {
        let (mut have, mut heard) = (HashSet::new(), Heard { last: Instant::now(), length: 0, total: 0 });
        let mut last = None;
        while have.len() < self.size {
            // Looked into only when enough have come: looking takes time that the others would wait for.
            let mut come = Vec::new();
            while come.len() < self.size - have.len() {
                come.push(timeout(PATIENCE, self.messages.recv()).await?.ok_or("the subscribers are gone")?);
            }
            for (subscriber, message) in come {
                heard.total += message.length;
                if text.as_ref().is_none_or(|text| message.has(text)) && have.insert(subscriber) {
                    last = last.max(Some(message.at));
                    heard.length = message.length;
                }
            }
        }
        heard.last = last.unwrap_or(heard.last);
        Ok(heard)
    }
}

impl Drop for Audience {
    fn drop(&mut self) {
        self.readers.abort_all();
        self.connections.clear();
    }
}
