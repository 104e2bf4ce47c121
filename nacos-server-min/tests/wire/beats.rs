//! Instances that live by beats over HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use nacos_server_min::{Behaviour, Server, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::call;
use crate::support::{Peer, eventually, instance, ports};

/// Unhealthy after 200 ms without a beat, removed after 600 ms.
const QUICK: &str = "metadata=%7B%22preserved.heart.beat.interval%22%3A%22100%22%2C\
                     %22preserved.heart.beat.timeout%22%3A%22200%22%2C%22preserved.ip.delete.timeout%22%3A%22600%22%7D";
const ONE: &str = "serviceName=orders&ip=10.0.0.1&port=80";

fn quick() -> Settings {
    let mut settings = Settings::default();
    settings.beat_check_interval = Duration::from_millis(20);
    settings
}

async fn server() -> Server {
    Server::builder().settings(quick()).start().await.expect("free ports")
}

/// Status and text of one call under `/v1/ns`.
async fn ask(addr: SocketAddr, method: &str, path: &str) -> (u16, String) {
    call(addr, method, &format!("/nacos/v1/ns{path}"), None).await
}

async fn register(addr: SocketAddr, query: &str) {
    assert_eq!(ask(addr, "POST", &format!("/instance?{query}")).await, (200, "ok".to_owned()));
}

async fn deregister(addr: SocketAddr, query: &str) {
    assert_eq!(ask(addr, "DELETE", &format!("/instance?{query}")).await, (200, "ok".to_owned()));
}

/// The code of the answer to a beat.
async fn beat(addr: SocketAddr, query: &str) -> i64 {
    let (status, body) = ask(addr, "PUT", &format!("/instance/beat?{query}")).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Value>(&body).expect("JSON")["code"].as_i64().expect("a code")
}

async fn hosts(addr: SocketAddr) -> Vec<Value> {
    let (_, body) = ask(addr, "GET", "/instance/list?serviceName=orders").await;
    serde_json::from_str::<Value>(&body).expect("JSON")["hosts"].as_array().expect("hosts").clone()
}

/// A full beat of 10.0.0.1:80.
fn full(weight: u32) -> String {
    let json =
        format!("{{\"ip\":\"10.0.0.1\",\"port\":80,\"weight\":{weight},\"metadata\":{{\"a\":\"{{1}}\",\"n\":2}}}}");
    format!("serviceName=orders&beat={}", json.replace('"', "%22").replace('{', "%7B").replace('}', "%7D"))
}

#[tokio::test]
async fn subscribers_hear_of_silence_and_of_its_end() {
    let server = server().await;
    let addr = server.http_addr();
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    register(addr, &format!("{ONE}&{QUICK}")).await;
    assert_eq!(stream.acked_push().await["hosts"][0]["healthy"], true);
    assert_eq!(stream.acked_push().await["hosts"][0]["healthy"], false);
    assert_eq!(beat(addr, ONE).await, 10_200);
    assert_eq!(stream.acked_push().await["hosts"][0]["healthy"], true);
    assert_eq!(stream.acked_push().await["hosts"][0]["healthy"], false);
    assert_eq!(ports(&stream.acked_push().await), [0u64; 0]);
    assert_eq!(beat(addr, ONE).await, 20_404);
    let counters = server.counters();
    let seen = (counters.beats, counters.beats_unknown, counters.instances_unhealthy, counters.instances_expired);
    assert_eq!(seen, (2, 1, 2, 1));
}

#[tokio::test]
async fn h14_who_beats_in_time_is_never_pushed_again() {
    let server = server().await;
    let addr = server.http_addr();
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    register(addr, &format!("{ONE}&{}", QUICK.replace("200", "2000").replace("600", "2000"))).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    let before = server.counters().pushes;
    // 3 s are beyond both of its times.
    let end = tokio::time::Instant::now() + Duration::from_secs(3);
    while tokio::time::Instant::now() < end {
        assert_eq!(beat(addr, ONE).await, 10_200);
    }
    assert_eq!(server.counters().pushes, before);
}

#[tokio::test]
async fn h03_only_a_full_beat_registers_and_with_all_it_says() {
    let server = server().await;
    let addr = server.http_addr();
    assert_eq!(beat(addr, ONE).await, 20_404);
    assert!(hosts(addr).await.is_empty());
    assert_eq!(beat(addr, &full(3)).await, 10_200);
    let shown = hosts(addr).await;
    assert_eq!(
        (shown.len(), &shown[0]["weight"], &shown[0]["metadata"]),
        (1, &json!(3.0), &json!({"a": "{1}", "n": "2"}))
    );
    assert_eq!(beat(addr, &full(7)).await, 10_200);
    assert_eq!(hosts(addr).await, shown, "of a known instance a beat changes nothing");
    for (json, text) in [
        ("hello", "Param 'beat' is illegal, it should be the JSON of a beat"),
        ("%7B%22weight%22%3A-1%7D", "Param 'ip' is"),
        ("%7B%22ip%22%3A%2210.0.0.9%22%2C%22port%22%3A70000%7D", "Param 'port' is illegal"),
        ("%7B%22ip%22%3A%2210.0.0.9%22%2C%22weight%22%3A10001%7D", "instance format invalid"),
        ("%7B%22ip%22%3A%2210.0.0.9%22%2C%22cluster%22%3A%22a_b%22%7D", "Instance 'clusterName'"),
    ] {
        let (status, body) = ask(addr, "PUT", &format!("/instance/beat?serviceName=orders&beat={json}")).await;
        assert!(status == 400 && body.starts_with(text), "{json}: {status} {body}");
    }
    assert_eq!(hosts(addr).await, shown);
}

#[tokio::test]
async fn l07_a_beat_under_way_when_its_instance_is_deregistered_is_answered_and_ignored() {
    let server = server().await;
    let addr = server.http_addr();
    register(addr, ONE).await;
    deregister(addr, ONE).await;
    assert_eq!((beat(addr, ONE).await, beat(addr, &full(1)).await), (10_200, 10_200), "20404 would make it register");
    assert!(hosts(addr).await.is_empty());
    assert_eq!(server.counters().beats_too_late, 2);
    register(addr, ONE).await;
    assert_eq!((hosts(addr).await.len(), beat(addr, ONE).await), (1, 10_200));
    deregister(addr, ONE).await;
    // Its own interval is over sooner than the usual one.
    register(addr, &format!("{ONE}&{QUICK}")).await;
    deregister(addr, ONE).await;
    eventually("a beat counts again", || async { beat(addr, ONE).await == 20_404 }).await;
    assert_eq!(beat(addr, &full(1)).await, 10_200);
    assert_eq!(hosts(addr).await.len(), 1);
}

#[tokio::test]
async fn as_recorded_a_late_full_beat_raises_the_dead() {
    let server = Server::builder().behaviour(Behaviour::Nacos25).start().await.expect("free ports");
    let addr = server.http_addr();
    register(addr, ONE).await;
    deregister(addr, ONE).await;
    assert_eq!((beat(addr, ONE).await, beat(addr, &full(1)).await), (20_404, 10_200));
    eventually("it is back", || async { hosts(addr).await.len() == 1 }).await;
}

#[tokio::test]
async fn l13_a_step_of_the_wall_clock_expires_nobody() {
    let server = server().await;
    let addr = server.http_addr();
    register(addr, ONE).await;
    register(addr, &format!("serviceName=orders&ip=10.0.0.2&port=80&{QUICK}")).await;
    server.fault().skew_clock(3_600_000);
    eventually("the silent one goes after its own time", || async { hosts(addr).await.len() == 1 }).await;
    register(addr, &format!("serviceName=orders&ip=10.0.0.3&port=80&{QUICK}")).await;
    server.fault().skew_clock(-3_600_000);
    eventually("and so it does when time seems to go back", || async { hosts(addr).await.len() == 1 }).await;
    assert_eq!((&hosts(addr).await[0]["ip"], &hosts(addr).await[0]["healthy"]), (&json!("10.0.0.1"), &json!(true)));
}

#[tokio::test]
async fn the_switches_count() {
    let server = server().await;
    let addr = server.http_addr();
    let turn = |entry: &'static str, value: &'static str| async move {
        let path = format!("/operator/switches?entry={entry}&value={value}");
        assert_eq!(ask(addr, "PUT", &path).await, (200, "ok".to_owned()));
    };
    turn("check", "false").await;
    register(addr, &format!("{ONE}&{QUICK}")).await;
    register(addr, "serviceName=orders&ip=10.0.0.2&port=80").await;
    turn("clientBeatInterval", "7000").await;
    turn("lightBeatEnabled", "false").await;
    let other = ask(addr, "PUT", "/instance/beat?serviceName=orders&ip=10.0.0.2&port=80").await;
    assert_eq!(other, (200, r#"{"clientBeatInterval":7000,"code":10200,"lightBeatEnabled":false}"#.to_owned()));
    let own = ask(addr, "PUT", &format!("/instance/beat?{ONE}")).await;
    assert_eq!(own, (200, r#"{"clientBeatInterval":100,"code":10200,"lightBeatEnabled":false}"#.to_owned()));
    // Long enough for a check that took place all the same.
    let end = tokio::time::Instant::now() + Duration::from_millis(900);
    while tokio::time::Instant::now() < end {
        assert!(hosts(addr).await.iter().all(|host| host["healthy"] == true));
    }
    turn("check", "true").await;
    eventually("the check goes on", || async { hosts(addr).await.len() == 1 }).await;
}

#[tokio::test]
async fn where_nothing_is_removed_the_silent_stay() {
    let mut settings = quick();
    settings.expire_instances = false;
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let addr = server.http_addr();
    register(addr, &format!("{ONE}&{QUICK}")).await;
    register(addr, &format!("serviceName=others&ip=10.0.0.1&port=80&{QUICK}")).await;
    eventually("both are unhealthy", async || server.counters().instances_unhealthy == 2).await;
    deregister(addr, "serviceName=others&ip=10.0.0.1&port=80").await;
    assert_eq!((hosts(addr).await.len(), server.counters().instances_expired), (1, 0));
}

#[tokio::test]
async fn the_generations_share_their_instances() {
    let server = server().await;
    let addr = server.http_addr();
    let post = |query: &'static str| async move {
        let (status, body) = call(addr, "POST", &format!("/nacos/v3/client/ns/instance?{query}"), None).await;
        (status, serde_json::from_str::<Value>(&body).expect("JSON")["code"].as_i64().expect("a code"))
    };
    assert_eq!(post("serviceName=orders&ip=10.0.0.1&port=80&heartBeat=true").await, (200, 21_003));
    assert_eq!(post("serviceName=orders&ip=10.0.0.1&port=80").await, (200, 0));
    assert_eq!(post("serviceName=orders&ip=10.0.0.1&port=80&heartBeat=true").await, (200, 0));
    assert_eq!(beat(addr, ONE).await, 10_200);
    let v2 = "/nacos/v2/ns/instance/beat?serviceName=DEFAULT_GROUP%40%40orders&ip=10.0.0.1&port=80";
    let known = r#"{"clientBeatInterval":5000,"code":10200,"lightBeatEnabled":true}"#;
    assert_eq!(call(addr, "PUT", v2, None).await, (200, known.to_owned()));
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    peer.register("orders", instance("10.0.0.2", 80)).await;
    assert_eq!(peer.query("orders").await.hosts(), &hosts(addr).await, "a host is shown alike on both ports");
    let second = "serviceName=orders&ip=10.0.0.2&port=80";
    assert_eq!(beat(addr, second).await, 20_404, "a connection keeps its instance, and no beat does");
    // Both may keep one address: whichever goes, the other one's instance stays.
    register(addr, &format!("{second}&{QUICK}")).await;
    eventually("its beats are missed", async || server.counters().instances_expired == 1).await;
    assert_eq!(hosts(addr).await.len(), 2);
}

#[tokio::test]
async fn h16_many_registrations_of_a_new_service_at_once_all_succeed() {
    let server = server().await;
    let addr = server.http_addr();
    let mut calls = tokio::task::JoinSet::new();
    for port in 1..=200 {
        calls.spawn(async move { register(addr, &format!("serviceName=orders&ip=10.0.0.1&port={port}")).await });
    }
    while let Some(done) = calls.join_next().await {
        done.expect("a registration");
    }
    assert_eq!(hosts(addr).await.len(), 200);
}

/// The whole answer to a beat with this body, its date left out.
async fn raw_beat(addr: SocketAddr, query: &str, headers: &str, body: &str) -> String {
    let mut tcp = TcpStream::connect(addr).await.expect("it listens");
    let request = format!(
        "PUT /nacos/v1/ns/instance/beat?{query} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{headers}\r\n{body}"
    );
    tcp.write_all(request.as_bytes()).await.expect("written");
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await.expect("an answer");
    let mut lines: Vec<&str> = answer.lines().filter(|line| !line.starts_with("date: ")).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[tokio::test]
async fn a_beat_without_a_body_is_answered_as_the_router_would() {
    let server = server().await;
    let addr = server.http_addr();
    register(addr, ONE).await;
    let limit = "entry=limitedUrlMap&value=/nacos/v1/ns/instance/beat:404";
    for switch in ["", limit, "entry=limitedUrlMap&value=", "entry=overriddenServerStatus&value=DOWN"] {
        if !switch.is_empty() {
            assert_eq!(ask(addr, "PUT", &format!("/operator/switches?{switch}")).await.0, 200, "{switch}");
        }
        for query in [
            ONE,
            "serviceName=orders&ip=10.0.0.2&port=80",
            "serviceName=G%40%40orders&ip=10.0.0.2&port=80&namespaceId=n",
            "serviceName=&ip=10.0.0.1&port=80",
            "ip=10.0.0.1&port=80",
            "serviceName=orders&ip=10.0.0.1&port=70000",
            "serviceName=or+ders&ip=10.0.0.1&port=80",
            "serviceName=orders&ip=10.0.0.1&port=80&clusterName=a/b",
            &full(2),
            "serviceName=orders&beat=%7B",
        ] {
            for accept in ["", "accept: text/html\r\n", "accept: application/xml\r\n", "user-agent: Nacos-Server\r\n"] {
                let at_once = raw_beat(addr, query, accept, "").await;
                let empty = format!("{accept}transfer-encoding: chunked\r\n");
                let routed = raw_beat(addr, query, &empty, "0\r\n\r\n").await;
                assert_eq!(at_once, routed, "{switch} {query} {accept}");
            }
        }
    }
    // The same things were counted.
    let counters = server.counters();
    assert_eq!(counters.beats % 2, 0);
}
