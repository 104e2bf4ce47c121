//! Channels of tonic that are told who is there.

use std::collections::BTreeMap;

use nacos_client::{Instance, InstanceKey, ServiceKey};
use nacos_discovery::adapters::tonic::ChannelFeed;
use nacos_discovery::{BalanceSettings, Directory};
use nacos_tests::wait::{eventually, in_time, wait_until};
use tokio::sync::mpsc;
use tonic::transport::channel::Change;
use tonic::transport::{Channel, Endpoint};

use crate::calling::*;
use crate::echo::echo_client::EchoClient;
use crate::echo_server::*;
use crate::support::*;

fn key() -> ServiceKey {
    ServiceKey::new("", CALLED)
}

/// Who answers, once it is exactly these. A channel takes note of changes when it has a call, and calls under way may go by the list
/// before.
async fn answer(channel: &Channel, servers: &[&EchoServer]) {
    let mut expected: Vec<_> = servers.iter().map(|server| server.address().to_string()).collect();
    expected.sort_unstable();
    eventually("answers of those that are listed, and of no others", async || {
        let mut answers = BTreeMap::<String, u32>::new();
        for _ in 0..60 {
            let told = in_time("an answer", EchoClient::new(channel.clone()).once(asked(""))).await.ok()?;
            *answers.entry(told.into_inner().by).or_default() += 1;
        }
        (answers.into_keys().collect::<Vec<_>>() == expected).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_channel_goes_by_the_servers_that_come_go_and_come_back() {
    let (first, second) = (EchoServer::start().await, EchoServer::start().await);
    let listed = Listed::new([first.instance()]);
    let directory = listed.directory(BalanceSettings::default());
    let (channel, feed) = ChannelFeed::open(&directory, &key(), |endpoint| endpoint).unwrap();
    answer(&channel, &[&first]).await;
    listed.set([first.instance(), second.instance()]);
    answer(&channel, &[&first, &second]).await;
    listed.set([second.instance()]);
    answer(&channel, &[&second]).await;

    // It leaves, and another process takes its address.
    let address = first.address();
    drop(first);
    let first = EchoServer::again(address).await;
    listed.set([first.instance(), second.instance()]);
    answer(&channel, &[&first, &second]).await;

    drop(feed);
    listed.set([second.instance()]);
    answer(&channel, &[&first, &second]).await;
}

#[tokio::test]
async fn what_happens_while_a_channel_is_full_is_told_when_there_is_room_and_removals_first() {
    let at = |ports: std::ops::Range<u16>| ports.map(|port| Instance::new(("127.0.0.1", port)));
    let listed = Listed::new(at(1..5));
    let directory = listed.directory(BalanceSettings::default());
    let (sender, mut changes) = mpsc::channel(1);
    let feed = ChannelFeed::into_channel(&directory, &key(), sender, |endpoint| endpoint).unwrap();
    let endpoints = called(&directory);
    wait_until("the first change", || changes.len() == 1).await;
    for round in 1..=20 {
        listed.set(at(round..round + 3));
        let revision = u64::from(round) + 1;
        wait_until("the list", || endpoints.list_status().is_some_and(|list| list.revision() == revision)).await;
    }
    let mut there = BTreeMap::<InstanceKey, Endpoint>::new();
    let mut told = 0;
    let expected: Vec<_> = (20..23).collect();
    eventually("the last list", async || {
        match in_time("a change", changes.recv()).await.expect("the feed goes on") {
            Change::Insert(key, endpoint) => assert!(there.insert(key, endpoint).is_none()),
            Change::Remove(key) => assert!(there.remove(&key).is_some(), "{key:?}"),
        }
        told += 1;
        (there.keys().map(|key| key.port).collect::<Vec<_>>() == expected).then_some(())
    })
    .await;
    // One was under way, one had room; the others came and went unheard.
    assert!(told <= 2 * 2 + 3, "{told}");
    assert!(changes.try_recv().is_err());
    for (key, endpoint) in there {
        assert_eq!(endpoint.uri().to_string(), format!("http://127.0.0.1:{}/", key.port));
    }
    drop(feed);
    assert!(in_time("the end", changes.recv()).await.is_none());
}

#[tokio::test]
async fn a_change_of_weight_alone_costs_no_connection_and_a_list_that_comes_back_soon_is_no_change() {
    let listed = Listed::new([Instance::new(("127.0.0.1", 1))]);
    let directory = listed.directory(BalanceSettings::default());
    let (sender, mut changes) = mpsc::channel(8);
    let feed = ChannelFeed::into_channel(&directory, &key(), sender, |endpoint| endpoint).unwrap();
    assert!(matches!(in_time("the first", changes.recv()).await, Some(Change::Insert(key, _)) if key.port == 1));
    listed.set([Instance::new(("127.0.0.1", 1)).weight(3.0)]);
    listed.set([Instance::new(("127.0.0.1", 1)).weight(3.0), Instance::new(("127.0.0.1", 2))]);
    assert!(matches!(in_time("the second", changes.recv()).await, Some(Change::Insert(key, _)) if key.port == 2));
    assert!(!feed.is_ended());
    drop(changes);
    wait_until("the end of the feed", || feed.is_ended()).await;
}

#[tokio::test]
async fn discovery_makes_a_channel_that_follows_the_registry() {
    let registry = registry().await;
    let server = EchoServer::start().await;
    let consumer = application(settings(&registry));
    let (channel, feed) = consumer.balance_channel(SERVICE).unwrap();
    let waiting = tokio::spawn(async move { EchoClient::new(channel).once(asked("early")).await });
    provider(&registry).nacos().register_instance(SERVICE, server.instance()).await.unwrap();
    let told = in_time("the answer", waiting).await.unwrap().unwrap().into_inner();
    assert_eq!((told.text.as_str(), told.by), ("early", server.address().to_string()));
    wait_until("the end of the feed", || feed.is_ended()).await;
    assert!(consumer.balance_channel("").is_err());
    assert_eq!(Directory::services(consumer.grpc_directory()), [consumer.service_key(SERVICE)]);
}
