//! The set-up of a connection.

use std::time::Duration;

use nacos_server_min::Server;
use serde_json::{Value, json};

use crate::support::{Peer, Stream, instance, ports, setup};

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

fn with_labels(labels: Value) -> Value {
    let mut setup = setup();
    setup["labels"] = labels;
    setup
}

#[tokio::test]
async fn the_acknowledgement_names_the_abilities_and_has_no_id() {
    let server = server().await;
    let peer = Peer::connect(server.grpc_addr()).await;
    let mut stream = peer.stream().await;
    stream.send("ConnectionSetupRequest", &setup().to_string());
    let (kind, body) = stream.next().await.expect("an acknowledgement");
    assert_eq!(kind, "SetupAckRequest");
    assert_eq!(
        body,
        json!({"headers": {}, "abilityTable": {"supportPersistentInstanceByGrpc": true}, "module": "internal"})
    );
}

#[tokio::test]
async fn without_an_ability_table_there_is_none_and_a_request_right_behind_waits() {
    let server = server().await;
    for table in [None, Some(Value::Null)] {
        let peer = Peer::connect(server.grpc_addr()).await;
        let mut stream = peer.stream().await;
        let mut request = setup();
        match table {
            None => drop(request.as_object_mut().and_then(|all| all.remove("abilityTable"))),
            Some(null) => request["abilityTable"] = null,
        }
        stream.send("ConnectionSetupRequest", &request.to_string());
        assert_eq!(peer.register("orders", instance("10.0.0.1", 80)).await.codes(), ("InstanceResponse", 200, 0));
        assert_eq!(stream.within(Duration::from_millis(50)).await, None);
    }
}

#[tokio::test]
async fn a_request_that_overtakes_the_set_up_waits_for_it_and_no_longer_than_needed() {
    let server = server().await;
    let peer = Peer::connect(server.grpc_addr()).await;
    let stream = peer.stream().await;
    let (answer, ()) = tokio::join!(peer.health(), async {
        tokio::task::yield_now().await;
        stream.send("ConnectionSetupRequest", &setup().to_string());
    });
    assert_eq!(answer.codes(), ("HealthCheckResponse", 200, 0));

    let silent = Peer::connect(server.grpc_addr()).await;
    let _stream = silent.stream().await;
    assert_eq!(silent.health().await.codes(), ("ErrorResponse", 500, 301), "the wait is bounded");
    let noisy = Peer::connect(server.grpc_addr()).await;
    let stream = noisy.stream().await;
    stream.send("HealthCheckResponse", "{}");
    assert_eq!(noisy.health().await.codes(), ("ErrorResponse", 500, 301));
}

#[tokio::test]
async fn only_the_module_naming_makes_a_naming_client() {
    let server = server().await;
    for labels in [json!({"module": "config"}), json!({"module": "NAMING"}), json!({"module": "ai"}), json!({})] {
        let peer = Peer::connect(server.grpc_addr()).await;
        let _stream = peer.set_up(&with_labels(labels.clone())).await;
        let refused = peer.register("orders", instance("10.0.0.1", 80)).await;
        assert_eq!(refused.codes(), ("ErrorResponse", -401, -401), "{labels}");
        assert!(refused.message().starts_with("errCode: -401, errMsg: Client ["));
        assert!(refused.message().ends_with("can't register ephemeral instance. "));
        assert_eq!(peer.subscribe("orders", "").await.codes(), ("ErrorResponse", -401, -401));
        assert_eq!(peer.query("orders").await.codes(), ("QueryServiceResponse", 200, 0));
        assert_eq!(peer.deregister("orders", instance("10.0.0.1", 80)).await.codes(), ("InstanceResponse", 200, 0));
    }
    assert!(server.connections().iter().all(|c| c.published == 0));
}

#[tokio::test]
async fn what_cannot_be_read_is_dropped_and_null_labels_end_the_stream() {
    let server = server().await;
    let peer = Peer::connect(server.grpc_addr()).await;
    let mut stream = peer.stream().await;
    for bad in ["{nope", r#"{"labels":"x","abilityTable":{}}"#, r#"{"labels":{},"abilityTable":{"a":"x"}}"#, ""] {
        stream.send("ConnectionSetupRequest", bad);
    }
    assert_eq!(peer.health().await.codes(), ("ErrorResponse", 500, 301));
    stream.send("ConnectionSetupRequest", &setup().to_string());
    assert_eq!(stream.next().await.map(|(kind, _)| kind).as_deref(), Some("SetupAckRequest"));
    for noise in ["NopeRequest", "HealthCheckRequest", "ClientDetectionResponse", "NotifySubscriberResponse"] {
        stream.send(noise, r#"{"requestId":"999999999"}"#);
        stream.send(noise, "{nope");
    }
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));

    let peer = Peer::connect(server.grpc_addr()).await;
    let mut stream = peer.stream().await;
    stream.send("ConnectionSetupRequest", r#"{"labels":null,"abilityTable":{}}"#);
    assert_eq!(stream.next().await, None);
    assert_eq!(stream.status.as_deref(), Some("2"));
    assert_eq!(peer.health().await.codes(), ("ErrorResponse", 500, 301));
}

async fn subscribed(server: &Server) -> (Peer, Stream) {
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    assert_eq!(ports(&stream.acked_push().await), [0u64; 0]);
    (peer, stream)
}

#[tokio::test]
async fn a_second_set_up_keeps_the_registration_and_takes_the_pushes_over() {
    let server = server().await;
    let (peer, mut first) = subscribed(&server).await;
    let mut second = peer.set_up(&with_labels(json!({"source": "sdk", "module": "config"}))).await;
    let registered = peer.register("orders", instance("10.0.0.1", 1)).await;
    assert_eq!(registered.codes(), ("InstanceResponse", 200, 0), "the first labels count");
    assert_eq!(ports(&second.acked_push().await), [1]);
    assert_eq!(server.counters().setups, 1);

    // When the newest stream goes, the one before it serves again.
    second.half_close();
    assert_eq!(second.next().await, None);
    peer.register("orders", instance("10.0.0.1", 2)).await;
    assert_eq!(ports(&first.acked_push().await), [2]);
}

#[tokio::test]
async fn the_end_of_a_stream_is_not_the_end_of_the_registration() {
    let server = server().await;
    let (peer, mut stream) = subscribed(&server).await;
    stream.half_close();
    assert_eq!(stream.next().await, None);
    assert_eq!(stream.status.as_deref(), Some("0"));
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));
    peer.register("orders", instance("10.0.0.1", 1)).await;
    let mut again = peer.set_up(&setup()).await;
    assert_eq!(ports(&again.acked_push().await), [1], "what was due meanwhile comes by the new stream");
    drop(again);
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0), "a cancelled stream is no end either");
}

#[tokio::test]
async fn streams_of_one_connection_are_bounded() {
    let server = server().await;
    let peer = Peer::connect(server.grpc_addr()).await;
    let mut streams = Vec::new();
    for _ in 0..20 {
        streams.push(peer.stream().await);
    }
    let refused = streams.iter().filter(|s| s.status.as_deref() == Some("8")).count();
    assert_eq!(refused, 12);
}

#[tokio::test]
async fn an_operator_sees_connections_and_can_ask_them_to_move() {
    let server = server().await;
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.register("orders", instance("10.0.0.1", 1)).await;
    let info = server.connections().pop().expect("one connection");
    assert_eq!((info.client_version.as_str(), info.client_ip.as_str()), ("Nacos-Test:v0", "10.0.0.9"));
    assert_eq!((info.module.as_str(), info.source.as_str(), info.registered), ("naming", "sdk", true));
    assert_eq!((info.published, info.subscribed), (1, 0));

    for (target, expected) in [
        (None, json!({"headers": {}, "module": "internal"})),
        (Some("nope"), json!({"headers": {}, "module": "internal"})),
        (
            Some("127.0.0.1:8848"),
            json!({"headers": {}, "module": "internal", "serverIp": "127.0.0.1", "serverPort": "8848",
                "connectionId": info.id}),
        ),
    ] {
        assert!(server.reset_connection(&info.id, target));
        let (kind, mut body) = stream.next().await.expect("a request to move");
        assert_eq!(kind, "ConnectResetRequest");
        let id = body.as_object_mut().and_then(|all| all.remove("requestId")).expect("an id");
        assert_eq!(body, expected);
        stream.send("ConnectResetResponse", &json!({"resultCode": 200, "requestId": id}).to_string());
    }
    assert!(!server.reset_connection("nope", None));
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0), "nothing happens if it stays");
    assert!(server.close_connection(&info.id));
    assert_eq!(stream.next().await, None);
}
