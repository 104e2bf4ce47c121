//! Bad input to the client: ill arguments of its application, and servers that are none.

use std::net::{Ipv4Addr, SocketAddr};

use nacos_client::{
    ConfigError, ConfirmError, ConnectionStatus, Instance, NamingService, QueryError, RegisterError, Validation,
};
use nacos_proto::Payload;
use nacos_server_min::fault::AnswerFault;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use crate::support::client::{LONG, connected, mine, ports, quick, service, told};
use crate::support::tap::tapped;
use crate::support::wait::{in_time, wait_until};
use crate::support::world::{World, in_our_worlds};

in_our_worlds!(what_a_server_would_refuse_is_refused_before_it_is_said);

async fn what_a_server_would_refuse_is_refused_before_it_is_said(world: World) {
    let (registry, tap, nacos) = tapped(world).await;
    connected(&nacos).await;
    let said = tap.said().len();
    for name in ["", " ", "\t", "@a", "a@@b", "a b", "s服务", &"n".repeat(513), &"n".repeat(1 << 20)] {
        let error = nacos.service(name).expect_err("no server takes it");
        assert_eq!((error.field, error.is_retryable()), ("service name", false), "{name:.20}");
    }
    for group in ["g@@h", "a b", "g/h", &"g".repeat(129), &"g".repeat(1 << 20)] {
        let error = nacos.service((group, "orders")).expect_err("no server takes it");
        assert_eq!(error.field, "group", "{group:.20}");
    }
    let orders = service(&nacos, "orders");
    let ill: Vec<(&str, Instance)> = vec![
        ("port", mine(0)),
        ("ip", Instance::new(("", 80))),
        ("ip", Instance::new((" ", 80))),
        ("ip", Instance::new(("10.0.0.1 ", 80))),
        ("ip", Instance::new(("i".repeat(129), 80))),
        ("weight", mine(80).weight(f64::NAN)),
        ("weight", mine(80).weight(f64::INFINITY)),
        ("weight", mine(80).weight(-0.1)),
        ("weight", mine(80).weight(10_000.1)),
        ("cluster", mine(80).cluster("a,b")),
        ("cluster", mine(80).cluster("a_b")),
        ("cluster", mine(80).cluster("größe")),
        ("cluster", mine(80).cluster("c".repeat(65))),
        ("metadata", mine(80).metadata("k", "v".repeat(1024))),
        ("metadata", mine(80).metadata("k".repeat(1 << 20), "")),
        ("metadata", mine(80).metadata("preserved.heart.beat.timeout", "1")),
    ];
    for (field, instance) in ill {
        let error = orders.register(instance.clone()).expect_err("no server takes it");
        let RegisterError::Invalid(invalid) = &error else { panic!("{field}: {error:?}") };
        assert_eq!((invalid.field, error.is_retryable()), (field, false), "{invalid}");
        let error = nacos.register_instance("orders", instance.clone()).await.expect_err("no server takes it");
        assert!(matches!(&error, ConfirmError::Invalid(invalid) if invalid.field == field), "{field}: {error:?}");
        let pair = [mine(81), instance];
        let error = nacos.batch_register_instance("orders", pair).await.expect_err("no server takes it");
        assert!(matches!(&error, ConfirmError::Invalid(invalid) if invalid.field == field), "{field}: {error:?}");
    }
    for text in ["host:65536", "host:-1", "host:", "host", "[::1", "::1:80", "host:80x"] {
        assert!(Instance::parse(text).is_err(), "{text}");
    }
    // Nothing of it was said or remembered, not even the good member of a batch with a bad one.
    assert_eq!(nacos.stats().redo_backlog, 0);
    let registration = orders.register(mine(8080).weight(10_000.0).metadata("k", "v".repeat(1023))).unwrap();
    registration.confirmed().await.expect("at the limits is within them");
    registration.update(|instance| instance.weight(f64::NAN)).expect_err("an update is checked as well");
    assert_eq!(registration.instance().map(|instance| instance.weight), Some(10_000.0), "and changes nothing");
    assert_eq!(tap.count("InstanceRequest"), 1);
    assert_eq!(tap.count("BatchInstanceRequest"), 0);
    assert!(tap.said().len() > said);
    registry.witness().await.sees("orders", &[8080]).await;
}

#[tokio::test]
async fn names_that_look_odd_but_are_allowed_come_through() {
    let registry = World::Standard.registry().await;
    let nacos = registry.config().timeouts(quick()).build().unwrap();
    let witness = registry.witness().await;
    let names = ["a@b", "größe-ñ", "服", "-._:~", &"n".repeat(512), "🦀", "a%20b", "\"quoted\"", "a\\b"];
    for (name, port) in names.into_iter().zip(1..) {
        let orders = service(&nacos, name);
        let odd = mine(port).metadata("schlüssel", "wert \"mit\" \\ und \u{1f980}\n").cluster("c-1");
        let registration = orders.register(odd.clone()).unwrap();
        registration.confirmed().await.unwrap_or_else(|e| panic!("{name:.20}: {e}"));
        witness.sees(name, &[i32::from(port)]).await;
        let mut changes = orders.subscribe(nacos_client::Select::all());
        let list = told(&mut changes, name, |list| ports(list) == [port]).await;
        assert_eq!(*list.instances()[0], odd, "{name:.20}");
        registration.keep();
    }
    let page = nacos.services_page("DEFAULT_GROUP", 1, 100).await.unwrap();
    assert!(names.iter().all(|name| page.names.iter().any(|listed| listed == name)), "{:?}", page.names);
}

#[tokio::test]
async fn the_servers_verdict_is_typed_when_it_is_left_to_judge() {
    let registry = World::Standard.registry().await;
    let nacos = registry.config().timeouts(quick()).validation(Validation::Server).build().unwrap();
    let refused = [
        ("a@@b", mine(80)),
        ("orders", mine(80).weight(-1.0)),
        ("orders", mine(80).cluster("a_b")),
        ("orders", mine(80).metadata("k", "v".repeat(1024))),
    ];
    for (name, instance) in refused {
        let registration = service(&nacos, name).register(instance).unwrap();
        let error = registration.confirmed().await.expect_err("the server refuses");
        assert!(matches!(&error, ConfirmError::Refused(said) if said.code == 400), "{name}: {error:?}");
    }
    let taken = service(&nacos, "port-0").register(mine(0)).unwrap();
    taken.confirmed().await.expect("servers take port 0");
    assert_eq!(nacos.stats().connects, 1);
}

#[tokio::test]
async fn settings_that_make_no_sense_are_named() {
    for entry in
        ["", " ", ",;", "host:0", "host:65536", "ho st", "[::1", "::1:8848:x", "https://host", "host/pa th", "a?b=c"]
    {
        let error = NamingService::builder().servers([entry]).build().expect_err("no such server");
        match (&error, entry.trim_matches([',', ';', ' ']).is_empty()) {
            (ConfigError::NoServers, true) => {}
            // What may be a password is not told.
            (ConfigError::Server { entry: named, .. }, false) => assert_eq!(*named, entry.replace("?b=c", "?***")),
            other => panic!("{entry}: {other:?}"),
        }
    }
    let error = NamingService::builder().servers(["host"]).namespace("n/a").build().expect_err("no such namespace");
    assert!(matches!(&error, ConfigError::Setting(invalid) if invalid.field == "namespace"), "{error:?}");
}

/// Somebody who answers every connection with the same bytes.
async fn answers(bytes: Vec<u8>) -> (SocketAddr, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    // Ends with the handle, and the connections with it.
    let task = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let bytes = bytes.clone();
            connections.spawn(async move {
                let mut heard = [0; 1024];
                // The client speaks first; whatever becomes of the connection then is its affair.
                drop(stream.read(&mut heard).await);
                drop(stream.write_all(&bytes).await);
                while stream.read(&mut heard).await.is_ok_and(|read| read > 0) {}
            });
        }
    });
    (address, AbortOnDropHandle::new(task))
}

#[tokio::test]
async fn whatever_a_server_answers_another_one_is_found() {
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    let frame = |header: &[u8], body: &[u8]| [SETTINGS, header, body].concat();
    let garbage = [
        b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".to_vec(),
        b"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\n\r\n<html>".to_vec(),
        vec![0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46],
        vec![0; 4096],
        vec![0xff; 4096],
        // GOAWAY at once; a frame of the greatest length; headers that are no HPACK; a reset of the first stream.
        frame(&[0, 0, 8, 7, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 0, 0, 11]),
        frame(&[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1], &[0; 64]),
        frame(&[0, 0, 4, 1, 4, 0, 0, 0, 1], &[0xff; 4]),
        frame(&[0, 0, 4, 3, 0, 0, 0, 0, 1], &[0, 0, 0, 2]),
        // Answers 200 without a status, and 503, as proxies do: `:status` by index, end of stream.
        frame(&[0, 0, 1, 1, 5, 0, 0, 0, 1], &[0x88]),
        frame(&[0, 0, 1, 1, 5, 0, 0, 0, 1], &[0x8e]),
    ];
    let mut tasks = JoinSet::new();
    for (index, bytes) in garbage.into_iter().enumerate() {
        tasks.spawn(async move {
            let registry = World::Standard.registry().await;
            let (ill, _task) = answers(bytes).await;
            let entry = format!("127.0.0.1:8848?grpc_port={}", ill.port());
            // Alone, it is an error that names it.
            let alone = NamingService::builder().servers([entry.as_str()]).timeouts(quick()).build().unwrap();
            let before = alone.connected(std::time::Duration::from_millis(50)).await.expect_err("that is no server");
            assert!(matches!(before, QueryError::NotConnected { .. }), "{index}: {before:?}");
            let names_it = || match alone.status().current() {
                ConnectionStatus::Connecting { last_error: Some(last), failures, .. } => {
                    failures > 1 && last.contains(&ill.to_string())
                }
                other => panic!("{index}: {other:?}"),
            };
            wait_until("attempts fail", names_it).await;
            // Beside a good one, it is only passed over.
            for _ in 0..3 {
                let entries = [entry.clone(), registry.entry()];
                let nacos = NamingService::builder().servers(entries).timeouts(quick()).build().unwrap();
                nacos.register_instance("orders", mine(8080)).await.unwrap_or_else(|e| panic!("{index}: {e}"));
            }
            in_time("it ends", alone.shutdown(LONG)).await;
        });
    }
    tasks.join_all().await;
}

#[tokio::test]
async fn answers_that_come_broken_at_any_step_of_the_set_up_are_failed_attempts() {
    let spoilt: [(&str, &[u8]); 8] = [
        ("ServerCheckResponse", b"{"),
        ("ServerCheckResponse", b"null"),
        ("ServerCheckResponse", b"\xff"),
        ("ServerCheckResponse", b"{\"resultCode\":500,\"errorCode\":300,\"message\":\"starting\"}"),
        ("ServerCheckResponse", b"{\"resultCode\":\"x\"}"),
        ("SetupAckRequest", b"{"),
        ("SetupAckRequest", b"7"),
        ("SetupAckRequest", b"{\"abilityTable\":[1]}"),
    ];
    for (kind, body) in spoilt {
        let (registry, tap, _) = tapped(World::Standard).await;
        tap.rewrite(move |answer| {
            Some(if answer.kind() == kind { Payload::new(kind, body.to_vec().into()) } else { answer })
        });
        let mut timeouts = quick();
        timeouts.setup = std::time::Duration::from_millis(200);
        let nacos = NamingService::builder().servers([tap.entry()]).timeouts(timeouts).build().unwrap();
        let registration = service(&nacos, "orders").register(mine(8080)).unwrap();
        let tried_or_connected = || tap.count("ServerCheckRequest") > 2 || nacos.status().current().is_connected();
        wait_until("it tries again, or can live with it", tried_or_connected).await;
        tap.rewrite(Some);
        in_time(kind, registration.confirmed()).await.unwrap_or_else(|e| panic!("{kind}: {e}"));
        registry.witness().await.sees("orders", &[8080]).await;
    }
}

#[tokio::test]
async fn a_server_that_is_starting_is_waited_for() {
    let registry = World::Standard.registry().await;
    registry.server().fault().starting(true);
    let nacos = registry.config().timeouts(quick()).build().unwrap();
    let registration = service(&nacos, "orders").register(mine(8080)).unwrap();
    wait_until("it has tried", || registry.proxy.accepted() > 2).await;
    assert!(!nacos.status().current().is_connected());
    registry.server().fault().starting(false);
    registration.confirmed().await.expect("it is registered");
    // A single answer of that kind, later on, is no reason to leave.
    registry.server().fault().answers(AnswerFault::error(300, "starting").request("ServiceQueryRequest").times(1));
    service(&nacos, "orders").query().await.expect("it is asked again");
    assert_eq!(nacos.stats().connects, 1);
}
