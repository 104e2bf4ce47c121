//! Real stubs of tonic over the balancer, against real servers: every kind of call, where it goes, and how long it lasts.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use http::HeaderName;
use nacos_client::Instance;
use nacos_discovery::route::{RequestTags, RouteDocument};
use nacos_discovery::{BalanceSettings, ConsistentHash, HashKey, HashOn, ServedBy, ServiceSettings};
use nacos_tests::wait::{eventually, in_time, wait_until};
use tokio::sync::mpsc;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request};

use crate::calling::*;
use crate::echo::Asked;
use crate::echo::echo_client::EchoClient;
use crate::echo_server::*;
use crate::fault_server::Refusing;
use crate::support::*;

/// Long enough for anything here, short enough to be seen in what an instance is told.
const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn every_kind_of_call_goes_through_a_stub_and_is_in_flight_until_its_last_message() {
    let server = EchoServer::start().await;
    let directory = directory([server.instance()], ServiceSettings::default());
    let mut stub = stub(&directory);

    let once = stub.once(asked("a")).await.unwrap();
    assert_eq!(once.extensions().get::<ServedBy>().unwrap().to_string(), format!("http://{}", server.address()));
    let told = once.into_inner();
    assert_eq!((told.text.as_str(), told.by), ("a", server.address().to_string()));
    assert_eq!(in_flight(&directory), 0);

    let mut many = stub.many(Asked { text: String::new(), count: 3 }).await.unwrap().into_inner();
    for number in ["0", "1", "2"] {
        assert_eq!(in_flight(&directory), 1);
        assert_eq!(many.message().await.unwrap().unwrap().text, number);
    }
    assert_eq!((many.message().await.unwrap(), in_flight(&directory)), (None, 0));

    let gathered = stub.gather(stream::iter(["a", "b", "c"].map(asked))).await.unwrap();
    assert_eq!(gathered.into_inner().text, "a b c");

    // Each answer before the next message: neither side waits for the end of the other.
    let (sender, messages) = mpsc::channel(1);
    let messages = stream::unfold(messages, async |mut messages| Some((messages.recv().await?, messages)));
    let mut chat = stub.chat(messages).await.unwrap().into_inner();
    for text in ["a", "b"] {
        sender.send(asked(text)).await.unwrap();
        assert_eq!(in_time("an answer", chat.message()).await.unwrap().unwrap().text, text);
        assert_eq!(in_flight(&directory), 1);
    }
    drop(sender);
    assert_eq!((in_time("the end", chat.message()).await.unwrap(), in_flight(&directory)), (None, 0));
    assert_eq!(server.calls(), 4);
}

#[tokio::test]
async fn each_call_of_a_stub_picks_for_itself_and_the_weights_say_how_often_whom() {
    const CALLS: u32 = 4_000;
    let servers = [EchoServer::start().await, EchoServer::start().await];
    let weights = [1.0, 3.0];
    let instances = servers.iter().zip(weights).map(|(server, weight)| server.instance().weight(weight));
    let directory = directory(instances, ServiceSettings::default());
    let stub = stub(&directory);
    let calls = stream::iter(0..CALLS).map(|_| {
        let mut stub = stub.clone();
        async move { stub.once(asked("")).await.unwrap().into_inner().by }
    });
    let mut answers = BTreeMap::<String, u32>::new();
    let mut calls = calls.buffer_unordered(16);
    while let Some(by) = calls.next().await {
        *answers.entry(by).or_default() += 1;
    }
    let seen = f64::from(answers[&servers[0].address().to_string()]);
    // Five standard deviations.
    let expected = f64::from(CALLS) / 4.0;
    assert!((seen - expected).abs() < 5.0 * (expected * 0.75).sqrt(), "{answers:?}");
    assert_eq!(answers.values().sum::<u32>(), CALLS);
    assert_eq!(in_flight(&directory), 0);
}

#[tokio::test]
async fn a_key_among_the_extensions_or_in_the_metadata_chooses_the_instance() {
    let servers = [EchoServer::start().await, EchoServer::start().await];
    let hashed = ServiceSettings::default().with_policy(ConsistentHash::default());
    let by_header = hashed.with_hash_on(HashOn::Header(HeaderName::from_static("x-user")));
    let directory = directory(servers.iter().map(EchoServer::instance), by_header);
    let mut stub = stub(&directory);
    let mut who = BTreeMap::<String, u32>::new();
    for user in ["ada", "eve", "ann", "bob", "joe", "kim", "lee", "max"] {
        let mut by_extension = Request::new(asked(""));
        by_extension.extensions_mut().insert(HashKey::of(user));
        let mut by_metadata = Request::new(asked(""));
        by_metadata.metadata_mut().insert("x-user", user.parse().unwrap());
        let first = stub.once(by_extension).await.unwrap().into_inner().by;
        assert_eq!(stub.once(by_metadata).await.unwrap().into_inner().by, first, "{user}");
        *who.entry(first).or_default() += 1;
    }
    assert_eq!(who.len(), 2, "both have users");
}

#[tokio::test]
async fn sc11_metadata_and_tags_of_a_call_say_which_version_it_goes_to() {
    const RULES: &str = "
        services:
          order-service:
            routes:
              - name: by version
                when: [{header: {name: x-version, exact: v2}}]
                to: [{label: {version: v2}}]
              - name: testers
                when: [{tag: {name: tester, present: true}}]
                to: [{label: {version: v2}}]
    ";
    let (old, new) = (EchoServer::start().await, EchoServer::start().await);
    let instances = [spare(old.instance()), preferred(new.instance()).metadata("version", "v2")];
    let directory = directory(instances, ServiceSettings::default());
    directory.set_routes(RouteDocument::from_yaml(RULES).unwrap()).unwrap();
    let mut stub = stub(&directory);
    for _ in 0..20 {
        let by_default = stub.once(asked("")).await.unwrap().into_inner().by;
        assert_eq!(by_default, old.address().to_string());
        let mut by_metadata = Request::new(asked(""));
        by_metadata.metadata_mut().insert("x-version", MetadataValue::from_static("v2"));
        let mut by_tag = Request::new(asked(""));
        by_tag.extensions_mut().insert(RequestTags::new().with("tester", "yes"));
        for request in [by_metadata, by_tag] {
            assert_eq!(stub.once(request).await.unwrap().into_inner().by, new.address().to_string());
        }
    }
}

#[tokio::test]
async fn large_messages_go_both_ways_also_to_the_next_instance() {
    let (refusing, server) = (Refusing::new(), EchoServer::start().await);
    let instances = [preferred(refusing.instance()), spare(server.instance())];
    let directory = directory(instances, ServiceSettings::default());
    let mut stub = stub(&directory).max_decoding_message_size(usize::MAX);
    let large = "0123456789abcdef".repeat(8 * 1024 * 1024 / 16);
    let told = in_time("a large answer", stub.once(asked(&large))).await.unwrap().into_inner();
    assert!(told.text == large);
    let gathered = in_time("another one", stub.gather(stream::iter([asked(&large), asked("b")]))).await.unwrap();
    assert_eq!(gathered.into_inner().text.len(), large.len() + 2);
    assert_eq!((server.calls(), in_flight(&directory)), (2, 0));
}

#[tokio::test]
async fn discovery_hands_stubs_the_port_that_the_metadata_name_for_grpc_or_the_registered_one() {
    let registry = registry().await;
    let servers = [EchoServer::start().await, EchoServer::start().await];
    let provider = provider(&registry);
    let http = Instance::new(abandoned().await).metadata("gRPC_port", servers[0].address().port().to_string());
    for instance in [http, servers[1].instance()] {
        provider.nacos().register_instance(SERVICE, instance).await.unwrap();
    }
    let consumer = application(settings(&registry));
    let mut stub = EchoClient::new(consumer.tonic(SERVICE));
    let endpoints = consumer.grpc_directory().endpoints(&consumer.service_key(SERVICE)).unwrap();
    wait_until("both", || endpoints.all().len() == 2).await;
    eventually("an answer of each", async || {
        stub.once(asked("")).await.unwrap();
        servers.iter().all(|server| server.calls() > 0).then_some(())
    })
    .await;
}

fn limited<T>(message: T, limit: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(limit);
    request
}

#[tokio::test]
async fn a_deadline_ends_a_call_counts_against_the_silent_instance_and_is_told_to_it() {
    let server = EchoServer::start().await;
    let directory = directory([server.instance()], ServiceSettings::default());
    let mut stub = stub(&directory);
    stub.once(limited(asked(""), MINUTE)).await.unwrap();
    let status = stub.once(limited(asked(SILENT), Duration::from_millis(100))).await.unwrap_err();
    assert_eq!((status.code(), failures(&directory), in_flight(&directory)), (Code::DeadlineExceeded, 1, 0));
    wait_until("the server knows", || server.ended() == 2).await;
    stub.once(asked("")).await.unwrap();
    assert_eq!(failures(&directory), 0);

    let told: Vec<_> = server.timeouts().into_iter().map(|text| text.map(|text| micros(&text))).collect();
    let [Some(first), Some(second), None] = told[..] else { panic!("{told:?}") };
    assert!(first <= MINUTE.as_micros() && first > MINUTE.as_micros() / 2, "{first}");
    assert!(second <= 100_000, "{second}");
}

/// A timeout as it is sent.
fn micros(text: &str) -> u128 {
    let (digits, unit) = text.split_at(text.len() - 1);
    let count: u128 = digits.parse().expect("digits");
    match unit {
        "u" => count,
        "n" => count / 1000,
        _ => panic!("{text}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_also_ends_the_wait_for_instances() {
    let settings = BalanceSettings::new(ServiceSettings::default());
    let mut stub = stub(&nacos_discovery::Directory::new(std::sync::Arc::new(NoLists), settings));
    let status = stub.once(limited(asked(""), Duration::from_millis(300))).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let status = stub.once(limited(asked(""), MINUTE)).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "the balancer has its own patience");
}

/// Lists that never come.
#[derive(Debug)]
struct NoLists;

impl nacos_discovery::Source for NoLists {
    fn lists(&self, _: &nacos_client::ServiceKey) -> Result<nacos_discovery::Lists, nacos_discovery::DiscoveryError> {
        Ok(Box::pin(stream::pending()))
    }
}

#[tokio::test]
async fn a_deadline_ends_a_stream_that_is_under_way_and_blames_nobody() {
    let server = EchoServer::start().await;
    let directory = directory([server.instance()], ServiceSettings::default());
    let mut stub = stub(&directory);
    let silent_after_one = Asked { text: SILENT.to_owned(), count: 1 };
    // On a busy machine it may strike before the head.
    let mut answers = eventually("the head in time", async || {
        let limit = Duration::from_millis(300);
        stub.many(limited(silent_after_one.clone(), limit)).await.ok()
    })
    .await
    .into_inner();
    let end = loop {
        match in_time("a message or the end", answers.message()).await {
            Ok(Some(told)) => assert_eq!(told.text, "0"),
            Ok(None) => panic!("it has not ended"),
            Err(status) => break status,
        }
    };
    assert_eq!((end.code(), failures(&directory), in_flight(&directory)), (Code::DeadlineExceeded, 0, 0));
    wait_until("the server knows", || server.ended() == server.calls()).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_is_ended_at_the_instance_too_and_blames_nobody() {
    let server = EchoServer::start().await;
    let directory = directory([server.instance()], ServiceSettings::default());
    let stub = stub(&directory);
    let mut waiting = stub.clone();
    let call = tokio::spawn(async move { waiting.once(asked(SILENT)).await });
    wait_until("the call", || server.calls() == 1).await;
    assert_eq!(in_flight(&directory), 1);
    call.abort();
    wait_until("its end at the instance", || server.ended() == 1).await;

    let endless = Asked { text: SILENT.to_owned(), count: 2 };
    let mut answers = stub.clone().many(endless).await.unwrap().into_inner();
    assert_eq!(answers.message().await.unwrap().unwrap().text, "0");
    assert_eq!(in_flight(&directory), 1);
    drop(answers);
    assert_eq!((in_flight(&directory), failures(&directory)), (0, 0));
    wait_until("its end at the instance", || server.ended() == 2).await;
}
