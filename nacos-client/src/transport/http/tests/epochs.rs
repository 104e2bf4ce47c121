//! When an epoch begins and ends, on a paused clock.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::transport::{
    CallError, Epoch, LinkFault, NamingTransport, Phase,
    http::testing::{Answer, Client, Net, register, settings},
};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn it_begins_when_a_server_answers_and_tells_both_ends() {
    let net = Net::usual();
    net.refuse("one");
    let mut client = Client::start_with(settings(&["one", "two", "three"]), &net);
    net.refuse("three");
    let session = client.connected().await;
    let info = session.info();
    assert_eq!((session.epoch(), &*info.server, &*info.peer), (Epoch(1), "two:8848", "two:8848"));
    assert_eq!(info.local_ip.map(|ip| ip.to_string()).as_deref(), Some("10.0.0.9"));
    assert!(info.abilities.persistent);
    assert_eq!(client.transport.status().borrow().phase, Phase::Connected);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_serve_is_none() {
    for (status, body) in [
        (503, "server is DOWNnow, please try again later!"),
        (200, r#"{"status":"STARTING"}"#),
        (200, r#"{"status":"DOWN"}"#),
        (404, "no such page"),
        (200, "<html>hello</html>"),
        (200, "{}"),
        (200, ""),
        (302, ""),
        (500, "caused: null;"),
    ] {
        let net = Net::new(move |_| Answer::Say(status, body.to_owned()));
        let mut client = Client::start(&net);
        sleep(20 * SECOND).await;
        assert!(client.is_quiet(), "{status} {body}");
        let status = client.transport.status();
        assert!(status.borrow().failures > 2 && status.borrow().last_error.is_some());
        net.script(|_| Answer::Usual);
        client.connected().await;
    }
}

#[tokio::test(start_paused = true)]
async fn g25_a_server_that_keeps_its_state_to_itself_serves_all_the_same() {
    let page = r#"{"timestamp":"x","status":410,"error":"Gone","message":"{\"code\":40000}","path":"/nacos/v1/ns/operator/metrics"}"#;
    for (status, body) in [(410, page), (403, page), (501, page), (200, r#"{"status":"UP"}"#)] {
        let net = Net::new(move |_| Answer::Say(status, body.to_owned()));
        Client::start(&net).connected().await;
    }
}

#[tokio::test(start_paused = true)]
async fn it_survives_hiccups_and_ends_when_no_server_answers() {
    let net = Net::usual();
    let mut client = Client::start_with(settings(&["one", "two"]), &net);
    let session = client.connected().await;
    assert!(register(&session, 1).await.is_ok());
    net.script(|_| Answer::Cut);
    assert!(matches!(register(&session, 2).await, Err(CallError::Unreachable(_))));
    sleep(SECOND).await;
    net.script(|_| Answer::Usual);
    sleep(20 * SECOND).await;
    assert!(client.is_quiet(), "a second is a hiccup");

    net.refuse("one");
    net.refuse("two");
    net.script(|_| Answer::Cut);
    let down = Instant::now();
    let (epoch, cause) = client.disconnected().await;
    // A beat or a question leaves every five seconds, and then nobody may answer for two.
    assert!(down.elapsed() <= 8 * SECOND, "{:?}", down.elapsed());
    assert_eq!(epoch, Epoch(1));
    assert!(cause.fault.is_refusal(), "{cause}");
    assert!(matches!(register(&session, 3).await, Err(CallError::Link(_))));
    assert_eq!(client.transport.counts().beating, 0);

    net.accept("two");
    net.script(|_| Answer::Usual);
    let up = Instant::now();
    assert_eq!(client.connected().await.epoch(), Epoch(2));
    assert!(up.elapsed() <= SECOND, "where nobody listens, it looks again soon: {:?}", up.elapsed());
}

#[tokio::test(start_paused = true)]
async fn it_ends_at_once_when_the_server_has_ended_however_soon_it_is_back() {
    let net = Net::usual();
    let mut client = Client::start_with(settings(&["one"]), &net);
    let session = client.connected().await;
    net.refuse("one");
    net.script(|_| Answer::Cut);
    let down = Instant::now();
    assert!(register(&session, 1).await.is_err());
    let (epoch, cause) = client.disconnected().await;
    net.accept("one");
    net.script(|_| Answer::Usual);
    assert_eq!((epoch, cause.fault.is_refusal()), (Epoch(1), true));
    assert_eq!(client.connected().await.epoch(), Epoch(2));
    assert!(down.elapsed() <= SECOND, "{:?}", down.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_black_hole_is_noticed_within_eight_seconds_more() {
    let net = Net::usual();
    let mut client = Client::start(&net);
    client.connected().await;
    net.black_hole("one");
    net.script(|_| Answer::Never);
    let begun = Instant::now();
    let (_, cause) = client.disconnected().await;
    assert!(begun.elapsed() <= 12 * SECOND, "{:?}", begun.elapsed());
    assert!(matches!(cause.fault, LinkFault::CallTimeout(_) | LinkFault::ConnectTimeout(_)), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_starts_again_and_is_not_ready_ends_it_too() {
    let net = Net::usual();
    let mut client = Client::start(&net);
    client.connected().await;
    net.script(|_| Answer::Say(503, "server is DOWNnow, please try again later!".to_owned()));
    let (_, cause) = client.disconnected().await;
    assert!(matches!(cause.fault, LinkFault::SetupRefused { code: 503, .. }), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn an_idle_client_asks_one_question_in_five_seconds() {
    let net = Net::usual();
    let mut client = Client::start(&net);
    client.connected().await;
    net.asked();
    sleep(60 * SECOND).await;
    let asked = net.asked();
    assert!((11..=12).contains(&asked.len()) && asked.iter().all(|a| a.is_probe()), "{}", asked.len());
}

#[tokio::test(start_paused = true)]
async fn closing_and_dropping_end_everything() {
    for close in [true, false] {
        let net = Net::usual();
        let mut client = Client::start(&net);
        let session = client.connected().await;
        let mut status = client.transport.status();
        if close {
            assert!(client.transport.close(SECOND).await);
            assert!(client.transport.close(SECOND).await, "twice is as good as once");
        }
        let Client { transport, .. } = client;
        drop(transport);
        status.wait_for(|status| status.phase == Phase::Closed).await.unwrap();
        assert!(matches!(register(&session, 1).await, Err(CallError::Link(_))));
        sleep(SECOND).await;
        net.asked();
        sleep(30 * SECOND).await;
        assert!(net.asked().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn closing_while_no_server_answers_takes_no_time() {
    let net = Net::new(|_| Answer::Never);
    let client = Client::start(&net);
    sleep(SECOND).await;
    let begun = Instant::now();
    assert!(client.transport.close(5 * SECOND).await);
    assert!(begun.elapsed() < SECOND);
}
