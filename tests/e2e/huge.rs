//! One service of many thousand instances: whoever reads it sees whole lists only, and a change costs what it changes.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use nacos_client::{EmptyPolicy, QueryError, RegistrationStatus, Select, ServiceSnapshot};
use nacos_proto::grpc::Instance as WireInstance;
use tokio::sync::watch;
use tracing::Level;

use crate::support::attacker::Attacker;
use crate::support::client::{LONG, connects_and_losses, mine, told};
use crate::support::consumer::{marked, next, prompt, service};
use crate::support::logs::Logs;
use crate::support::wait::{eventually, wait_until};
use crate::support::witness::{Witness, foreign};
use crate::support::world::{Registry, World, in_our_worlds, unique};

in_our_worlds!(readers_during_many_writes_see_whole_lists_only);

/// The instances of one writer in one of its rounds: as many as in all other rounds, all with the same mark.
fn round_of(writer: u8, round: usize, size: usize) -> Vec<WireInstance> {
    let ip = Some(format!("10.1.1.{writer}"));
    (1..=size)
        .map(|port| WireInstance { ip: ip.clone(), ..marked(i32::try_from(port).expect("a port"), round) })
        .collect()
}

/// Checks that a list has all instances of each writer or none, from one round each.
fn is_whole<'a>(size: usize, rows: impl Iterator<Item = (&'a str, &'a str)>) -> usize {
    let mut writers: std::collections::BTreeMap<&str, (usize, &str)> = std::collections::BTreeMap::new();
    for (ip, mark) in rows {
        let (count, round) = writers.entry(ip).or_insert((0, mark));
        *count += 1;
        assert_eq!(*round, mark, "rounds of {ip} are mixed");
    }
    for (ip, (count, _)) in &writers {
        assert_eq!(*count, size, "a part of {ip}");
    }
    writers.len()
}

fn snapshot_is_whole(size: usize, list: &ServiceSnapshot) -> usize {
    is_whole(size, list.instances().iter().map(|i| (i.ip.as_str(), i.metadata["mark"].as_str())))
}

async fn by_http(registry: &Registry, name: &str, size: usize) -> usize {
    let list = registry.v1("GET", &format!("/instance/list?serviceName={name}")).await;
    let hosts = list["hosts"].as_array().expect("a list").iter();
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let rows: Vec<_> = hosts.map(|host| (text(&host["ip"]), text(&host["metadata"]["mark"]))).collect();
    is_whole(size, rows.iter().map(|(ip, mark)| (ip.as_str(), mark.as_str())))
}

async fn by_query(witness: &Witness, name: &str, size: usize) -> usize {
    let list = witness.instances(name).await;
    let rows = list.iter().map(|i| {
        let mark = i.metadata.iter().find(|(key, _)| key.as_str() == "mark").map(|(_, mark)| mark.as_str());
        (i.ip.as_deref().expect("an address"), mark.expect("a mark"))
    });
    is_whole(size, rows)
}

async fn readers_during_many_writes_see_whole_lists_only(world: World) {
    const WRITERS: u8 = 4;
    /// Writes between two reads by the same reader, at least: else the readers, all on this thread, take nearly all of its time.
    const PACE: usize = 20;
    // Each round of a writer replaces all of its instances. A night may take a hundred thousand writes of one kind of server, of few
    // instances each: in a debug build most of the time goes into their JSON, and ten can be torn as well as a hundred.
    let asked: Option<usize> = std::env::var("NACOS_TEST_CHANGES").ok().and_then(|text| text.parse().ok());
    let (writes, size) = match (asked, &world) {
        (Some(writes), World::Standard) => (writes, 10),
        (None, World::Standard) => (200, 100),
        _ => (100, 100),
    };
    let rounds = writes / usize::from(WRITERS);
    let registry = world.registry().await;
    let (name, consumer) = (unique("orders"), prompt(&registry));
    let mut changes = service(&consumer, &name).subscribe(Select::all());
    let (written, reads) = (watch::Sender::new(0), AtomicUsize::new(0));
    let writer = async |number: u8| {
        let witness = registry.witness().await;
        for round in 0..rounds {
            witness.publish(&name, round_of(number, round, size)).await;
            written.send_modify(|written| *written += 1);
        }
        witness
    };
    let writers = async { join_all((0..WRITERS).map(&writer)).await };
    let all = rounds * usize::from(WRITERS);
    let readers = async {
        let (witness, mut progress) = (registry.witness().await, written.subscribe());
        let mut next = PACE;
        while next < all {
            let seen = *progress.wait_for(|written| *written >= next).await.expect("the sender is right here");
            by_http(&registry, &name, size).await;
            by_query(&witness, &name, size).await;
            reads.fetch_add(1, Ordering::Relaxed);
            next = seen + PACE;
        }
    };
    let subscriber = async {
        // The last round of all of them, with whole lists on the way.
        let last = (rounds - 1).to_string();
        loop {
            let change = next(&mut changes).await;
            let list = change.snapshot();
            let writers = snapshot_is_whole(size, list);
            if writers == usize::from(WRITERS) && list.instances().iter().all(|i| i.metadata["mark"] == last) {
                break;
            }
        }
    };
    let (staying, (), ()) = tokio::join!(writers, readers, subscriber);
    assert!(reads.load(Ordering::Relaxed) > 0);
    eventually("HTTP shows all of them", async || {
        (by_http(&registry, &name, size).await == usize::from(WRITERS)).then_some(())
    })
    .await;
    drop(staying);
}

#[tokio::test]
async fn a_change_of_ten_thousand_instances_is_encoded_once_however_many_are_subscribed() {
    const SUBSCRIBERS: usize = 100;
    let registry = World::Standard.registry().await;
    let (name, consumer, one) = (unique("orders"), prompt(&registry), registry.witness().await);
    let many: Vec<Witness> = join_all((0..10).map(|_| registry.witness())).await;
    for (number, witness) in (0..).zip(&many) {
        witness.publish(&name, round_of(number, 0, 1_000)).await;
    }
    // Nobody reads: no list is made, whatever changes.
    let counters = || registry.server().counters();
    let before = counters();
    for round in 0..500 {
        one.register(&name, marked(1, round)).await;
    }
    assert_eq!(counters().requests - before.requests, 500);
    assert_eq!(counters().lists_encoded, before.lists_encoded);
    // Each subscriber has its own answer; what is pushed to all of them is one list. They read nothing, which costs this
    // process least.
    let mut subscribers = Vec::new();
    for _ in 0..SUBSCRIBERS {
        let mut subscriber = Attacker::connect(registry.grpc()).await;
        subscriber.set_up().await;
        subscribers.push(subscriber);
    }
    registry.server().fault().hold_pushes();
    one.deregister(&name, foreign(1)).await;
    for witness in &many {
        witness.publish(&name, vec![]).await;
    }
    one.sees(&name, &[]).await;
    for subscriber in &mut subscribers {
        subscriber.subscribe(&name).await;
    }
    for (number, witness) in (0..).zip(&many) {
        witness.publish(&name, round_of(number, 1, 1_000)).await;
    }
    let before = counters();
    registry.server().fault().deliver_pushes();
    let wanted = u64::try_from(SUBSCRIBERS).expect("a hundred");
    wait_until("all subscribers are pushed", || counters().pushes - before.pushes >= wanted).await;
    assert_eq!(counters().lists_encoded - before.lists_encoded, 1);
    // A client gets it as well, and sees the end of all at once.
    let mut changes = service(&consumer, &name).subscribe(Select::all());
    told(&mut changes, "all are listed", |list| list.len() == 10_000).await;
    drop(many);
    told(&mut changes, "all have left", ServiceSnapshot::is_empty).await;
}

#[tokio::test]
async fn a_list_that_clients_do_not_take_is_told_of_on_both_sides_and_usable_with_a_higher_limit() {
    const SIZE: u16 = 50_000;
    const PART: u16 = 5_000;
    let log = Logs::capture_server();
    let registry = World::Standard.registry().await;
    let (name, one) = (unique("orders"), registry.witness().await);
    let few = registry.config().deadline(LONG).build().expect("the settings are valid");
    let registration = service(&few, &unique("mine")).register(mine(1)).expect("it is valid");
    registration.confirmed().await.expect("it is acknowledged");
    let _unheard = service(&few, &name).subscribe(Select::all());
    let mut many = Vec::new();
    for from in (0..SIZE).step_by(usize::from(PART)) {
        let witness = registry.witness().await;
        witness.publish(&name, (from..from + PART).map(|port| marked(i32::from(port), 0)).collect()).await;
        many.push(witness);
    }
    match service(&few, &name).refresh().await {
        Err(QueryError::Protocol(why)) => assert!(why.contains("max_message_size"), "{why}"),
        other => panic!("{other:?}"),
    }
    let config = registry.config().max_message_size(64 << 20).deadline(LONG).empty_policy(EmptyPolicy::Accept);
    let consumer = config.build().expect("the settings are valid");
    let mut changes = service(&consumer, &name).subscribe(Select::all());
    told(&mut changes, "all are listed", |list| list.len() == usize::from(SIZE)).await;
    one.register(&name, marked(60_000, "new")).await;
    told(&mut changes, "a change is pushed", |list| list.len() > usize::from(SIZE)).await;
    wait_until("the other one was pushed too much", || few.stats().unreadable > 0).await;
    // It has lost nothing but the list.
    assert_eq!(connects_and_losses(&few), (1, 0));
    assert_eq!(registration.status(), RegistrationStatus::Confirmed);
    let told: Vec<_> = log.at(Level::WARN).into_iter().filter(|line| line.text.contains(&name)).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].text.contains("10 MiB"), "{told:?}");
}
