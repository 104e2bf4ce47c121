//! Starting, closing, dropping, in every order and place.

use std::{sync::Arc, time::Duration};

use tokio::{runtime::Builder, time::Instant};

use crate::transport::{
    CallClass, Event, EventHandler, LinkFault, NamingTransport, Phase, StartError,
    grpc::{
        GrpcTransport,
        testing::{Answer, Client, Script, register, settings, standard},
    },
};

struct Ignore;

impl EventHandler for Ignore {
    fn handle(&self, _: Event) {}
}

const DEADLINE: Duration = Duration::from_secs(2);

#[test]
fn t01_building_and_dropping_need_no_runtime_and_starting_says_so() {
    let transport = GrpcTransport::new(settings(&["127.0.0.1:1"]));
    assert_eq!(transport.start(Arc::new(Ignore)), Err(StartError::NoRuntime));
    assert!(matches!(transport.status().borrow().phase, Phase::Idle));
    drop(transport);
}

#[test]
fn t01_a_transport_outlives_its_runtime_without_a_panic() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let transport = GrpcTransport::new(settings(&["127.0.0.1:1"]));
    runtime.block_on(async { transport.start(Arc::new(Ignore)).unwrap() });
    drop(runtime);
    assert!(matches!(transport.status().borrow().phase, Phase::Closed));
    let other = Builder::new_current_thread().enable_all().build().unwrap();
    assert!(other.block_on(transport.close(DEADLINE)));
    assert_eq!(other.block_on(async { transport.start(Arc::new(Ignore)) }), Err(StartError::Closed));
}

#[test]
fn t01_a_started_transport_may_be_dropped_and_closed_anywhere() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for place in 0..3 {
        let transport = GrpcTransport::new(settings(&["127.0.0.1:1"]));
        runtime.block_on(async { transport.start(Arc::new(Ignore)).unwrap() });
        let mut status = transport.status();
        match place {
            0 => drop(transport),
            1 => runtime.block_on(runtime.spawn_blocking(move || drop(transport))).unwrap(),
            _ => {
                let unwound = std::thread::spawn(move || {
                    let _held = transport;
                    std::panic::resume_unwind(Box::new("unwinding"));
                });
                assert!(unwound.join().is_err());
            }
        }
        runtime.block_on(async { status.wait_for(|s| matches!(s.phase, Phase::Closed)).await.unwrap() });
    }
}

#[tokio::test(start_paused = true)]
async fn closing_reports_the_end_and_leaves_nothing_running() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let mut client = Client::start(Script::default());
    let (session, peer) = client.connection().await;
    assert!(client.transport.close(DEADLINE).await);
    let (epoch, cause) = client.disconnected().await;
    assert_eq!(epoch, session.epoch());
    assert!(matches!(cause.fault, LinkFault::Closed));
    assert!(client.events.recv().await.is_none(), "the handler is let go");
    peer.closed().await;
    assert_eq!(session.call(register()).await.unwrap_err().class(), CallClass::EpochOver);
    assert!(matches!(client.transport.status().borrow().phase, Phase::Closed));
    assert_eq!(client.transport.start(Arc::new(Ignore)), Err(StartError::Closed));
    while tasks() > before {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn closing_before_the_start_is_final() {
    let transport = GrpcTransport::new(settings(&["one"]));
    assert!(transport.close(DEADLINE).await);
    assert_eq!(transport.start(Arc::new(Ignore)), Err(StartError::Closed));
    assert!(matches!(transport.status().borrow().phase, Phase::Closed));
}

#[tokio::test(start_paused = true)]
async fn t03_concurrent_and_repeated_closes_all_end_at_once_whatever_the_server_does() {
    let silent =
        |kind: &'static str| Script {
            answer: Box::new(move |_, request| {
                if request.kind() == kind { Answer::Never } else { Answer::Reply(standard(request, true)) }
            }),
            ..Script::default()
        };
    let scripts = [
        Script::default(),
        silent("ServerCheckRequest"),
        Script { setup_ack: None, ..Script::default() },
        Script { refuse: Box::new(|_, _, _| true), ..Script::default() },
    ];
    for script in scripts {
        let client = Client::start(script);
        tokio::time::advance(Duration::from_millis(700)).await;
        tokio::task::yield_now().await;
        let start = Instant::now();
        let closes: Vec<_> = (0..10).map(|_| tokio::spawn(client.transport.close(DEADLINE))).collect();
        for close in closes {
            assert!(close.await.unwrap());
        }
        assert!(client.transport.close(DEADLINE).await);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn t03_closing_with_calls_in_flight_and_a_frozen_server_is_quick() {
    let mut client = Client::start(Script::default());
    let (session, peer) = client.connection().await;
    peer.freeze();
    let call = tokio::spawn(session.call(register()));
    tokio::task::yield_now().await;
    let start = Instant::now();
    assert!(client.transport.close(DEADLINE).await);
    assert_eq!(call.await.unwrap().unwrap_err().class(), CallClass::EpochOver);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn dropping_closes_too() {
    let mut client = Client::start(Script::default());
    let (session, peer) = client.connection().await;
    let Client { transport, mut events, .. } = client;
    drop(transport);
    match events.recv().await {
        Some(Event::Disconnected { epoch, .. }) => assert_eq!(epoch, session.epoch()),
        other => panic!("{other:?}"),
    }
    peer.closed().await;
    assert!(events.recv().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_costs_its_connection_not_the_transport() {
    struct Brittle(tokio::sync::mpsc::UnboundedSender<&'static str>);
    impl EventHandler for Brittle {
        fn handle(&self, event: Event) {
            match event {
                Event::Connected { .. } => self.0.send("connected").unwrap(),
                Event::Disconnected { .. } => self.0.send("disconnected").unwrap(),
                Event::Push { .. } => std::panic::resume_unwind(Box::new("a bug")),
            }
        }
    }
    let (server, mut peers) = crate::transport::grpc::testing::ScriptedServer::new(Script::default());
    let transport = GrpcTransport::with_connector(settings(&["one"]), Arc::new(server));
    let (sender, mut seen) = tokio::sync::mpsc::unbounded_channel();
    transport.start(Arc::new(Brittle(sender))).unwrap();
    let mut peer = peers.recv().await.unwrap();
    assert_eq!(seen.recv().await, Some("connected"));
    peer.received().await;
    peer.push("NotifySubscriberRequest", r#"{"requestId":"1","serviceInfo":{}}"#);
    assert_eq!(seen.recv().await, Some("disconnected"));
    assert_eq!(seen.recv().await, Some("connected"));
}

/// Over real sockets: the descriptor is gone when the close returns.
#[tokio::test]
async fn a_closed_transport_has_closed_its_socket() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let transport = GrpcTransport::new(settings(&[&format!("127.0.0.1:1?grpc_port={port}")]));
    transport.start(Arc::new(Ignore)).unwrap();
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut preface = [0; 24];
    tokio::io::AsyncReadExt::read_exact(&mut socket, &mut preface).await.unwrap();
    assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert!(transport.close(DEADLINE).await);
    let mut rest = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut socket, &mut rest);
    let read = tokio::time::timeout(Duration::from_secs(5), read).await.expect("the end of the connection");
    // A reset is an end as well.
    assert!(read.is_ok() || read.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
}
