//! Rules of a directory that are replaced.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use nacos_client::StartError;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::*;
use crate::route::{Destination, Label, RouteDocument, RouteError, RouteRules, Rule};
use crate::{
    BalanceSettings, Directory, DiscoveryError, Filter, InMemoryDiscovery, Member, OnEmpty, Policy, ServiceInstance,
    Table, WeightedRandom,
};

/// Everything goes to this version.
fn all_to(version: usize) -> RouteRules {
    RouteRules::new().with_rule(Rule::new("all").to(Label::new("version", version.to_string())).or_fail())
}

fn document(services: &[&str], version: usize) -> RouteDocument {
    services.iter().fold(RouteDocument::new(), |document, service| document.with_service(*service, all_to(version)))
}

/// A service in which port and version are the same.
fn versions(count: u16) -> impl Iterator<Item = Instance> {
    (1..=count).map(|port| instance(port).metadata("version", port.to_string()))
}

fn directory(names: &[&str]) -> Directory {
    let known = names.iter().fold(InMemoryDiscovery::new(), |known, name| known.with(*name, versions(4)));
    Directory::new(Arc::new(known), BalanceSettings::new(settings()))
}

async fn ready(directory: &Directory, name: &str) -> Arc<Endpoints> {
    let endpoints = directory.endpoints_named("", name).unwrap();
    endpoints.ready().await.unwrap();
    endpoints
}

#[tokio::test]
async fn rules_count_for_services_that_are_there_and_for_those_that_come_later() {
    let directory = directory(&["orders", "stock", "users"]);
    let orders = ready(&directory, "orders").await;
    assert_eq!(picked_ports(&orders), [1, 2, 3, 4], "no rules");
    directory.set_routes(document(&["orders", "stock", "nobody-knows"], 2)).unwrap();
    assert_eq!(picked_ports(&orders), [2]);
    assert_eq!(picked_ports(&*ready(&directory, "stock").await), [2]);
    assert_eq!(picked_ports(&*ready(&directory, "users").await), [1, 2, 3, 4]);
    let kept: Vec<_> = directory.routes().services.keys().cloned().collect();
    assert_eq!(kept, ["nobody-knows", "orders", "stock"]);
    directory.set_routes(document(&["users"], 3)).unwrap();
    assert_eq!(picked_ports(&orders), [1, 2, 3, 4], "it has none any longer");
    assert_eq!(picked_ports(&*ready(&directory, "users").await), [3]);
}

#[tokio::test]
async fn a_service_is_named_in_the_configured_group_or_with_its_own_and_the_exact_name_counts_more() {
    let known = InMemoryDiscovery::new()
        .with(ServiceKey::new("shop", "orders"), versions(4))
        .with(ServiceKey::new("", "orders"), versions(4));
    let settings = BalanceSettings::new(settings()).with_group("shop");
    let both = document(&["orders", "DEFAULT_GROUP@@orders"], 2);
    let directory = Directory::new(Arc::new(known), settings.with_routes(both).unwrap());
    let of = async |group: &str| {
        let endpoints = directory.endpoints_named(group, "orders").unwrap();
        endpoints.ready().await.unwrap();
        picked_ports(&endpoints)
    };
    assert_eq!((of("shop").await, of("").await), (vec![2], vec![2]));
    directory.set_routes(document(&["orders"], 1)).unwrap();
    assert_eq!((of("shop").await, of("").await), (vec![1], vec![1, 2, 3, 4]));
    let exact = document(&["orders"], 1).with_service("shop@@orders", all_to(3));
    directory.set_routes(exact).unwrap();
    assert_eq!(of("shop").await, [3]);
}

#[tokio::test]
async fn a_document_with_one_wrong_rule_changes_nothing() {
    let directory = directory(&["orders", "stock"]);
    let (orders, stock) = (ready(&directory, "orders").await, ready(&directory, "stock").await);
    directory.set_routes(document(&["orders", "stock"], 2)).unwrap();
    let half = RouteRules::new().with_rule(Rule::new("half").share(50.0, Destination::Baseline));
    let broken = document(&["orders"], 3).with_service("stock", half);
    let error = directory.set_routes(broken.clone()).unwrap_err();
    assert!(error.path().starts_with("services.stock"), "{error}");
    assert!(BalanceSettings::default().with_routes(broken).is_err());
    assert_eq!((picked_ports(&orders), picked_ports(&stock)), (vec![2], vec![2]));
    assert_eq!(*directory.routes(), document(&["orders", "stock"], 2));
}

#[tokio::test]
async fn only_services_whose_rules_are_others_get_new_tables() {
    /// Counts the tables that it makes.
    #[derive(Debug, Default, Clone)]
    struct Counting(Arc<AtomicUsize>);
    impl Policy for Counting {
        fn table(&self, members: &[Member], seed: u64) -> Box<dyn Table> {
            self.0.fetch_add(1, Ordering::Relaxed);
            WeightedRandom::default().table(members, seed)
        }
    }
    let tables = Counting::default();
    let known = InMemoryDiscovery::new().with("orders", versions(2)).with("stock", versions(2));
    let settings = BalanceSettings::new(settings().with_policy(tables.clone()));
    let directory = Directory::new(Arc::new(known), settings);
    let _watched = (ready(&directory, "orders").await, ready(&directory, "stock").await);
    let made = |document: RouteDocument| {
        let before = tables.0.load(Ordering::Relaxed);
        directory.set_routes(document).unwrap();
        tables.0.load(Ordering::Relaxed) - before
    };
    let of_one = made(document(&["orders"], 1));
    assert!(of_one > 0);
    assert_eq!(made(document(&["orders"], 1)), 0);
    assert_eq!(made(document(&["orders", "stock"], 1)), of_one, "orders is as it was");
    assert_eq!(made(document(&["stock"], 1)), 1, "orders has one table for all again");
}

#[tokio::test]
async fn endpoints_that_the_directory_let_go_of_are_routed_by_new_rules_while_somebody_holds_them() {
    let directory = directory(&["orders"]);
    let held = ready(&directory, "orders").await;
    directory.set_routes(document(&["orders"], 1)).unwrap();
    // As if another thread had found it in the moment in which the directory let it go.
    directory.shared().let_go(&held);
    let again = ready(&directory, "orders").await;
    assert!(!Arc::ptr_eq(&held, &again));
    directory.set_routes(document(&["orders"], 2)).unwrap();
    assert_eq!((picked_ports(&held), picked_ports(&again)), (vec![2], vec![2]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_service_that_is_added_while_rules_are_replaced_has_the_new_ones() {
    let names: Vec<String> = (0..300).map(|number| format!("service-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let directory = directory(&names);
    let added: Vec<Arc<Endpoints>> = std::thread::scope(|scope| {
        let runtime = tokio::runtime::Handle::current();
        let adders: Vec<_> = names
            .chunks(100)
            .map(|names| {
                let (directory, runtime) = (&directory, runtime.clone());
                scope.spawn(move || {
                    let _entered = runtime.enter();
                    names.iter().map(|name| directory.endpoints_named("", name).unwrap()).collect::<Vec<_>>()
                })
            })
            .collect();
        for version in (1..=4).cycle().take(40) {
            directory.set_routes(document(&names, version)).unwrap();
        }
        adders.into_iter().flat_map(|adder| adder.join().unwrap()).collect()
    });
    for endpoints in &added {
        endpoints.ready().await.unwrap();
        let ports: Vec<_> = picks(endpoints, 50).into_keys().collect();
        assert_eq!(ports, [4], "{}", endpoints.service());
    }
}

/// Panics while it is told to.
#[derive(Debug, Clone, Default)]
struct Moody {
    afraid: Arc<AtomicBool>,
}

impl Filter for Moody {
    fn name(&self) -> &str {
        "moody"
    }

    fn keep(&self, _: &ServiceInstance) -> bool {
        assert!(!self.afraid.load(Ordering::SeqCst), "in a mood");
        true
    }

    fn on_empty(&self) -> OnEmpty {
        OnEmpty::Skip
    }
}

#[tokio::test]
async fn a_filter_that_panics_leaves_all_rules_as_they_were() {
    let moody = Moody::default();
    let known = InMemoryDiscovery::new().with("orders", versions(4)).with("stock", versions(4));
    let settings = BalanceSettings::new(settings().with_filter(moody.clone()));
    let directory = Directory::new(Arc::new(known), settings);
    let (orders, stock) = (ready(&directory, "orders").await, ready(&directory, "stock").await);
    directory.set_routes(document(&["orders", "stock"], 1)).unwrap();
    moody.afraid.store(true, Ordering::SeqCst);
    let set = catch_unwind(AssertUnwindSafe(|| directory.set_routes(document(&["orders", "stock"], 2))));
    assert!(set.is_err());
    moody.afraid.store(false, Ordering::SeqCst);
    assert_eq!((picked_ports(&orders), picked_ports(&stock)), (vec![1], vec![1]));
    assert_eq!(*directory.routes(), document(&["orders", "stock"], 1));
    directory.set_routes(document(&["orders", "stock"], 3)).unwrap();
    assert_eq!((picked_ports(&orders), picked_ports(&stock)), (vec![3], vec![3]));
}

/// Lets every task do what it can.
async fn settle() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn the_newest_document_of_a_stream_is_in_force_and_what_is_wrong_with_one_is_told() {
    let directory = directory(&["orders"]);
    let orders = ready(&directory, "orders").await;
    let (tell, told) = mpsc::unbounded_channel::<Result<RouteDocument, DiscoveryError>>();
    let documents = stream::unfold(told, async |mut told| Some((told.recv().await?, told)));
    let follower = directory.follow_routes(documents).unwrap();
    assert!(follower.trouble().is_none());

    tell.send(Ok(document(&["orders"], 1))).unwrap();
    tell.send(Ok(document(&["orders"], 2))).unwrap();
    settle().await;
    assert_eq!((picked_ports(&orders), follower.trouble().is_none()), (vec![2], true));

    let half = RouteRules::new().with_rule(Rule::new("half").share(50.0, Destination::Baseline));
    tell.send(Ok(RouteDocument::new().with_service("orders", half))).unwrap();
    settle().await;
    assert_eq!(picked_ports(&orders), [2]);
    let trouble = follower.trouble().unwrap();
    assert!(trouble.downcast_ref::<RouteError>().is_some(), "{trouble}");
    assert!(directory.routes_trouble().is_some());

    tell.send(Err(DiscoveryError::unavailable("no file"))).unwrap();
    settle().await;
    assert!(follower.trouble().unwrap().downcast_ref::<DiscoveryError>().is_some());
    assert_eq!(picked_ports(&orders), [2]);

    tell.send(Ok(document(&["orders"], 2))).unwrap();
    settle().await;
    assert!(follower.trouble().is_none() && directory.routes_trouble().is_none(), "what is in force is right again");
    drop(tell);
    settle().await;
    assert_eq!((follower.has_ended(), picked_ports(&orders)), (true, vec![2]));
}

#[tokio::test(start_paused = true)]
async fn following_ends_with_its_handle_and_survives_a_filter_that_panics() {
    let moody = Moody::default();
    let known = InMemoryDiscovery::new().with("orders", versions(4));
    let directory = Directory::new(Arc::new(known), BalanceSettings::new(settings().with_filter(moody.clone())));
    let orders = ready(&directory, "orders").await;
    let (tell, told) = mpsc::unbounded_channel::<Result<RouteDocument, DiscoveryError>>();
    let documents = stream::unfold(told, async |mut told| Some((told.recv().await?, told)));
    let follower = directory.follow_routes(documents).unwrap();
    moody.afraid.store(true, Ordering::SeqCst);
    tell.send(Ok(document(&["orders"], 1))).unwrap();
    settle().await;
    assert_eq!(follower.trouble().unwrap().to_string(), "a filter or a policy panicked");
    moody.afraid.store(false, Ordering::SeqCst);
    tell.send(Ok(document(&["orders"], 2))).unwrap();
    settle().await;
    assert_eq!((picked_ports(&orders), follower.trouble().is_none()), (vec![2], true));
    drop(follower);
    settle().await;
    assert!(tell.is_closed(), "nobody reads any longer");
    assert_eq!(picked_ports(&orders), [2], "the rules stay");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_panics_leaves_the_rules_and_ends() {
    let directory = directory(&["orders"]);
    let orders = ready(&directory, "orders").await;
    let first = stream::iter([Ok::<_, DiscoveryError>(document(&["orders"], 1))]);
    let follower = directory.follow_routes(first.chain(stream::once(async { panic!("broken") }))).unwrap();
    settle().await;
    assert_eq!((follower.has_ended(), picked_ports(&orders)), (true, vec![1]));
}

#[test]
fn without_a_runtime_nothing_is_followed() {
    let directory = directory(&[]);
    let none = stream::pending::<Result<RouteDocument, DiscoveryError>>();
    let error = directory.follow_routes(none).unwrap_err();
    assert!(matches!(error, DiscoveryError::Start(StartError::NoRuntime)), "{error:?}");
}
