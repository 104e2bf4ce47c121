//! Clients that are broken or mean no good, beside two that are well: these go on as if nothing were.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use h2::client::ResponseFuture;
use nacos_proto::grpc::{
    ConnectionSetupRequest, HealthCheckRequest, Message, NotifySubscriberRequest, SubscribeServiceRequest,
};
use nacos_proto::{Payload, REQUEST_PATH, STREAM_PATH};
use nacos_server_min::Settings;
use nacos_tests::raw::Connection;
use prost::Message as _;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::attacker::{Attacker, PREFACE, flood, flood_until_closed, frame};
use crate::support::client::{connects_and_losses, mine, on_a_runtime_of_its_own, patient};
use crate::support::consumer::{lists, marked, prompt, service};
use crate::support::operator::ask;
use crate::support::pair::Pair;
use crate::support::proxy::Proxy;
use crate::support::wait::{eventually, in_time, wait_until};
use crate::support::witness::{Witness, foreign};
use crate::support::world::{World, unique};

/// Rounds of the well-behaved pair that each attack must leave room for.
const ROUNDS: usize = 5;

#[tokio::test]
async fn g19_a_subscriber_that_reads_nothing_slows_nobody_down() {
    let registry = World::Standard.registry().await;
    let mut pair = Pair::of(&registry).await;
    let (witness, name) = (registry.witness().await, unique("orders"));
    let mut deaf = Attacker::connect(registry.grpc()).await;
    deaf.set_up().await;
    deaf.subscribe(&name).await;
    let pushes = registry.server().counters().pushes;
    let attack = async {
        for change in 0..2_000 {
            witness.register(&name, marked(1, format!("{change}-{}", "x".repeat(900)))).await;
        }
    };
    pair.works_during(ROUNDS, attack).await;
    // Its window is 64 KiB; what does not fit is never even made.
    let pushed = registry.server().counters().pushes - pushes;
    let least = u64::try_from(pair.rounds()).expect("a number of rounds");
    assert!(pushed < 2 * least + 150, "{pushed} pushes, {least} of them for the pair");
}

#[tokio::test]
async fn a_subscriber_that_acknowledges_nothing_is_closed_and_slows_nobody_down() {
    let mut settings = Settings::default();
    settings.push_ack_timeout = Duration::from_millis(700);
    settings.push_retry_delay = Duration::from_millis(700);
    settings.push_max_delay = Duration::from_millis(1_400);
    let registry = World::Standard.registry_with(settings).await;
    let mut pair = Pair::of(&registry).await;
    let witness = registry.witness().await;
    let mut silent = Connection::open(registry.grpc(), Arc::new(|_: &Payload| None)).await.expect("the server listens");
    silent.open_stream("silent").await;
    let setup = ConnectionSetupRequest {
        labels: Some([("module".to_owned(), "naming".to_owned())].into()),
        ..ConnectionSetupRequest::default()
    };
    silent.send("silent", &Payload::encode_json(&setup));
    let names: Vec<String> = (0..100).map(|_| unique("orders")).collect();
    for name in &names {
        let request = SubscribeServiceRequest {
            namespace: Some("public".to_owned()),
            service_name: Some(name.clone()),
            group_name: Some("DEFAULT_GROUP".to_owned()),
            clusters: Some(String::new()),
            subscribe: true,
        };
        let bytes = Payload::encode_json(&request).encode_to_vec();
        silent.call(REQUEST_PATH, &bytes, false).await.expect("the subscription is answered");
    }
    let attack = async {
        for change in 0_u32.. {
            if registry.server().counters().unacknowledged_closed > 0 {
                break;
            }
            let name = &names[change as usize % names.len()];
            witness.register(name, marked(1, change)).await;
        }
    };
    pair.works_during(ROUNDS, in_time("it is closed", attack)).await;
    let inbox = silent.inbox();
    let pushed =
        inbox.look(|all| all.iter().filter(|i| format!("{i:?}").contains(NotifySubscriberRequest::TYPE)).count());
    assert!(pushed > names.len(), "it did get its lists, some of them again: {pushed}");
    assert_eq!(registry.server().counters().unacknowledged_closed, 1);
}

#[tokio::test]
async fn l01_a_client_whose_cable_is_cut_is_evicted_and_the_others_stay() {
    let mut settings = Settings::default();
    settings.detection_idle = Duration::from_secs(1);
    settings.detection_interval = Duration::from_millis(100);
    settings.detection_timeout = Duration::from_secs(4);
    let registry = World::Standard.registry_with(settings).await;
    let mut pair = Pair::of(&registry).await;
    let name = unique("orders");
    let cable = Proxy::to(registry.grpc()).await;
    let main = registry.server().http_addr().port();
    let cut =
        nacos_client::NamingService::builder().servers([cable.entry(main)]).build().expect("the settings are valid");
    let cut_off = service(&cut, &name).register(mine(100)).expect("it is valid");
    let others: Vec<_> = (0..20).map(|_| patient(&registry)).collect();
    let register = |(nacos, port)| service(nacos, &name).register(mine(port)).expect("it is valid");
    let registrations: Vec<_> = others.iter().zip(1..).map(register).collect();
    for registration in registrations.iter().chain([&cut_off]) {
        in_time("a registration", registration.confirmed()).await.expect("it is acknowledged");
    }
    let all: Vec<u16> = (1..=20).chain([100]).collect();
    let consumer = prompt(&registry);
    let orders = service(&consumer, &name);
    orders.ready().await.expect("the server answers");
    lists(&orders, &all).await;
    // No end of the connection arrives at the server, whatever the client does.
    cable.black_hole();
    let evicted = lists(&orders, &all[..20]);
    pair.works_during(ROUNDS, evicted).await;
    assert_eq!(registry.server().counters().evictions, 1, "only the silent one");
    for nacos in others.iter().chain([&consumer]) {
        assert_eq!(connects_and_losses(nacos), (1, 0), "{:?}", nacos.stats());
    }
}

#[tokio::test]
async fn thousands_who_never_finish_their_set_up_keep_nobody_out() {
    // A night may take ten thousand of them; each is two open files of this process.
    let all: usize = std::env::var("NACOS_TEST_CONNECTIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_100);
    let each = all / 3;
    let registry = World::Standard.registry().await;
    let mut pair = Pair::of(&registry).await;
    let grpc = registry.grpc();
    let attack = async {
        let (mut silent, mut begun) = (Vec::new(), Vec::new());
        for _ in 0..each {
            silent.push(TcpStream::connect(grpc).await.expect("the server listens"));
            let mut tcp = TcpStream::connect(grpc).await.expect("the server listens");
            tcp.write_all(PREFACE).await.expect("the server reads");
            begun.push(tcp);
        }
        let mut streams = Vec::new();
        for _ in 0..each {
            let mut attacker = Attacker::connect(grpc).await;
            // A stream on which the set-up never comes.
            let stream = attacker.begin(STREAM_PATH).await.expect("the server speaks HTTP/2");
            streams.push((attacker, stream));
        }
        (silent, begun, streams)
    };
    let attackers = pair.works_during(ROUNDS, attack).await;
    let open = registry.server().connections();
    assert!(open.len() > 2 * each, "they are all there, but for those that said nothing for long: {}", open.len());
    assert_eq!(open.iter().filter(|c| c.registered).count(), 2, "only the pair is registered");
    // Whoever comes now is served as well.
    let newcomer = patient(&registry);
    let registration = service(&newcomer, "orders").register(mine(1)).expect("it is valid");
    in_time("the newcomer", registration.confirmed()).await.expect("it is registered");
    pair.works_during(ROUNDS, async { drop(attackers) }).await;
    wait_until("nothing of them is left", || registry.server().connections().len() == 3).await;
}

/// A header without indexing, whose value is so long.
fn header(number: u32, length: usize) -> Vec<u8> {
    let name = format!("x-{number}");
    let mut block = vec![0, u8::try_from(name.len()).expect("it is short")];
    block.extend(name.as_bytes());
    // HPACK integers: seven bits, then groups of seven.
    let mut rest = length - 127;
    block.push(127);
    while rest >= 128 {
        block.push(u8::try_from(rest % 128).expect("seven bits") | 128);
        rest /= 128;
    }
    block.push(u8::try_from(rest).expect("seven bits"));
    block.extend(vec![b'v'; length]);
    block
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
const CANCEL: &[u8] = &[0, 0, 0, 8];
/// `:method POST`, `:scheme http`, `:path /`.
const REQUEST: &[u8] = &[0x83, 0x86, 0x84];

#[tokio::test]
async fn floods_of_headers_and_control_frames_end_with_their_connection() {
    let registry = World::Standard.registry().await;
    let mut pair = Pair::of(&registry).await;
    let grpc = registry.grpc();
    let begun = [PREFACE, &frame(HEADERS, 0, 1, REQUEST)].concat();
    let attack = async {
        // A block of headers without an end: 16 MiB, if the server took it.
        flood_until_closed(grpc, &begun, |n| frame(CONTINUATION, 0, 1, &header(n, 16_000)), 1_000).await;
        // The same in the smallest pieces.
        flood_until_closed(grpc, &begun, |_| frame(CONTINUATION, 0, 1, &[]), 100_000).await;
        // Thousands of requests with more headers than are allowed, each refused by itself.
        let large = |n: u32| {
            let block = [REQUEST, &header(1, 15_000), &header(2, 1_000)].concat();
            frame(HEADERS, END_HEADERS, 2 * n + 1, &block)
        };
        drop(flood(grpc, PREFACE, large, 300).await);
        // Requests that are taken back as soon as they are made.
        let reset = |n: u32| {
            [frame(HEADERS, END_HEADERS, 2 * n + 1, REQUEST), frame(RST_STREAM, 0, 2 * n + 1, CANCEL)].concat()
        };
        drop(flood(grpc, PREFACE, reset, 5_000).await);
        // Questions whose answers are never read.
        let pings = |_| frame(PING, 0, 0, &[0; 8]).repeat(100);
        drop(flood(grpc, PREFACE, pings, 1_000).await);
        drop(flood(grpc, PREFACE, |_| frame(SETTINGS, 0, 0, &[]).repeat(100), 1_000).await);
        // HTTP/1: a line without end, and headers without end.
        let http = registry.server().http_addr();
        flood_until_closed(http, b"GET /", |_| vec![b'a'; 10_000], 1_000).await;
        let line = |n| format!("x-{n}: {}\r\n", "v".repeat(1_000)).into_bytes();
        flood_until_closed(http, b"GET / HTTP/1.1\r\n", line, 5_000).await;
    };
    pair.works_during(ROUNDS, attack).await;
    wait_until("nothing of them is left", || registry.server().connections().len() == 2).await;
}

#[tokio::test]
async fn a_thousand_streams_on_one_connection_take_nothing_from_the_others() {
    const STREAMS: usize = 1_000;
    let registry = World::Standard.registry().await;
    let mut pair = Pair::of(&registry).await;
    let witness = registry.witness().await;
    let mut attacker = Attacker::connect(registry.grpc()).await;
    let attack = async {
        // Requests whose messages never come.
        let mut begun = Vec::new();
        for _ in 0..STREAMS {
            begun.push(attacker.begin(REQUEST_PATH).await.expect("the connection lives"));
        }
        attacker.call(&HealthCheckRequest::default()).await;
        drop(begun);
        // Streams for pushes: a few are taken.
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            streams.push(attacker.begin(STREAM_PATH).await.expect("the connection lives"));
        }
        let mut refused = 0;
        let (answers, _bodies): (Vec<_>, Vec<_>) = streams.into_iter().unzip();
        for answer in join_all(answers).await {
            let status = answer.expect("each is answered").headers().get("grpc-status").cloned();
            refused += usize::from(status.is_some_and(|status| status == "8"));
        }
        assert_eq!(refused, STREAMS - Settings::default().max_bi_streams);
    };
    pair.works_during(ROUNDS, attack).await;
    witness.sees("nothing-of-theirs", &[]).await;
}

/// The gRPC status of a request that the server has had enough of.
const EXHAUSTED: &str = "8";

/// The gRPC status that a request is answered with at once.
async fn status(answer: ResponseFuture) -> String {
    let answer = in_time("an answer", answer).await.expect("it is answered");
    let status = answer.headers().get("grpc-status").expect("a status without a body");
    status.to_str().expect("a number").to_owned()
}

#[tokio::test]
async fn giant_bodies_are_refused_before_they_take_much_memory() {
    const MIB: usize = 1024 * 1024;
    const HALVES: usize = 40;
    let mut settings = Settings::default();
    settings.max_buffered = 32 * MIB;
    let registry = World::Standard.registry_with(settings).await;
    let mut pair = Pair::of(&registry).await;
    let grpc = registry.grpc();
    let http = registry.server().http_addr();
    // Says that so much is to come, and sends a part of it.
    let announce = |size: usize, sent: usize| {
        let mut bytes = vec![0; 5 + sent];
        bytes[1..5].copy_from_slice(&u32::try_from(size).expect("it fits").to_be_bytes());
        Bytes::from(bytes)
    };
    let attack = async {
        let (mut held, mut answers) = (Vec::new(), FuturesUnordered::new());
        for _ in 0..HALVES {
            let mut attacker = Attacker::connect(grpc).await;
            let (answer, mut body) = attacker.begin(REQUEST_PATH).await.expect("the connection lives");
            body.send_data(announce(10 * MIB, 1_000), false).expect("the stream lives");
            answers.push(status(answer));
            held.push((attacker, body));
        }
        // Three of them fit into what there is; all others are told so at once.
        for _ in 3..HALVES {
            assert_eq!(in_time("a refusal", answers.next()).await.as_deref(), Some(EXHAUSTED));
        }
        assert_eq!(answers.len(), 3);
        // Larger than any message may be; small ones pass meanwhile.
        let mut attacker = Attacker::connect(grpc).await;
        let (answer, mut body) = attacker.begin(REQUEST_PATH).await.expect("the connection lives");
        body.send_data(announce(usize::try_from(u32::MAX).expect("64 bits"), 1_000), false).expect("the stream lives");
        assert_eq!(status(answer).await, EXHAUSTED);
        attacker.call(&HealthCheckRequest::default()).await;
        // By HTTP: announced only, and really sent.
        let head =
            "POST /nacos/v1/ns/instance HTTP/1.1\r\nhost: h\r\ncontent-type: application/x-www-form-urlencoded\r\n";
        let lying = format!("{head}content-length: 99999999999\r\n\r\nserviceName=");
        let lying = flood(http, lying.as_bytes(), |_| vec![b'a'; MIB / 8], 200).await;
        let chunk = [format!("{:x}\r\n", MIB / 8).as_bytes(), &vec![b'a'; MIB / 8], b"\r\n"].concat();
        let endless =
            flood(http, format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes(), |_| chunk.clone(), 200).await;
        (held, lying, endless)
    };
    let held = pair.works_during(ROUNDS, attack).await;
    pair.works_during(ROUNDS, async { drop(held) }).await;
    assert_eq!(ask(http, "GET", "/nacos/v1/console/health/liveness").await.0, 200);
}

/// A server, providers and consumers on one runtime, from the start to the end.
async fn everything_on_this_runtime() {
    let registry = World::Standard.registry().await;
    let mut pair = Pair::of(&registry).await;
    let name = unique("orders");
    let everybody = async {
        let clients: Vec<_> = (0..20).map(|_| patient(&registry)).collect();
        let register = |(nacos, port)| service(nacos, &name).register(mine(port)).expect("it is valid");
        let registrations: Vec<_> = clients.iter().zip(1..).map(register).collect();
        for registration in &registrations {
            in_time("a registration", registration.confirmed()).await.expect("it is acknowledged");
        }
        let witness = Witness::join(registry.grpc()).await;
        witness.register(&name, foreign(99)).await;
        let all: Vec<i32> = (1..=20).chain([99]).collect();
        witness.sees(&name, &all).await;
        let over_http = async || {
            let list = registry.v1("GET", &format!("/instance/list?serviceName={name}")).await;
            list["hosts"].as_array().is_some_and(|hosts| hosts.len() == all.len()).then_some(())
        };
        eventually("HTTP shows the same", over_http).await;
        join_all(clients.iter().map(|nacos| nacos.shutdown(Duration::from_secs(10)))).await;
        witness.sees(&name, &[99]).await;
    };
    pair.works_during(ROUNDS, everybody).await;
}

#[tokio::test]
async fn g20_a_server_and_its_clients_live_on_one_thread() {
    on_a_runtime_of_its_own(everything_on_this_runtime).await;
}

#[test]
fn g20_a_server_and_its_clients_live_with_one_worker() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    runtime.block_on(everything_on_this_runtime());
}
