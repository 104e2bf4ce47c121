//! Reading lists: shared, always the truth the listeners were told, and of the namespace that was meant.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nacos_client::{ChangeCause, ConfirmError, EmptyPolicy, Instance, NamingService, PickError, QueryError, Select};
use nacos_proto::grpc::Instance as WireInstance;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::consumer::{at_hand, lists, mark, marked, next_that, ports, prompt, service, subscribed};
use crate::support::wait::{eventually, in_time};
use crate::support::witness::{Witness, foreign};
use crate::support::world::{Registry, World, in_every_world, in_our_worlds, unique};

in_every_world!(
    c04_without_the_server_calls_end_and_what_is_known_stays_readable,
    cg23_all_who_read_a_list_share_it,
    cg24_a_query_does_not_depend_on_the_queries_before_it,
    f08_the_next_pick_agrees_with_what_listeners_were_told,
    f12_no_empty_and_public_namespaces_are_one_and_others_are_not,
);

in_our_worlds!(f12_the_same_namespaces_are_one_over_http);

async fn cg23_all_who_read_a_list_share_it(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    witness.register(&name, foreign(1)).await;
    let mut changes = orders.subscribe(Select::all());
    let change = next_that(&mut changes, "the instance is listed", |c| ports(c.instances()) == [1]).await;
    let list = Arc::clone(change.snapshot());
    for _ in 0..10_000 {
        assert!(Arc::ptr_eq(&list, &orders.snapshot().await.expect("there is a list")));
    }
    let instance = &list.instances()[0];
    let same = |other: &Arc<Instance>| Arc::ptr_eq(instance, other);
    assert!(same(&nacos.get_all_instances(&name, &[]).await.unwrap()[0]));
    assert!(same(&orders.pick().unwrap()) && same(&change.instances()[0]) && same(&change.added()[0]));
    assert!(same(&orders.watch(Select::healthy()).current().unwrap()[0]));
}

/// Instances that differ in all that a query may ask for, each of a connection of its own.
async fn assorted(registry: &Registry, name: &str) -> Vec<Witness> {
    let mut witnesses = Vec::new();
    for port in 1..=6 {
        let witness = registry.witness().await;
        let instance = WireInstance {
            healthy: port % 3 != 0,
            weight: f64::from(port % 4),
            cluster_name: Some(format!("c{}", port % 2)),
            ..marked(port, port)
        };
        witness.register(name, instance).await;
        witnesses.push(witness);
    }
    witnesses
}

const CLUSTERS: [&[&str]; 5] = [&[], &["c0"], &["c1"], &["c0", "c1"], &["c2"]];

fn selection(number: usize) -> Select {
    let select = match number % 4 {
        0 => Select::all(),
        1 => Select::healthy(),
        2 => Select::unhealthy(),
        _ => Select::pickable(),
    };
    select.clusters(CLUSTERS[number % CLUSTERS.len()].iter().copied())
}

async fn cg24_a_query_does_not_depend_on_the_queries_before_it(world: World) {
    let registry = world.registry().await;
    let name = unique("orders");
    let _providers = assorted(&registry, &name).await;
    let used = prompt(&registry);
    let orders = service(&used, &name);
    lists(&orders, &[1, 2, 3, 4, 5, 6]).await;
    let mut listener = subscribed(&orders).await;
    for number in 0..20 {
        // Whatever was asked before …
        let clusters = CLUSTERS[fastrand::usize(..CLUSTERS.len())];
        match number % 4 {
            0 => drop(used.get_all_instances(&name, clusters).await.expect("the list is known")),
            1 => drop(used.select_one_healthy_instance(&name, clusters).await),
            2 => drop(orders.query().await.expect("the server answers")),
            _ => drop(orders.refresh().await.expect("the server answers")),
        }
        // … the answer is that of a client which never asked anything.
        let select = selection(number);
        let fresh = prompt(&registry);
        let whole = service(&fresh, &name);
        lists(&whole, &[1, 2, 3, 4, 5, 6]).await;
        let answer = used.select_instances(&name, select.clone()).await.expect("the list is known");
        assert_eq!(answer, fresh.select_instances(&name, select.clone()).await.unwrap(), "{select:?}");
        let plain: Vec<_> = whole.snapshot().await.unwrap().select(&select).cloned().collect();
        assert_eq!(answer, plain, "{select:?}");
    }
    assert!(at_hand(&mut listener).is_none(), "and no listener took a filtered answer for a change");
}

async fn f08_the_next_pick_agrees_with_what_listeners_were_told(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let (witness, other) = (registry.witness().await, registry.witness().await);
    // Never picked, but there, so that no server takes all for unhealthy.
    other.register(&name, WireInstance { weight: 0.0, ..foreign(9) }).await;
    witness.register(&name, marked(1, "first")).await;
    let mut changes = orders.subscribe(Select::all());
    next_that(&mut changes, "both are listed", |c| ports(c.instances()) == [1, 9]).await;
    assert_eq!(orders.pick().expect("one can be picked").port, 1);

    let weightless = WireInstance { weight: 0.0, ..marked(1, "weightless") };
    let unhealthy = WireInstance { healthy: false, ..marked(1, "unhealthy") };
    for (instance, pickable) in
        [(weightless, false), (marked(1, "back"), true), (unhealthy, false), (marked(1, "again"), true)]
    {
        let expected = instance.metadata.get("mark").cloned();
        witness.register(&name, instance).await;
        let change =
            next_that(&mut changes, "the change is told", |c| mark(c.instances()) == expected.as_deref()).await;
        assert_eq!((change.cause(), change.modified().len()), (ChangeCause::Changed, 1));
        // At once, not after some other cache expired; by every way to pick.
        let picks = [orders.pick(), nacos.pick(&name), nacos.select_one_healthy_instance(&name, &[]).await];
        for pick in picks {
            match pick {
                Ok(picked) => assert!(pickable && Arc::ptr_eq(&picked, &change.instances()[0]), "{picked:?}"),
                Err(error) => {
                    assert!(!pickable && matches!(error, PickError::NoInstance { total: 2, .. }), "{error:?}")
                }
            }
        }
    }
    witness.register(&name, WireInstance { enabled: false, ..marked(1, "disabled") }).await;
    next_that(&mut changes, "a disabled instance is not listed", |c| ports(c.instances()) == [9]).await;
    assert!(orders.pick().is_err());
}

fn in_namespace(registry: &Registry, namespace: Option<&str>) -> NamingService {
    let config = registry.config().empty_policy(EmptyPolicy::Accept);
    match namespace {
        Some(id) => config.namespace(id),
        None => config,
    }
    .build()
    .expect("the settings are valid")
}

async fn f12_no_empty_and_public_namespaces_are_one_and_others_are_not(world: World) {
    let registry = world.registry().await;
    for (writer, group) in [(None, "DEFAULT_GROUP"), (Some(""), ""), (Some("public"), "ours")] {
        let name = unique("orders");
        let provider = in_namespace(&registry, writer);
        let orders = provider.service((group, &name)).expect("the name is valid");
        let registration = orders.register(Instance::new(("10.0.0.1", 80))).expect("it is valid");
        in_time("the registration", registration.confirmed_within(Duration::from_secs(30))).await.unwrap();
        for reader in [None, Some(""), Some("public")] {
            let consumer = in_namespace(&registry, reader);
            lists(&consumer.service((group, &name)).expect("the name is valid"), &[80]).await;
        }
        let elsewhere = in_namespace(&registry, Some("public-2"));
        let list = elsewhere.service((group, &name)).unwrap().query().await.expect("the server answers");
        assert!(list.is_empty(), "{list:?}");
    }
}

/// The body of the answer to a GET.
async fn get(http: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(http).await.expect("the server listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    let mut answer = String::new();
    in_time("the answer", stream.read_to_string(&mut answer)).await.expect("the answer is text");
    answer.split_once("\r\n\r\n").expect("a head and a body").1.to_owned()
}

async fn f12_the_same_namespaces_are_one_over_http(world: World) {
    let registry = world.registry().await;
    let name = unique("orders");
    let provider = in_namespace(&registry, None);
    let registration = service(&provider, &name).register(Instance::new(("10.0.0.1", 8017))).expect("it is valid");
    in_time("the registration", registration.confirmed_within(Duration::from_secs(30))).await.unwrap();
    let http = registry.server().http_addr();
    for namespace in ["", "&namespaceId=", "&namespaceId=public"] {
        let path = format!("/nacos/v1/ns/instance/list?serviceName={name}{namespace}");
        let what = format!("the instance is listed with {namespace:?}");
        eventually(&what, async || get(http, &path).await.contains("\"port\":8017").then_some(())).await;
    }
    let elsewhere = get(http, &format!("/nacos/v1/ns/instance/list?serviceName={name}&namespaceId=other")).await;
    assert!(elsewhere.contains("\"hosts\":[]"), "{elsewhere}");
}

async fn c04_without_the_server_calls_end_and_what_is_known_stays_readable(world: World) {
    let mut registry = world.registry().await;
    let config = registry.config().empty_policy(EmptyPolicy::Accept).deadline(Duration::from_millis(300));
    let nacos = config.build().expect("the settings are valid");
    let name = unique("orders");
    let orders = service(&nacos, &name);
    let witness = registry.witness().await;
    witness.register(&name, foreign(1)).await;
    lists(&orders, &[1]).await;
    let mut changes = subscribed(&orders).await;
    registry.goes_down().await;
    next_that(&mut changes, "the loss is told", |c| matches!(c.cause(), ChangeCause::Stale { .. })).await;

    // One after the other on the only thread there is: one that waited for ever would end the test here.
    let asked = [
        in_time("a query", orders.query()).await.map(drop),
        in_time("a refresh", orders.refresh()).await.map(drop),
        in_time("the names", nacos.services_page("", 1, 10)).await.map(drop),
        in_time("an unknown service", nacos.get_all_instances(&unique("others"), &[])).await.map(drop),
        in_time("a connection", nacos.connected(Duration::from_millis(100))).await,
    ];
    for error in asked {
        assert!(matches!(error, Err(QueryError::NotConnected { .. } | QueryError::Deadline { .. })), "{error:?}");
    }
    let confirmed = in_time("a registration", nacos.register_instance(&name, Instance::new(("10.0.0.1", 2)))).await;
    assert!(matches!(confirmed, Err(ConfirmError::Deadline { .. })), "{confirmed:?}");
    // What is known is readable at once, and says that it is old.
    let list = in_time("the list", orders.snapshot()).await.expect("it is known");
    assert!(list.stale_since().is_some());
    assert_eq!(orders.pick().expect("it is known").port, 1);
    assert_eq!(ports(&nacos.get_all_instances(&name, &[]).await.expect("it is known")), [1]);
}
