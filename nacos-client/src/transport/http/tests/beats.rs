//! What beats do over time, on a paused clock.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{
    model::Instance,
    transport::{
        Call, CallError, NamingTransport, Reply, Session,
        http::testing::{Answer, Asked, Client, Net, instance, key, register, settings},
    },
};

const SECOND: Duration = Duration::from_secs(1);

async fn beating(net: &Net, ports: impl IntoIterator<Item = u16>) -> (Client, Arc<dyn Session>) {
    let mut client = Client::start(net);
    let session = client.connected().await;
    for port in ports {
        assert!(matches!(register(&session, port).await, Ok(Reply::Done)));
    }
    (client, session)
}

/// The beats among what was asked since the last look.
fn beats(net: &Net) -> Vec<Asked> {
    net.asked().into_iter().filter(Asked::is_beat).collect()
}

/// The longest pause between two beats of one instance.
fn longest_pause(beats: &[Asked]) -> Duration {
    let mut last: BTreeMap<u16, Instant> = BTreeMap::new();
    let mut longest = Duration::ZERO;
    for beat in beats {
        if let Some(before) = last.insert(beat.port(), beat.at) {
            longest = longest.max(beat.at - before);
        }
    }
    longest
}

#[tokio::test(start_paused = true)]
async fn an_instance_beats_fully_once_and_then_lightly_by_its_identity() {
    let net = Net::usual();
    let (_client, _session) = beating(&net, [8080]).await;
    net.asked();
    sleep(60 * SECOND).await;
    let beats = beats(&net);
    assert!((11..=12).contains(&beats.len()), "{}", beats.len());
    assert!(longest_pause(&beats) <= Duration::from_millis(5_010));
    for beat in &beats {
        let query = |name: &str| beat.query[name].as_str();
        assert_eq!((query("namespaceId"), query("serviceName")), ("prod", "G@@orders"));
        assert_eq!((query("clusterName"), query("ip"), query("port")), ("c1", "10.0.0.9", "8080"));
    }
    let full = beats[0].beat.as_ref().expect("the first one is full");
    assert_eq!(
        *full,
        json!({"ip": "10.0.0.9", "port": 8080, "weight": 2.5, "serviceName": "G@@orders", "cluster": "c1",
            "metadata": {"json": "{\"a\":1}"}, "scheduled": false, "period": 5000, "stopped": false})
    );
    assert!(beats[1..].iter().all(|beat| beat.beat.is_none()));
}

#[tokio::test(start_paused = true)]
async fn h02_nothing_that_happens_to_a_beat_ends_it() {
    let net = Net::usual();
    let (client, _session) = beating(&net, 1..=6).await;
    net.script(|asked| match (asked.is_beat(), asked.port()) {
        (true, 1) => Answer::Say(500, "caused: null;".to_owned()),
        (true, 2) => Answer::Say(200, "garbage".to_owned()),
        (true, 3) => Answer::Cut,
        (true, 4) => Answer::Never,
        (true, 5) => Answer::Say(403, String::new()),
        _ => Answer::Usual,
    });
    sleep(60 * SECOND).await;
    net.asked();
    sleep(60 * SECOND).await;
    let during = beats(&net);
    for port in 1..=6 {
        let own = during.iter().filter(|beat| beat.port() == port).count();
        assert!(own >= 10, "{own} beats of {port}");
    }
    let well: Vec<Asked> = during.into_iter().filter(|beat| beat.port() == 6).collect();
    assert!(longest_pause(&well) <= Duration::from_millis(5_010), "others are none of its business");
    let counts = client.transport.counts();
    assert!(counts.beats_failed >= 50 && counts.beats_late == 0 && counts.beating == 6, "{counts:?}");
    net.script(|_| Answer::Usual);
    sleep(12 * SECOND).await;
    let failed = client.transport.counts().beats_failed;
    sleep(60 * SECOND).await;
    assert_eq!(client.transport.counts().beats_failed, failed);
}

#[tokio::test(start_paused = true)]
async fn h01_a_server_that_forgot_is_told_everything_within_one_beat() {
    let net = Net::usual();
    let (client, _session) = beating(&net, 1..=20).await;
    sleep(20 * SECOND).await;
    net.asked();
    net.forget();
    sleep(Duration::from_millis(5_100)).await;
    assert_eq!(net.registered().len(), 20);
    let asked = net.asked();
    let restored: Vec<&Asked> = asked.iter().filter(|asked| asked.is_register()).collect();
    assert_eq!(restored.len(), 20, "each once");
    for register in restored {
        let query = |name: &str| register.query[name].as_str();
        assert_eq!(
            (query("weight"), query("enable"), query("ephemeral"), query("healthy")),
            ("2.5", "true", "true", "true")
        );
        assert_eq!((query("clusterName"), query("metadata")), ("c1", r#"{"json":"{\"a\":1}"}"#));
    }
    assert_eq!(client.transport.counts().beats_restored, 20);
}

#[tokio::test(start_paused = true)]
async fn k03_h05_the_server_gives_another_interval() {
    let net = Net::usual();
    net.beats_are_answered(json!(1_000), true);
    let (_client, _session) = beating(&net, [1]).await;
    sleep(10 * SECOND).await;
    net.asked();
    sleep(20 * SECOND).await;
    assert_eq!(beats(&net).len(), 20);
    net.beats_are_answered(json!("abc"), true);
    sleep(10 * SECOND).await;
    net.asked();
    sleep(20 * SECOND).await;
    assert_eq!(beats(&net).len(), 4, "back to five seconds");
}

#[tokio::test(start_paused = true)]
async fn old_servers_are_told_everything_always() {
    let net = Net::new(|asked| match asked.is_beat() {
        true => Answer::Say(200, r#"{"clientBeatInterval":5000}"#.to_owned()),
        false => Answer::Usual,
    });
    let (client, _session) = beating(&net, [1]).await;
    sleep(60 * SECOND).await;
    let beats = beats(&net);
    assert!(beats.len() >= 11 && beats.iter().all(|beat| beat.beat.is_some()));
    assert_eq!(client.transport.counts().beats_failed, 0);
}

#[tokio::test(start_paused = true)]
async fn l07_a_deregistration_follows_the_beat_under_way_and_no_beat_follows_it() {
    let net = Net::usual();
    let (client, session) = beating(&net, [1, 2]).await;
    // The beat of 1 is answered after three seconds, and only then does the server act on it.
    net.script(|asked| match (asked.is_beat(), asked.port()) {
        (true, 1) => Answer::After(3 * SECOND, Box::new(Answer::Usual)),
        _ => Answer::Usual,
    });
    while !beats(&net).iter().any(|beat| beat.port() == 1) {
        sleep(Duration::from_millis(10)).await;
    }
    let begun = Instant::now();
    let deregister = session.call(Call::Deregister { key: key(), instance: instance(1) });
    assert!(matches!(deregister.await, Ok(Reply::Done)));
    assert!(begun.elapsed() >= Duration::from_millis(2_900), "it waited for the beat");
    assert_eq!(net.registered(), [2]);
    net.asked();
    sleep(30 * SECOND).await;
    assert_eq!(net.registered(), [2]);
    assert!(beats(&net).iter().all(|beat| beat.port() == 2));
    assert_eq!(client.transport.counts().beating, 1);
}

/// The weights of the registrations among what was asked since the last look.
fn weights(net: &Net) -> Vec<String> {
    net.asked().iter().filter(|asked| asked.is_register()).map(|asked| asked.query["weight"].clone()).collect()
}

fn change(session: &Arc<dyn Session>) -> impl Future<Output = Result<Reply, CallError>> {
    let changed = Arc::new(Instance::clone(&instance(1)).weight(7.0));
    session.call(Call::Register { key: key(), instance: changed })
}

#[tokio::test(start_paused = true)]
async fn g08_what_is_changed_while_it_is_restored_is_what_the_server_knows_at_last() {
    // The restoration takes a second: its answer comes after that of the change, or before it.
    for changing in [Duration::ZERO, 2 * SECOND] {
        let net = Net::usual();
        let (_client, session) = beating(&net, [1]).await;
        sleep(20 * SECOND).await;
        net.script(move |asked| match (asked.is_register(), asked.is_register() && asked.query["weight"] == "7") {
            (true, false) => Answer::After(SECOND, Box::new(Answer::Usual)),
            (true, true) => Answer::After(changing, Box::new(Answer::Usual)),
            _ => Answer::Usual,
        });
        net.asked();
        net.forget();
        while weights(&net).is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
        assert!(change(&session).await.is_ok());
        sleep(20 * SECOND).await;
        assert_eq!(weights(&net), ["7", "7"], "once more, after the restoration");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_refused_change_what_was_registered_before_is_restored() {
    let net = Net::usual();
    let (_client, session) = beating(&net, [1]).await;
    net.script(|asked| match asked.is_register() && asked.query["weight"] == "7" {
        true => Answer::Say(400, "instance format invalid".to_owned()),
        false => Answer::Usual,
    });
    assert!(change(&session).await.is_err());
    sleep(20 * SECOND).await;
    net.asked();
    net.forget();
    sleep(6 * SECOND).await;
    assert_eq!(weights(&net), ["2.5"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_registration_does_not_beat_and_a_repeated_one_beats_once() {
    let net = Net::new(|asked| match asked.is_register() && asked.port() == 1 {
        true => Answer::Say(400, "instance format invalid".to_owned()),
        false => Answer::Usual,
    });
    let mut client = Client::start(&net);
    let session = client.connected().await;
    assert!(register(&session, 1).await.is_err());
    for _ in 0..5 {
        assert!(register(&session, 2).await.is_ok());
    }
    net.asked();
    sleep(50 * SECOND).await;
    let beats = beats(&net);
    assert!((9..=10).contains(&beats.len()) && beats.iter().all(|beat| beat.port() == 2), "{}", beats.len());
}

#[tokio::test(start_paused = true)]
async fn h14_two_thousand_instances_beat_in_time_over_few_connections() {
    let net = Net::new(|asked| match asked.is_beat() {
        true => Answer::After(Duration::from_millis(15), Box::new(Answer::Usual)),
        false => Answer::Usual,
    });
    let mut client = Client::start(&net);
    let session = client.connected().await;
    let ports = 1..=2_000;
    let instances = ports.map(|port| Arc::new(Instance::new(("10.0.0.9", port)))).collect();
    let all = session.call(Call::RegisterBatch { key: key(), instances }).await;
    assert!(matches!(all, Ok(Reply::Done)));
    sleep(10 * SECOND).await;
    net.asked();
    sleep(20 * SECOND).await;
    let beats = beats(&net);
    assert!(beats.len() >= 7_900, "{}", beats.len());
    assert!(longest_pause(&beats) <= 6 * SECOND, "{:?}", longest_pause(&beats));
    assert!(net.most_connections() <= 16, "{}", net.most_connections());
    let counts = client.transport.counts();
    assert_eq!((counts.beating, counts.beats_late, counts.beats_failed), (2_000, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_server_too_slow_for_its_instances_makes_beats_late_and_that_is_counted() {
    let net = Net::usual();
    let (client, _session) = beating(&net, 1..=60).await;
    net.script(|asked| match asked.is_beat() {
        // Seven at once: 60 instances take 17 s.
        true => Answer::After(2 * SECOND, Box::new(Answer::Usual)),
        false => Answer::Usual,
    });
    sleep(60 * SECOND).await;
    let counts = client.transport.counts();
    assert!(counts.beats_late > 20 && counts.beats_failed == 0, "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn what_still_beats_is_deregistered_when_the_client_ends() {
    let net = Net::usual();
    let (client, session) = beating(&net, 1..=30).await;
    assert!(client.transport.close(5 * SECOND).await, "everything ended by itself");
    assert!(net.registered().is_empty());
    assert!(register(&session, 1).await.is_err());
    net.asked();
    sleep(30 * SECOND).await;
    assert!(net.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_holds_up_the_end_of_a_client_for_seconds_only() {
    let net = Net::usual();
    let (client, _session) = beating(&net, 1..=100).await;
    net.script(|_| Answer::Never);
    let begun = Instant::now();
    assert!(client.transport.close(60 * SECOND).await);
    assert!(begun.elapsed() <= 6 * SECOND, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_beat_goes_to_the_next_server_when_its_own_is_gone() {
    let net = Net::usual();
    let mut client = Client::start_with(settings(&["one", "two"]), &net);
    let session = client.connected().await;
    assert!(register(&session, 1).await.is_ok());
    let first = net.asked().last().expect("it was registered").server.clone();
    let second = if first == "one" { "two" } else { "one" };
    net.script(move |asked| if asked.server == first { Answer::Cut } else { Answer::Usual });
    sleep(20 * SECOND).await;
    let taken = beats(&net).iter().filter(|beat| beat.server == second).count();
    assert!(taken >= 3, "{taken}");
    assert_eq!(client.transport.counts().beats_failed, 0);
    assert!(client.is_quiet(), "the epoch goes on");
}
