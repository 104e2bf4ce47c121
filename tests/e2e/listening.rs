//! Being told of changes: what each listener gets, in which order, and that it is the truth in the end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nacos_client::{ChangeCause, EmptyPolicy, Instance, InstanceKey, NamingService, Select, ServiceChange};
use nacos_proto::grpc::{Message, SubscribeServiceRequest};
use nacos_server_min::fault::AnswerFault;

use crate::support::consumer::{at_hand, lists, mark, marked, next, next_that, ports, prompt, service, subscribed};
use crate::support::tap::Tap;
use crate::support::wait::{in_time, wait_until};
use crate::support::witness::foreign;
use crate::support::world::{World, in_every_world, in_our_worlds, unique};

in_every_world!(
    cg27_a_new_listener_gets_one_first_snapshot_before_any_change,
    cg29_the_first_snapshot_and_all_differences_add_up_for_every_selection,
    cg30_removing_one_listener_changes_nothing_for_the_others,
    cg31_a_new_subscription_misses_nothing_whatever_ended_before_it,
    g05_changes_between_the_answer_and_the_listener_are_told,
    t04_a_watch_tells_of_loss_and_return_and_never_ends_by_itself,
    t04_a_slow_reader_gets_the_newest_state_in_one_difference,
);

in_our_worlds!(
    g05_a_change_before_the_answer_to_the_subscription_is_told,
    cg28_revisions_grow_and_the_last_state_is_the_servers
);

async fn cg27_a_new_listener_gets_one_first_snapshot_before_any_change(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let mut first = orders.subscribe(Select::all());
    let initial = next(&mut first).await;
    assert_eq!((initial.cause(), initial.instances().len()), (ChangeCause::Initial, 0), "of an empty service as well");
    assert!(at_hand(&mut first).is_none(), "and only one");

    let witness = registry.witness().await;
    witness.register(&name, foreign(1)).await;
    let change = next(&mut first).await;
    assert_eq!((change.cause(), ports(change.added())), (ChangeCause::Changed, vec![1]));

    // What is known already is told without asking anybody.
    let mut second = orders.subscribe(Select::all());
    let initial = at_hand(&mut second).expect("the list is known");
    assert_eq!((initial.cause(), ports(initial.added())), (ChangeCause::Initial, vec![1]));
    assert!(at_hand(&mut second).is_none());

    // An empty selection of a list that is not is a first snapshot too.
    let mut nobody = orders.subscribe(Select::all().clusters(["elsewhere"]));
    let initial = at_hand(&mut nobody).expect("the list is known");
    assert_eq!((initial.cause(), initial.instances().len()), (ChangeCause::Initial, 0));
    assert_eq!(initial.snapshot().len(), 1);
}

/// What a listener knows from differences alone.
#[derive(Default)]
struct Tally(BTreeMap<InstanceKey, Arc<Instance>>);

impl Tally {
    fn add(&mut self, change: &ServiceChange) {
        for removed in change.removed() {
            assert_eq!(self.0.remove(&removed.key()).as_ref(), Some(removed), "removed as it was last seen");
        }
        for modified in change.modified() {
            let old = self.0.insert(modified.new.key(), modified.new.clone());
            assert_eq!(old.as_ref(), Some(&modified.old), "modified from what was last seen");
            assert_ne!(modified.old, modified.new);
        }
        for added in change.added() {
            assert_eq!(self.0.insert(added.key(), added.clone()), None, "added once");
        }
        let tally: Vec<_> = self.0.values().cloned().collect();
        assert_eq!(tally, change.instances(), "all differences add up to the view");
    }
}

fn selections() -> [Select; 5] {
    [
        Select::all(),
        Select::healthy(),
        Select::pickable(),
        Select::all().clusters(["c1"]),
        Select::all().filter(|i| i.metadata.get("mark").is_some_and(|mark| mark == "1")),
    ]
}

async fn cg29_the_first_snapshot_and_all_differences_add_up_for_every_selection(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    let another = registry.witness().await;
    another.register(&name, foreign(2)).await;
    let mut listeners: Vec<_> = selections().into_iter().map(|s| (orders.subscribe(s), Tally::default())).collect();
    let random = |below: u8| fastrand::u8(..below);
    for round in 0..12 {
        let mut instance = marked(1, random(2));
        // Health, weight and cluster each change alone or together; the address stays.
        instance.healthy = random(2) == 0;
        instance.weight = f64::from(random(3));
        instance.cluster_name = Some(format!("c{}", random(2)));
        match random(4) {
            0 => witness.deregister(&name, foreign(1)).await,
            _ => witness.register(&name, instance).await,
        }
        if round == 6 {
            registry.proxy.reset_connections();
        }
        for (listener, tally) in &mut listeners {
            while let Some(change) = at_hand(listener) {
                tally.add(&change);
            }
        }
    }
    witness.register(&name, marked(1, "last")).await;
    wait_until("the last state is seen", || {
        let snapshot = orders.try_snapshot().expect("the client runs");
        snapshot.is_some_and(|s| s.len() == 2 && mark(s.instances()) == Some("last") && s.stale_since().is_none())
    })
    .await;
    let snapshot = orders.snapshot().await.expect("there is a list");
    for ((listener, tally), select) in listeners.iter_mut().zip(selections()) {
        while let Some(change) = at_hand(listener) {
            tally.add(&change);
        }
        let view: Vec<_> = snapshot.select(&select).cloned().collect();
        assert_eq!(tally.0.values().cloned().collect::<Vec<_>>(), view, "{select:?}");
    }
}

async fn cg30_removing_one_listener_changes_nothing_for_the_others(world: World) {
    let registry = world.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    let nacos = NamingService::builder().servers([tap.entry()]).empty_policy(EmptyPolicy::Accept).build().unwrap();
    let name = unique("orders");
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    let mut stays = subscribed(&orders).await;
    let goes = subscribed(&orders).await;
    let mut watch = orders.watch(Select::all());
    drop(goes);
    witness.register(&name, foreign(1)).await;
    next_that(&mut stays, "the other listener is told", |change| ports(change.instances()) == [1]).await;
    while ports(&watch.current().expect("there is a list")) != [1] {
        in_time("the watch moves", watch.changed()).await.expect("the client runs");
    }
    let subscriptions = || -> Vec<bool> {
        let said = tap.said_of(SubscribeServiceRequest::TYPE);
        said.iter().map(|s| s.payload.decode_json::<SubscribeServiceRequest>().expect("it is one").subscribe).collect()
    };
    assert_eq!(subscriptions(), [true], "three listeners are one subscription, and the server heard of no end");
    drop(stays);
    assert_eq!(nacos.subscribed_services().len(), 1, "the watch is left");
    drop(watch);
    wait_until("the server is told at the last one's end", || subscriptions() == [true, false]).await;
    assert!(nacos.subscribed_services().is_empty());
}

async fn cg31_a_new_subscription_misses_nothing_whatever_ended_before_it(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    let mut old = orders.subscribe(Select::all());
    for round in 0..8 {
        // The end of the old one and the begin of the new one race, and so does the change.
        let (ended, mut new) = tokio::join!(async { drop(old) }, async { orders.subscribe(Select::all()) });
        let () = ended;
        if round % 3 == 2 {
            registry.proxy.reset_connections();
        }
        witness.register(&name, marked(1, round)).await;
        let round = round.to_string();
        next_that(&mut new, "the new listener has the newest state", |change| {
            mark(change.instances()) == Some(round.as_str())
        })
        .await;
        old = new;
    }
}

/// A subscription begun in the midst of changes ends up with the last of them.
async fn g05_changes_between_the_answer_and_the_listener_are_told(world: World) {
    let registry = world.registry().await;
    let nacos = prompt(&registry);
    let witness = registry.witness().await;
    for round in 0..4u64 {
        let name = unique("orders");
        let orders = service(&nacos, &name);
        let changes = async {
            for n in 0..=round {
                witness.register(&name, marked(1, n)).await;
                tokio::task::yield_now().await;
            }
        };
        // The cache is asked before and while it changes, the listener comes when it likes.
        let (ready, ()) = tokio::join!(orders.ready(), changes);
        ready.expect("the server answers");
        let mut listener = orders.subscribe(Select::all());
        let last = round.to_string();
        next_that(&mut listener, "the listener sees the last change", |c| mark(c.instances()) == Some(last.as_str()))
            .await;
    }
}

async fn g05_a_change_before_the_answer_to_the_subscription_is_told(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    nacos.connected(Duration::from_secs(30)).await.expect("the server is there");
    // The server makes the answer and keeps it back, while pushes with news overtake it.
    let late = AnswerFault::delay(Duration::from_millis(700)).request(SubscribeServiceRequest::TYPE);
    registry.server().fault().answers(late);
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    let mut listener = orders.subscribe(Select::all());
    wait_until("the subscription has arrived", || registry.server().connections().iter().any(|c| c.subscribed == 1))
        .await;
    witness.register(&name, marked(1, "early")).await;
    next_that(&mut listener, "the change is told", |change| mark(change.instances()) == Some("early")).await;
    // The late answer, which knows nothing of it, takes nothing back.
    witness.register(&name, marked(2, "later")).await;
    let change = next_that(&mut listener, "the next change is told", |c| ports(c.instances()) == [2]).await;
    assert_eq!((ports(change.removed()), ports(change.added())), (vec![1], vec![2]));
}

async fn cg28_revisions_grow_and_the_last_state_is_the_servers(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    let seen = Arc::new(std::sync::Mutex::new((Vec::new(), None)));
    let running = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (record, inside) = (Arc::clone(&seen), Arc::clone(&running));
    let _listener = orders
        .on_change(Select::all(), move |change| {
            let (record, inside) = (Arc::clone(&record), Arc::clone(&inside));
            async move {
                let others = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                assert_eq!(others, 0, "calls do not overlap");
                tokio::time::sleep(Duration::from_millis(fastrand::u64(..20))).await;
                let mut record = record.lock().unwrap();
                record.0.push(change.snapshot().revision());
                record.1 = mark(change.instances()).map(str::to_owned);
                inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
            }
        })
        .expect("the client runs");
    for round in 0..30 {
        witness.register(&name, marked(1, round)).await;
        if round % 10 == 7 {
            registry.proxy.reset_connections();
        }
    }
    wait_until("the last state is the server's", || seen.lock().unwrap().1.as_deref() == Some("29")).await;
    let revisions = seen.lock().unwrap().0.clone();
    assert!(revisions.is_sorted_by(|a, b| a < b), "{revisions:?}");
    assert_eq!(nacos.stats().listener_panics, 0);
}

async fn t04_a_watch_tells_of_loss_and_return_and_never_ends_by_itself(world: World) {
    let mut registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let mut changes = subscribed(&orders).await;
    for _ in 0..2 {
        registry.goes_down().await;
        let lost =
            next_that(&mut changes, "the loss is told", |c| matches!(c.cause(), ChangeCause::Stale { .. })).await;
        assert!(lost.snapshot().stale_since().is_some());
        registry.comes_up().await;
        let back = next_that(&mut changes, "the return is told", |c| c.cause() == ChangeCause::Resynced).await;
        assert_eq!(back.snapshot().stale_since(), None);
    }
    assert_eq!(changes.end(), None);
    // Only the end of the client ends it, and it says so.
    nacos.shutdown(Duration::from_secs(5)).await;
    while in_time("the stream ends", changes.next()).await.is_some() {}
    assert_eq!(changes.end(), Some(&nacos_client::StartError::Closed));
}

async fn t04_a_slow_reader_gets_the_newest_state_in_one_difference(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let mut slow = subscribed(&orders).await;
    let witness = registry.witness().await;
    for port in 1..=5 {
        witness.register(&name, foreign(port)).await;
        lists(&orders, &[u16::try_from(port).unwrap()]).await;
    }
    let change = at_hand(&mut slow).expect("much has changed");
    assert_eq!((ports(change.instances()), ports(change.added()), change.removed().len()), (vec![5], vec![5], 0));
    assert!(at_hand(&mut slow).is_none(), "there is no queue of what was between");
}
