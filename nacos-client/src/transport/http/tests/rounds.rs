//! Each server is tried once per call, on a paused clock.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::transport::{
    Call, CallClass, CallError, Reply, Session,
    http::testing::{Answer, Client, Net, key, register, settings},
};

const SECOND: Duration = Duration::from_secs(1);

/// How often each server was asked since the last look, questions for the state left out.
fn tries(net: &Net) -> BTreeMap<String, usize> {
    let mut tries = BTreeMap::new();
    for asked in net.asked().iter().filter(|asked| !asked.is_probe()) {
        *tries.entry(asked.server.clone()).or_default() += 1;
    }
    tries
}

/// Who answered first.
fn host(session: &Arc<dyn Session>) -> String {
    session.info().peer.split(':').next().unwrap().to_owned()
}

async fn three(net: &Net) -> (Client, Arc<dyn Session>) {
    let mut client = Client::start_with(settings(&["one", "two", "three"]), net);
    let session = client.connected().await;
    net.asked();
    (client, session)
}

#[tokio::test(start_paused = true)]
async fn h11_a_dead_server_fails_no_call_and_is_left_aside() {
    for black_hole in [true, false] {
        let net = Net::usual();
        let (_client, session) = three(&net).await;
        let first = host(&session);
        if black_hole {
            net.black_hole(&first);
        } else {
            net.refuse(&first);
        }
        // What is open to it dies as well.
        net.script({
            let first = first.clone();
            move |asked| if asked.server == first { Answer::Cut } else { Answer::Usual }
        });
        let mut slowest = Duration::ZERO;
        for _ in 0..1_000 {
            let begun = Instant::now();
            assert!(session.call(Call::Query { key: key() }).await.is_ok());
            slowest = slowest.max(begun.elapsed());
        }
        assert!(slowest <= Duration::from_millis(1_800), "{slowest:?}");
        let tries = tries(&net);
        assert!(tries.get(&first).is_none_or(|tries| *tries <= 2), "{tries:?}");
        assert_eq!(tries.len() - usize::from(tries.contains_key(&first)), 1, "who answers is asked on: {tries:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_in_trouble_is_passed_over_but_a_refusal_is_final() {
    for (status, passed_over) in [(500, true), (502, true), (503, true), (504, true), (429, true), (302, true)] {
        let net = Net::usual();
        let (_client, session) = three(&net).await;
        let first = host(&session);
        net.script(
            move |asked| {
                if asked.server == first { Answer::Say(status, "no".to_owned()) } else { Answer::Usual }
            },
        );
        assert_eq!(register(&session, 1).await.is_ok(), passed_over, "{status}");
    }
    for status in [400, 401, 403, 404, 409, 410, 413, 501] {
        let net = Net::usual();
        let (_client, session) = three(&net).await;
        net.script(move |asked| if asked.is_probe() { Answer::Usual } else { Answer::Say(status, "no".to_owned()) });
        let error = register(&session, 1).await.unwrap_err();
        let class = match status {
            401 | 403 => CallClass::Unauthorized,
            404 | 501 => CallClass::Unsupported,
            _ => CallClass::Final,
        };
        assert_eq!(error.class(), class, "{status}: {error}");
        assert_eq!(tries(&net).values().sum::<usize>(), 1, "cg8: one request");
    }
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_the_error_that_says_most_is_reported() {
    let net = Net::usual();
    let (mut client, session) = three(&net).await;
    net.script(|asked| match asked.server.as_str() {
        "one" => Answer::Cut,
        "two" => Answer::Say(500, "caused: the disk is full;".to_owned()),
        _ => Answer::Say(200, "<html>".to_owned()),
    });
    match register(&session, 1).await {
        Err(CallError::Refused(refusal)) => {
            assert_eq!((refusal.code, &*refusal.message), (500, "the disk is full"));
        }
        other => panic!("{other:?}"),
    }
    let tries = tries(&net);
    assert_eq!((tries["two"], tries["three"]), (1, 1));
    assert_eq!(tries["one"], 2, "what is cut may have been a kept connection: once more");
    assert!(client.is_quiet());
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_is_left_for_another_within_the_deadline_of_a_question() {
    let net = Net::usual();
    let (_client, session) = three(&net).await;
    let first = host(&session);
    net.script(
        move |asked| {
            if asked.server == first { Answer::After(60 * SECOND, Box::new(Answer::Usual)) } else { Answer::Usual }
        },
    );
    let begun = Instant::now();
    assert!(matches!(session.call(Call::Query { key: key() }).await, Ok(Reply::Service(Some(_)))));
    assert!(begun.elapsed() < 3 * SECOND, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_judged_instance_by_instance() {
    let net = Net::usual();
    let (_client, session) = three(&net).await;
    net.script(|asked| match asked.port() {
        2 => Answer::Say(400, "bad".to_owned()),
        _ => Answer::Usual,
    });
    let instances = (1..=40).map(crate::transport::http::testing::instance).collect();
    match session.call(Call::RegisterBatch { key: key(), instances }).await {
        Ok(Reply::Partly(failed)) => {
            assert_eq!(failed.iter().map(|(instance, _)| instance.port).collect::<Vec<_>>(), [2]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(net.registered().len(), 39);
}
