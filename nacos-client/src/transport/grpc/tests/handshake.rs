//! Set-ups with servers of all kinds.

use std::time::Duration;

use nacos_proto::{
    Payload,
    grpc::{ConnectionSetupRequest, ErrorResponse, ServerCheckResponse},
};
use tokio::time::Instant;

use crate::transport::{
    Dialect, LinkFault, NamingTransport, Phase,
    grpc::testing::{Answer, Client, Script, settings, standard},
};

fn old_server() -> Script {
    Script {
        answer: Box::new(|_, request| Answer::Reply(standard(request, false))),
        setup_ack: None,
        eager_headers: false,
        ..Script::default()
    }
}

/// The first error the transport reports.
async fn first_error(client: &Client) -> LinkFault {
    let mut status = client.transport.status();
    let status = status.wait_for(|status| status.last_error.is_some()).await.unwrap();
    status.last_error.clone().unwrap().fault
}

#[tokio::test(start_paused = true)]
async fn the_set_up_says_who_we_are() {
    let mut client = Client::start(Script::default());
    let mut peer = client.peer().await;
    let check = peer.request().await;
    assert_eq!((check.kind(), check.client_ip()), ("ServerCheckRequest", "127.0.0.1"));
    assert_eq!(check.json(), br#"{"headers":{},"module":"internal"}"#);
    let setup = peer.received().await;
    assert_eq!((setup.kind(), setup.client_ip()), ("ConnectionSetupRequest", "127.0.0.1"));
    let setup: ConnectionSetupRequest = setup.decode_json().unwrap();
    assert!(setup.client_version.unwrap().starts_with("Nacos-Rust-Client:v"));
    assert_eq!(setup.tenant.as_deref(), Some("prod"));
    assert_eq!(setup.ability_table, Some([].into()), "present, so that the server acknowledges");
    let labels: Vec<(String, String)> = setup.labels.unwrap().into_iter().collect();
    let want =
        [("AppName", "shop"), ("app_zone", "a"), ("module", "naming"), ("source", "sdk"), ("tls.enable", "false")];
    assert_eq!(labels, want.map(|(k, v)| (k.to_owned(), v.to_owned())));
    let (session, handover) = client.connected().await;
    assert!(handover.is_none());
    let info = session.info();
    assert!(info.abilities.negotiated && info.abilities.persistent);
    assert_eq!(&*info.connection_id, "1700000000000_10.0.0.9_50000");
    assert_eq!(info.local_ip, Some([127, 0, 0, 1].into()));
    assert!(["one:9848", "two:9848"].contains(&&*info.peer));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_no_stream_headers_is_not_waited_for() {
    let start = Instant::now();
    let mut client = Client::start(old_server());
    let (session, mut peer) = client.connection().await;
    assert_eq!(start.elapsed(), Duration::from_millis(100), "the pause instead of an acknowledgement");
    assert!(!session.info().abilities.negotiated && !session.info().abilities.persistent);
    // The headers come with the first message, long after.
    tokio::time::advance(Duration::from_secs(4)).await;
    peer.push("ClientDetectionRequest", r#"{"requestId":"1"}"#);
    assert_eq!(peer.received().await.kind(), "ClientDetectionResponse");
}

#[tokio::test(start_paused = true)]
async fn a_missing_acknowledgement_costs_three_seconds_and_the_server() {
    let start = Instant::now();
    let mut client = Client::start(Script { setup_ack: None, ..Script::default() });
    let first = client.peer().await;
    let second = client.peer().await;
    first.closed().await;
    assert!(start.elapsed() >= Duration::from_secs(3) && start.elapsed() <= Duration::from_millis(3_100));
    assert_ne!(first.dialed, second.dialed, "another server");
    match first_error(&client).await {
        LinkFault::SetupTimeout { limit, .. } => assert_eq!(limit, Duration::from_secs(3)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_null_ability_table_is_an_empty_one() {
    let ack = Some(r#"{"headers":null,"abilityTable":null,"unknown":[1]}"#);
    let mut client = Client::start(Script { setup_ack: ack, ..Script::default() });
    let (session, _) = client.connected().await;
    assert!(session.info().abilities.negotiated && !session.info().abilities.persistent);
}

#[tokio::test(start_paused = true)]
async fn other_messages_before_the_acknowledgement_do_not_end_the_set_up() {
    let mut client = Client::start(Script { setup_ack: None, ..Script::default() });
    let mut peer = client.peer().await;
    peer.received().await;
    peer.push("SomethingNewRequest", "{}");
    peer.push("ClientDetectionRequest", r#"{"requestId":"1"}"#);
    assert_eq!(peer.received().await.kind(), "ClientDetectionResponse");
    peer.push("SetupAckRequest", r#"{"abilityTable":{}}"#);
    client.connected().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_to_move_during_the_set_up_ends_the_attempt() {
    let mut client = Client::start(Script { setup_ack: None, ..Script::default() });
    let mut peer = client.peer().await;
    peer.received().await;
    peer.push("ConnectResetRequest", r#"{"requestId":"1"}"#);
    peer.closed().await;
    assert!(matches!(first_error(&client).await, LinkFault::GivenUp(_)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_ends_the_stream_at_once_has_refused() {
    let mut client = Client::start(old_server());
    let mut peer = client.peer().await;
    peer.received().await;
    peer.end_stream();
    peer.closed().await;
    assert!(matches!(first_error(&client).await, LinkFault::StreamEnded));
}

#[tokio::test(start_paused = true)]
async fn a_starting_server_is_left_for_the_next_one() {
    let mut client = Client::start(Script {
        answer: Box::new(|number, request| {
            let starting = ErrorResponse::failure(300, "Server is starting,please try later.");
            Answer::Reply(if number == 0 { Payload::encode_json(&starting) } else { standard(request, true) })
        }),
        ..Script::default()
    });
    let (first, second) = (client.peer().await, client.peer().await);
    assert_ne!(first.dialed, second.dialed);
    client.connected().await;
    match first_error(&client).await {
        LinkFault::SetupRefused { code: 300, message } => assert!(!message.is_empty()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_costs_two_seconds() {
    let start = Instant::now();
    let mut client = Client::start(Script { answer: Box::new(|_, _| Answer::Never), ..Script::default() });
    client.peer().await.closed().await;
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert!(matches!(first_error(&client).await, LinkFault::SetupTimeout { step: "the server check", .. }));
}

#[tokio::test(start_paused = true)]
async fn g12_what_is_no_server_is_named_with_the_port_really_tried() {
    for (answer, want) in [(Answer::Http(404), "HTTP status 404"), (Answer::Status(12), "gRPC status 12")] {
        let answer = std::sync::Mutex::new(Some(answer));
        let script = Script {
            answer: Box::new(move |_, _| answer.lock().unwrap().take().unwrap_or(Answer::Never)),
            ..Script::default()
        };
        let client = Client::start_with(settings(&["proxy:80?grpc_port=1443"]), script);
        let mut status = client.transport.status();
        let status = status.wait_for(|status| status.last_error.is_some()).await.unwrap();
        let error = status.last_error.as_ref().unwrap().to_string();
        assert!(error.starts_with("proxy:1443: ") && error.contains(want), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn g12_g13_the_port_dialed_follows_the_entry() {
    for (entry, host, port) in [
        ("nacos", "nacos", 9848),
        ("http://nacos:80", "nacos", 1080),
        ("nacos:8848?grpc_port=9999", "nacos", 9999),
        ("nacos:8848?grpc_offset=5", "nacos", 8853),
        ("[fe80::1%eth0]:8848", "fe80::1%eth0", 9848),
    ] {
        let mut client = Client::start_with(settings(&[entry]), Script::default());
        assert_eq!(client.peer().await.dialed, (host.to_owned(), port), "{entry}");
        client.connected().await;
    }
}

#[tokio::test(start_paused = true)]
async fn r_nacos_is_recognised() {
    let mut client = Client::start(Script {
        answer: Box::new(|_, request| {
            let id = "1_127.0.0.1:37728".to_owned();
            let check = ServerCheckResponse { connection_id: id, message: Some(String::new()), ..Default::default() };
            Answer::Reply(match request.kind() {
                "ServerCheckRequest" => Payload::encode_json(&check),
                _ => standard(request, false),
            })
        }),
        ..old_server()
    });
    let (session, _) = client.connected().await;
    assert_eq!(session.info().dialect, Dialect::Adding);
}

#[tokio::test(start_paused = true)]
async fn the_status_tells_the_phases() {
    let silent = Client::start(Script { answer: Box::new(|_, _| Answer::Never), ..Script::default() });
    let mut status = silent.transport.status();
    match &status.wait_for(|status| !matches!(status.phase, Phase::Idle)).await.unwrap().phase {
        Phase::Connecting { server } => assert!(["one:8848", "two:8848"].contains(&&**server)),
        other => panic!("{other:?}"),
    };

    let refuse = Box::new(|number, _: &str, _| number == 0);
    let mut client = Client::start(Script { refuse, ..Script::default() });
    let mut status = client.transport.status();
    let waiting = status.wait_for(|status| matches!(status.phase, Phase::Waiting)).await.unwrap().clone();
    assert_eq!(waiting.failures, 1);
    assert!(matches!(waiting.last_error.unwrap().fault, LinkFault::Connect(_)));
    client.connected().await;
    status.wait_for(|status| matches!(status.phase, Phase::Connected)).await.unwrap();
}
