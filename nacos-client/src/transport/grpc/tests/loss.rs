//! How the end of a connection is noticed, and what follows.

use std::{sync::Arc, time::Duration};

use nacos_proto::Payload;
use tokio::time::Instant;

use crate::transport::{
    Call, CallClass, CallError, LinkFault, NamingTransport, Session,
    grpc::testing::{Answer, Client, Script, key, register, settings, standard},
};

const NOTICED: Duration = Duration::from_secs(8);

#[tokio::test(start_paused = true)]
async fn cg9_a_cut_link_is_replaced_within_200_ms_on_another_server() {
    let mut client = Client::start(Script::default());
    let (session, peer) = client.connection().await;
    let call = tokio::spawn(session.call(Call::Query { key: key() }));
    call.await.unwrap().unwrap();
    let start = Instant::now();
    peer.cut();
    let (epoch, cause) = client.disconnected().await;
    assert_eq!(epoch, session.epoch());
    assert!(matches!(cause.fault, LinkFault::Transport(_)), "{cause}");
    let (next, other) = client.connection().await;
    assert!(start.elapsed() <= Duration::from_millis(200));
    assert!(next.epoch() > epoch);
    assert_ne!(other.dialed, peer.dialed);
    assert_eq!(session.call(register()).await.unwrap_err().class(), CallClass::EpochOver, "the old session is dead");
}

#[tokio::test(start_paused = true)]
async fn g01_cg9_a_frozen_server_is_noticed_within_8_s() {
    let mut client = Client::start(Script::default());
    let (session, peer) = client.connection().await;
    tokio::time::advance(Duration::from_secs(2)).await;
    session.call(register()).await.unwrap();
    peer.freeze();
    let start = Instant::now();
    let call = tokio::spawn(session.call(Call::Query { key: key() }));
    let (_, cause) = client.disconnected().await;
    assert!(matches!(cause.fault, LinkFault::Unhealthy), "{cause}");
    assert!(start.elapsed() <= NOTICED, "{:?}", start.elapsed());
    match call.await.unwrap().unwrap_err() {
        CallError::Link(error) => assert!(matches!(error.fault, LinkFault::Unhealthy), "the call tells the cause"),
        other => panic!("{other:?}"),
    }
    let (_, other) = client.connection().await;
    assert!(start.elapsed() <= NOTICED + Duration::from_millis(200));
    assert_ne!(other.dialed, peer.dialed);
}

#[tokio::test(start_paused = true)]
async fn g26_health_checks_come_after_5_s_of_silence_and_wait_3_s() {
    let mut client = Client::start(Script {
        answer: Box::new(|_, request| match request.kind() {
            "HealthCheckRequest" => Answer::Never,
            _ => Answer::Reply(standard(request, true)),
        }),
        ..Script::default()
    });
    let (_, mut peer) = client.connection().await;
    let start = Instant::now();
    peer.request_of("HealthCheckRequest").await;
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    client.disconnected().await;
    assert_eq!(start.elapsed(), NOTICED);
}

#[tokio::test(start_paused = true)]
async fn g26_other_times_are_kept_apart() {
    let mut settings = settings(&["one"]);
    settings.timings.health_idle.0 = Duration::from_secs(7);
    settings.timings.health_timeout.0 = Duration::from_secs(2);
    let mut client = Client::start_with(settings, Script::default());
    let (_, mut peer) = client.connection().await;
    let start = Instant::now();
    for round in 1..=5 {
        peer.request_of("HealthCheckRequest").await;
        assert_eq!(start.elapsed(), Duration::from_secs(7 * round), "no flood");
    }
    peer.freeze();
    client.disconnected().await;
    assert_eq!(start.elapsed(), Duration::from_secs(7 * 5 + 9));
}

#[tokio::test(start_paused = true)]
async fn traffic_stands_in_for_health_checks() {
    let mut client = Client::start(Script::default());
    let (session, mut peer) = client.connection().await;
    for n in 0..5 {
        tokio::time::sleep(Duration::from_secs(4)).await;
        if n % 2 == 0 {
            session.call(register()).await.unwrap();
        } else {
            peer.push("ClientDetectionRequest", r#"{"requestId":"1"}"#);
            peer.received().await;
        }
    }
    let mut kinds = Vec::new();
    while let Ok(request) = tokio::time::timeout(Duration::from_secs(1), peer.request()).await {
        kinds.push(request.kind().to_owned());
    }
    assert_eq!(kinds, ["ServerCheckRequest", "InstanceRequest", "InstanceRequest", "InstanceRequest"]);
}

#[tokio::test(start_paused = true)]
async fn requests_the_server_does_not_handle_do_not_suspend_the_health_check() {
    // Servers do not count them as a sign of life, so the client must not either.
    for refusal in [r#"{"resultCode":500,"errorCode":302}"#, r#"{"resultCode":500,"errorCode":502}"#] {
        let mut client = Client::start(Script {
            answer: Box::new(move |_, request| match request.kind() {
                "InstanceRequest" => Answer::Reply(Payload::new("ErrorResponse", refusal.into())),
                _ => Answer::Reply(standard(request, true)),
            }),
            ..Script::default()
        });
        let (session, mut peer) = client.connection().await;
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_secs(2)).await;
            session.call(register()).await.unwrap_err();
        }
        let mut kinds = Vec::new();
        while let Ok(request) = tokio::time::timeout(Duration::from_millis(1), peer.request()).await {
            kinds.push(request.kind().to_owned());
        }
        assert!(kinds.iter().any(|kind| kind == "HealthCheckRequest"), "{kinds:?}");
        assert!(client.events.try_recv().is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_server_is_not_left() {
    let mut client = Client::start(Script {
        answer: Box::new(|_, request| match request.kind() {
            "HealthCheckRequest" => {
                let busy = r#"{"resultCode":500,"errorCode":503,"message":"Tps Flow restricted"}"#;
                Answer::Reply(Payload::new("HealthCheckResponse", busy.into()))
            }
            _ => Answer::Reply(standard(request, true)),
        }),
        ..Script::default()
    });
    let (_, mut peer) = client.connection().await;
    for _ in 0..3 {
        peer.request_of("HealthCheckRequest").await;
    }
    assert!(client.events.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_health_check_that_finds_the_connection_forgotten_ends_it() {
    let mut client = Client::start(Script {
        answer: Box::new(|_, request| match request.kind() {
            "HealthCheckRequest" => Answer::Reply(Payload::new(
                "ErrorResponse",
                r#"{"resultCode":500,"errorCode":301,"message":"Connection is unregistered."}"#.into(),
            )),
            _ => Answer::Reply(standard(request, true)),
        }),
        ..Script::default()
    });
    client.connected().await;
    let (_, cause) = client.disconnected().await;
    assert!(matches!(cause.fault, LinkFault::Unregistered(301)), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn cg6_a_server_that_ignores_one_request_or_drips_its_answer_is_sick_after_10_s() {
    for answer in [(|_| Answer::Never) as fn(_) -> _, Answer::Drip] {
        let mut client = Client::start(Script {
            answer: Box::new(move |_, request| match request.kind() {
                "InstanceRequest" => answer(standard(request, true)),
                _ => Answer::Reply(standard(request, true)),
            }),
            ..Script::default()
        });
        let (session, _) = client.connected().await;
        let start = Instant::now();
        let error = session.call(register()).await.unwrap_err();
        match error {
            CallError::Link(error) => assert!(matches!(error.fault, LinkFault::CallTimeout(_)), "{error}"),
            other => panic!("{other:?}"),
        }
        assert!(start.elapsed() >= Duration::from_secs(10) && start.elapsed() <= Duration::from_secs(11));
        client.disconnected().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_stream_alone_is_the_end_of_the_connection() {
    let mut client = Client::start(Script::default());
    let (session, mut peer) = client.connection().await;
    let start = Instant::now();
    peer.end_stream();
    let (epoch, cause) = client.disconnected().await;
    assert_eq!(epoch, session.epoch());
    assert!(matches!(cause.fault, LinkFault::StreamEnded), "{cause}");
    peer.closed().await;
    assert_eq!(start.elapsed(), Duration::ZERO, "noticed at once, and the transport closed at once");
    client.connected().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_goes_away_in_good_order_is_left_in_time() {
    let mut client = Client::start(Script::default());
    let (session, peer) = client.connection().await;
    session.call(register()).await.unwrap();
    let start = Instant::now();
    peer.go_away();
    client.disconnected().await;
    assert!(start.elapsed() <= NOTICED, "{:?}", start.elapsed());
    client.connected().await;

    // With traffic it is noticed by the next call.
    let mut client = Client::start(Script::default());
    let (session, peer) = client.connection().await;
    peer.go_away();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(session.call(register()).await.unwrap_err().class(), CallClass::EpochOver);
    client.disconnected().await;
}

#[tokio::test(start_paused = true)]
async fn g15_an_unreachable_registry_is_tried_for_ever_with_pauses() {
    let tried = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&tried);
    let opened = Instant::now() + Duration::from_secs(60);
    let mut client = Client::start(Script {
        refuse: Box::new(move |_, host, _| {
            log.lock().unwrap().push((Instant::now(), host.to_owned()));
            Instant::now() < opened
        }),
        ..Script::default()
    });
    client.peer().await;
    client.connected().await;
    // Where nobody listens, the pause grows from a tenth of a second to between half a second and a whole one.
    assert!(Instant::now() <= opened + Duration::from_secs(2));
    let tried = tried.lock().unwrap();
    assert!(tried.len() >= 60 && tried.len() <= 130, "{}", tried.len());
    for pair in tried.windows(2) {
        assert_ne!(pair[0].1, pair[1].1, "the servers take turns");
        assert!(pair[1].0 - pair[0].0 <= Duration::from_secs(1));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_lost_connection_all_resolve() {
    let mut client = Client::start(Script {
        answer: Box::new(|_, request| match request.kind() {
            "InstanceRequest" => Answer::Never,
            _ => Answer::Reply(standard(request, true)),
        }),
        ..Script::default()
    });
    let (session, peer) = client.connection().await;
    let calls: Vec<_> = (0..200).map(|_| tokio::spawn(session.call(register()))).collect();
    tokio::task::yield_now().await;
    peer.cut();
    for call in calls {
        match call.await.unwrap().unwrap_err() {
            CallError::Link(error) => assert!(matches!(error.fault, LinkFault::Transport(_)), "{error}"),
            other => panic!("{other:?}"),
        }
    }
}

/// On real threads: calls of many tasks while connection after connection is cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn g21_calls_resolve_under_any_interleaving_with_losses() {
    let mut client = Client::start(Script::default());
    let (newest, sessions) = tokio::sync::watch::channel(None::<Arc<dyn Session>>);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let mut sessions = sessions.clone();
        callers.spawn(async move {
            let mut answered = 0;
            while sessions.changed().await.is_ok() {
                let session = sessions.borrow_and_update().clone().expect("set before it is announced");
                let lost = loop {
                    match session.call(register()).await {
                        Ok(_) => answered += 1,
                        Err(error) => break error,
                    }
                };
                assert_eq!(lost.class(), CallClass::EpochOver);
            }
            answered
        });
    }
    let rounds = async {
        for _ in 0..5 {
            let mut peer = client.peer().await;
            let (session, _) = client.connected().await;
            newest.send_replace(Some(session));
            for _ in 0..500 {
                peer.request().await;
            }
            peer.cut();
            client.disconnected().await;
        }
        drop(newest);
        let answered = callers.join_all().await;
        assert!(answered.iter().sum::<usize>() >= 1_000, "{answered:?}");
        assert!(client.transport.close(Duration::from_secs(5)).await);
    };
    tokio::time::timeout(Duration::from_secs(60), rounds).await.expect("no call hangs");
}
