//! Servers that ask the client to go elsewhere.

use std::time::Duration;

use tokio::time::Instant;

use crate::transport::{
    Event, LinkFault,
    grpc::testing::{Client, Script, register, settings},
};

fn three() -> Client {
    let servers = ["10.0.0.1:8848", "10.0.0.2:8848", "10.0.0.3:8848"];
    Client::start_with(settings(&servers), Script::default())
}

#[tokio::test(start_paused = true)]
async fn g11_cg11_a_reset_makes_the_new_connection_before_the_old_one_goes() {
    let mut client = three();
    let (old, mut old_peer) = client.connection().await;
    let target = if old_peer.dialed.0 == "10.0.0.3" { "10.0.0.2" } else { "10.0.0.3" };
    let start = Instant::now();
    let reset = format!(r#"{{"requestId":"5","serverIp":"{target}","serverPort":"8848","connectionId":"x"}}"#);
    old_peer.push("ConnectResetRequest", reset);
    assert_eq!(old_peer.received().await.kind(), "ConnectResetResponse");
    let new_peer = client.peer().await;
    assert_eq!(new_peer.dialed, (target.to_owned(), 9848));
    old.call(register()).await.unwrap();
    let (new, handover) = client.connected().await;
    assert!(start.elapsed() <= Duration::from_secs(2));
    let handover = handover.expect("the old connection still serves");
    assert_eq!(handover.old_epoch(), old.epoch());
    // Both serve until the handover is dropped.
    old.call(register()).await.unwrap();
    new.call(register()).await.unwrap();
    assert!(client.events.try_recv().is_err());
    drop(handover);
    let (epoch, cause) = client.disconnected().await;
    assert_eq!(epoch, old.epoch());
    assert!(matches!(cause.fault, LinkFault::Replaced), "{cause}");
    old_peer.closed().await;
    new.call(register()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_handover_ends_after_5_s() {
    let mut client = three();
    let (old, mut old_peer) = client.connection().await;
    old_peer.push("ConnectResetRequest", r#"{"requestId":"5"}"#);
    let (_new, handover) = client.connected().await;
    let start = Instant::now();
    let (epoch, cause) = client.disconnected().await;
    assert_eq!((epoch, start.elapsed()), (old.epoch(), Duration::from_secs(5)));
    assert!(matches!(cause.fault, LinkFault::Replaced));
    drop(handover);
}

#[tokio::test(start_paused = true)]
async fn without_a_known_target_the_next_server_is_taken() {
    for reset in [r#"{"requestId":"5"}"#, r#"{"requestId":"5","serverIp":"192.168.1.1","serverPort":"1"}"#] {
        let mut client = three();
        let (_, mut old) = client.connection().await;
        old.push("ConnectResetRequest", reset);
        let new = client.peer().await;
        assert_ne!(new.dialed, old.dialed);
        assert!(client.connected().await.1.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn while_no_other_server_answers_the_old_one_serves_and_attempts_are_spaced() {
    let servers = ["10.0.0.1:8848", "10.0.0.2:8848"];
    let script = Script { refuse: Box::new(|number, _, _| (1..8).contains(&number)), ..Script::default() };
    let mut client = Client::start_with(settings(&servers), script);
    let (old, mut old_peer) = client.connection().await;
    let start = Instant::now();
    old_peer.push("ConnectResetRequest", r#"{"requestId":"5"}"#);
    let (new, handover) = loop {
        tokio::select! {
            event = client.event() => match event {
                Event::Connected { session, handover } => break (session, handover),
                other => panic!("{other:?}"),
            },
            () = tokio::time::sleep(Duration::from_millis(300)) => { old.call(register()).await.unwrap(); }
        }
    };
    assert!(start.elapsed() >= Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(new.epoch() > old.epoch() && handover.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_asks_does_not_make_a_loop() {
    let mut client = three();
    let (_, mut peer) = client.connection().await;
    let start = Instant::now();
    for n in 0..8 {
        peer.push("ConnectResetRequest", format!(r#"{{"requestId":"{n}"}}"#));
        peer = client.peer().await;
        peer.received().await;
        let (_, handover) = client.connected().await;
        drop(handover);
        assert!(matches!(client.disconnected().await.1.fault, LinkFault::Replaced));
    }
    assert!(start.elapsed() >= Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn losing_the_old_connection_during_the_move_is_reported_first() {
    let mut client = three();
    let (old, mut old_peer) = client.connection().await;
    old_peer.push("ConnectResetRequest", r#"{"requestId":"5"}"#);
    old_peer.received().await;
    old_peer.cut();
    assert_eq!(client.disconnected().await.0, old.epoch());
    let (new, handover) = client.connected().await;
    drop(handover);
    new.call(register()).await.unwrap();
    assert!(client.events.try_recv().is_err());
}
