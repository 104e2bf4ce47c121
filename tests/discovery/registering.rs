//! The life of a registration: made, refused, changed, moved, taken back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;
use nacos_client::{InstanceAddr, Protocol, ServiceKey};
use nacos_discovery::{
    Discovery, DiscoveryClient, DiscoveryConfig, NacosDiscovery, Off, RegisterError, Registered, RegistrationState,
    Status,
};
use nacos_server_min::Server;
use nacos_server_min::fault::AnswerFault;
use nacos_tests::wait::{eventually, in_time, wait_until};
use tokio::sync::oneshot;

use crate::support::*;

#[tokio::test]
async fn sc19_the_registered_port_is_the_one_listened_on_and_the_address_too() {
    let registry = registry().await;
    let (_listener, address) = listen().await;
    let me = provider(&registry).registrar().register(address).await.unwrap();
    assert_eq!(me.state(), RegistrationState::Registered);
    let hosts = listed(&registry, SERVICE).await;
    assert_eq!((&hosts[0]["ip"], &hosts[0]["port"]), (&"127.0.0.1".into(), &address.port().into()));
    assert_eq!(hosts[0]["metadata"]["preserved.register.source"], "RUST");
    registry.shutdown().await;
}

#[tokio::test]
async fn sc19_nothing_is_registered_before_it_is_ready() {
    let registry = registry().await;
    let (warm, warmed) = oneshot::channel::<()>();
    let begun = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&begun);
    let ready = async move {
        seen.store(true, Ordering::SeqCst);
        warmed.await
    };
    let registrar = provider(&registry).registrar();
    let readiness = registrar.readiness().clone();
    let registering = tokio::spawn(registrar.register_when("127.0.0.1:4711".parse().unwrap(), ready));
    wait_until("the warm-up", || begun.load(Ordering::SeqCst)).await;
    assert!(listed(&registry, SERVICE).await.is_empty() && !readiness.is_ready());
    warm.send(()).unwrap();
    let me = in_time("the registration", registering).await.unwrap().unwrap();
    assert_eq!(listed(&registry, SERVICE).await.len(), 1);
    assert!(readiness.is_ready());
    drop(me);
}

#[tokio::test]
async fn a_port_of_0_is_refused_with_advice() {
    let registry = registry().await;
    let error = provider(&registry).registrar().register(FREE).await.unwrap_err();
    assert!(matches!(error, RegisterError::NoPort), "{error}");
    let advertised = application(settings(&registry).port(8080)).registrar().register(FREE).await.unwrap();
    assert_eq!(listed(&registry, SERVICE).await[0]["port"], 8080);
    drop(advertised);
}

#[tokio::test]
async fn without_a_name_or_switched_off_nothing_is_registered_and_it_is_ready_all_the_same() {
    let registry = registry().await;
    let server = registry.server_addr();
    let nameless = DiscoveryConfig::builder().server_addr(&server);
    let off = |key: &str| settings(&registry).property(&format!("spring.cloud.nacos.discovery.{key}"), "false");
    for (settings, why) in
        [(nameless, Off::NoService), (off("register-enabled"), Off::Disabled), (off("enabled"), Off::Disabled)]
    {
        let me = application(settings).registrar().register("127.0.0.1:1".parse().unwrap()).await.unwrap();
        assert_eq!(me.state(), RegistrationState::Off(why));
        assert!(me.readiness().is_ready() && me.registration().is_none());
        assert_eq!(me.status().await.unwrap(), None);
        assert!(matches!(me.set_status(Status::Down).await, Err(RegisterError::NotRegistered(_))));
        assert!(me.shutdown().await.is_clean());
    }
    assert!(listed(&registry, SERVICE).await.is_empty());
}

#[tokio::test]
async fn a_registry_that_is_away_fails_the_start_or_is_waited_for_as_the_settings_say() {
    let registry = registry().await;
    let (server, port) = (registry.server_addr(), registry.http_addr().port());
    registry.shutdown().await;
    let settings = || impatient(DiscoveryConfig::builder().server_addr(&server).service(SERVICE));
    let address = "127.0.0.1:4711".parse().unwrap();

    let strict = application(settings());
    let error = in_time("the failure", strict.registrar().register(address)).await.unwrap_err();
    assert!(matches!(error, RegisterError::Confirm(_)) && error.is_retryable(), "{error}");

    let patient = application(settings().fail_fast(false));
    let me = in_time("the start", patient.registrar().register(address)).await.unwrap();
    assert!(!me.readiness().is_ready(), "no consumer knows it");

    let registry = Server::builder().port(port).start().await.unwrap();
    until_state(&me, |state| *state == RegistrationState::Registered).await;
    assert_eq!(listed(&registry, SERVICE).await.len(), 1, "the strict one left no wish behind");
    assert!(me.readiness().is_ready());

    registry.shutdown().await;
    until_state(&me, |state| *state != RegistrationState::Registered).await;
    assert!(me.readiness().is_ready(), "a registry that is away takes nobody out of service");
}

#[tokio::test]
async fn a_refusal_is_an_error_or_a_state_as_the_settings_say() {
    let registry = registry().await;
    let refusal = || AnswerFault::error(400, "not you").request("InstanceRequest");
    registry.fault().answers(refusal());
    let address = "127.0.0.1:4711".parse().unwrap();
    let error = provider(&registry).registrar().register(address).await.unwrap_err();
    assert!(matches!(error, RegisterError::Confirm(_)) && !error.is_retryable(), "{error}");

    let patient = application(settings(&registry).fail_fast(false));
    let me = patient.registrar().register(address).await.unwrap();
    assert!(matches!(me.state(), RegistrationState::Refused(_)), "{}", me.state());
    assert!(!me.readiness().is_ready());
    registry.fault().clear_answers();
    me.update(|registration| registration.instance.weight = 2.0).await.unwrap();
    assert_eq!(listed(&registry, SERVICE).await[0]["weight"], 2.0);
}

#[tokio::test]
async fn a_status_changes_nothing_that_an_operator_set() {
    a_status_keeps_an_operators_changes(&registry().await).await;
}

mod peer {
    #[tokio::test]
    #[ignore = "needs the server that NACOS_PEER names"]
    async fn a_status_changes_nothing_that_an_operator_set() {
        super::a_status_keeps_an_operators_changes(&super::Peer::of_environment()).await;
    }
}

async fn a_status_keeps_an_operators_changes(registry: &impl Registry) {
    // A console replaces all settings, and so the enabled flag too; other tools change some.
    for (method, port, whole) in [("PUT", 4711, true), ("PATCH", 4712, false)] {
        let discovery = over(registry.protocol(), registry, settings(registry).metadata("version", "v1"));
        let registrar = discovery.registrar().plan(quick);
        let me = registrar.register(([127, 0, 0, 1], port).into()).await.expect("it registers");
        me.set_status(Status::Up).await.expect("up");
        let own = format!("/instance?serviceName=DEFAULT_GROUP@@orders&ip=127.0.0.1&port={port}");
        operate(registry, method, &format!("{own}&weight=7&metadata=%7B%22version%22%3A%22v2%22%7D")).await;
        eventually("the operator's change", async || {
            listed(registry, SERVICE).await.first().filter(|host| host["weight"] == 7.0).cloned()
        })
        .await;

        for round in 0..2 {
            me.set_status(Status::Down).await.expect("down");
            assert_eq!(me.state() == RegistrationState::Withheld, whole && registry.keeps_overrides());
            until_listed(registry, SERVICE, 0).await;
            assert_eq!(me.status().await.expect("an answer"), Some(Status::Down));
            assert!(!me.readiness().is_ready());
            me.set_status(Status::Down).await.expect("down");
            let key = format!("k{round}");
            me.update(|own| drop(own.instance.metadata.insert(key.clone(), "v".into()))).await.expect("a change");
            assert!(listed(registry, SERVICE).await.is_empty(), "a change brings nobody back");

            me.set_status(Status::Up).await.expect("up");
            let hosts = until_listed(registry, SERVICE, 1).await;
            let host = &hosts[0];
            assert_eq!((&host["weight"], &host["metadata"]["version"]), (&7.0.into(), &"v2".into()));
            assert_eq!(host["metadata"][&key], "v");
        }
        me.set_status(Status::Down).await.expect("down");
        assert!(in_time("the end", me.shutdown()).await.is_clean());
    }
}

#[tokio::test]
async fn a_status_leaves_everything_else_as_it_was_registered() {
    let registry = registry().await;
    let settings = settings(&registry).property("spring.cloud.nacos.discovery.weight", "4").metadata("version", "v1");
    let me = registered(&application(settings)).await;
    let before = listed(&registry, SERVICE).await;
    me.set_status(Status::Down).await.unwrap();
    me.set_status(Status::Up).await.unwrap();
    let after = listed(&registry, SERVICE).await;
    for field in ["weight", "metadata", "enabled", "clusterName"] {
        assert_eq!(before[0][field], after[0][field], "{field}");
    }
    assert_eq!(after[0]["weight"], 4.0);
}

#[tokio::test]
async fn of_two_statuses_at_the_same_time_the_later_one_stays() {
    let registry = registry().await;
    let me = registered(&provider(&registry)).await;
    // With an operator's setting, to set it down takes a look at the registry and then a step of its own.
    operate(&registry, "PUT", "/instance?serviceName=orders&ip=127.0.0.1&port=4711&weight=7&enabled=true").await;
    let other = me.clone();
    let down = tokio::spawn(async move { other.set_status(Status::Down).await });
    wait_until("it is wanted down", || !me.registration().unwrap().instance.enabled).await;
    me.set_status(Status::Up).await.unwrap();
    let ended = in_time("the first", down).await.unwrap();
    assert_eq!(me.state(), RegistrationState::Registered, "{ended:?}");
    assert_eq!(listed(&registry, SERVICE).await.len(), 1);
}

#[tokio::test]
async fn an_instance_that_an_operator_disabled_stays_disabled() {
    let registry = registry().await;
    let me = registered(&provider(&registry)).await;
    let own = "/instance?serviceName=orders&ip=127.0.0.1&port=4711";
    operate(&registry, "PUT", &format!("{own}&enabled=false")).await;
    assert_eq!(me.status().await.unwrap(), Some(Status::Down));
    let error = me.set_status(Status::Up).await.unwrap_err();
    assert!(matches!(error, RegisterError::Overridden { wanted: Status::Up }), "{error}");
    assert_eq!(me.status().await.unwrap(), Some(Status::Down), "only the operator enables it again");
    operate(&registry, "PUT", &format!("{own}&enabled=true")).await;
    assert_eq!(me.status().await.unwrap(), Some(Status::Up));
}

#[tokio::test]
async fn over_http_a_change_takes_over_what_an_operator_made_of_the_instance() {
    let registry = registry().await;
    let discovery = over(Protocol::Http, &registry, settings(&registry).metadata("version", "v1"));
    let me = discovery.registrar().plan(quick).register("127.0.0.1:4711".parse().unwrap()).await.unwrap();
    let own = "/instance?serviceName=orders&ip=127.0.0.1&port=4711";
    operate(&registry, "PATCH", &format!("{own}&weight=7&metadata=%7B%22version%22%3A%22v2%22%7D")).await;
    me.set_status(Status::Down).await.unwrap();
    let instance = me.registration().unwrap().instance;
    assert_eq!((instance.weight, &*instance.metadata["version"]), (7.0, "v2"), "1.x has one row for both");
    assert!(me.shutdown().await.is_clean());
}

#[tokio::test]
async fn changes_at_the_same_time_are_all_made() {
    let registry = registry().await;
    let me = registered(&provider(&registry)).await;
    let changes = (0..20).map(|n| {
        let me = me.clone();
        tokio::spawn(async move {
            me.update(|registration| {
                registration.instance.metadata.insert(format!("k{n}"), n.to_string());
            })
            .await
        })
    });
    for change in changes.collect::<Vec<_>>() {
        in_time("a change", change).await.unwrap().unwrap();
    }
    let hosts = listed(&registry, SERVICE).await;
    let metadata = hosts[0]["metadata"].as_object().unwrap();
    assert_eq!(metadata.keys().filter(|key| key.starts_with('k')).count(), 20);
}

#[tokio::test]
async fn an_invalid_change_changes_nothing() {
    let registry = registry().await;
    let me = registered(&provider(&registry)).await;
    let error = me.update(|registration| registration.instance.weight = -1.0).await.unwrap_err();
    assert!(matches!(error, RegisterError::Invalid(_)), "{error}");
    let error = me.update(|registration| registration.service = ServiceKey::new("", "")).await.unwrap_err();
    assert!(matches!(error, RegisterError::Invalid(_)), "{error}");
    assert_eq!(me.registration().unwrap().instance.weight, 1.0);
    assert_eq!(listed(&registry, SERVICE).await.len(), 1);
}

#[tokio::test]
async fn another_address_is_registered_before_the_old_one_goes() {
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let registry = registry().await;
        let me = registered(&over(protocol, &registry, settings(&registry))).await;
        let consumer = NacosDiscovery::new(provider(&registry).nacos().clone());
        let mut changes = consumer.watch(&ServiceKey::new("", SERVICE)).unwrap();
        for port in [4712, 4713, 4714] {
            let (moved, ()) = tokio::join!(me.update(|registration| registration.instance.port = port), async {
                loop {
                    let change = in_time("a list", changes.next()).await.unwrap();
                    assert!(!change.list.is_empty(), "nobody left in the meantime");
                    if change.list.len() == 1 && change.list[0].port() == port {
                        return;
                    }
                }
            });
            moved.unwrap();
        }
        assert_eq!(listed(&registry, SERVICE).await.len(), 1, "{protocol}");
    }
}

#[tokio::test]
async fn another_service_is_joined_before_the_old_one_is_left() {
    for protocol in [Protocol::Grpc, Protocol::Http] {
        let registry = registry().await;
        let me = registered(&over(protocol, &registry, settings(&registry))).await;
        me.update(|registration| registration.service = ServiceKey::new("", "orders-v2")).await.unwrap();
        assert_eq!(listed(&registry, "orders-v2").await.len(), 1);
        assert!(listed(&registry, SERVICE).await.is_empty());
        me.update(|registration| registration.instance.weight = 3.0).await.unwrap();
        assert_eq!(listed(&registry, "orders-v2").await[0]["weight"], 3.0, "{protocol}");
        assert!(me.shutdown().await.is_clean());
        assert!(listed(&registry, "orders-v2").await.is_empty());
    }
}

async fn registered(discovery: &Discovery) -> Registered {
    let registrar = discovery.registrar().plan(quick);
    registrar.register("127.0.0.1:4711".parse().expect("an address")).await.expect("it registers")
}

#[tokio::test]
async fn what_is_registered_can_be_changed_before() {
    let registry = registry().await;
    let me = provider(&registry)
        .registrar()
        .customize(|registration| registration.instance.weight = 4.0)
        .customize(|registration| {
            let other = nacos_client::Instance::new(InstanceAddr::new("10.9.8.7", 99));
            (registration.instance.ip, registration.instance.port) = (other.ip, other.port);
        })
        .register("127.0.0.1:4711".parse().unwrap())
        .await
        .unwrap();
    let hosts = listed(&registry, SERVICE).await;
    assert_eq!((&hosts[0]["ip"], &hosts[0]["weight"]), (&"10.9.8.7".into(), &4.0.into()));
    drop(me);
    until_listed(&registry, SERVICE, 0).await;
}

#[tokio::test]
async fn a_persistent_instance_is_removed_by_the_shutdown_and_by_the_drop() {
    let registry = registry().await;
    for by_drop in [false, true] {
        let discovery = application(settings(&registry).ephemeral(false));
        let me = discovery.registrar().plan(quick).register("127.0.0.9:4711".parse().unwrap()).await.unwrap();
        assert_eq!(listed(&registry, SERVICE).await[0]["ephemeral"], false);
        if by_drop {
            drop(me);
            until_listed(&registry, SERVICE, 0).await;
        } else {
            assert!(me.shutdown().await.is_clean());
            assert!(listed(&registry, SERVICE).await.is_empty());
        }
    }
}

#[tokio::test]
async fn after_the_client_is_shut_down_it_says_so() {
    let registry = registry().await;
    let discovery = provider(&registry);
    let me = discovery.registrar().register("127.0.0.1:4711".parse().unwrap()).await.unwrap();
    discovery.shutdown(std::time::Duration::from_secs(5)).await;
    until_state(&me, |state| *state == RegistrationState::Deregistered).await;
    assert!(me.update(|_| ()).await.is_err() && !me.readiness().is_ready());
    let again = discovery.registrar().register("127.0.0.1:4711".parse().unwrap()).await;
    assert!(matches!(again, Err(RegisterError::Start(_))), "no path builds a client anew");
    assert!(in_time("the shutdown", me.shutdown()).await.is_clean());
}
