//! Silent connections.

use std::time::Duration;

use nacos_server_min::{Server, Settings};
use serde_json::json;

use crate::support::{PATIENCE, Peer, Stream, eventually, instance, ports, setup};

/// The same order of events as with the default times, two hundred times as fast.
fn fast() -> Settings {
    let mut settings = Settings::default();
    settings.detection_idle = Duration::from_millis(200);
    settings.detection_interval = Duration::from_millis(30);
    settings.detection_timeout = Duration::from_millis(100);
    settings
}

async fn server() -> Server {
    Server::builder().settings(fast()).start().await.expect("free ports")
}

async fn probe(stream: &mut Stream) -> String {
    let (kind, body) = stream.next().await.expect("a probe");
    assert_eq!((kind.as_str(), &body["module"]), ("ClientDetectionRequest", &json!("internal")));
    body["requestId"].as_str().expect("an id").to_owned()
}

fn answer(stream: &Stream, id: &str, code: i32) {
    stream.send("ClientDetectionResponse", &json!({"resultCode": code, "requestId": id}).to_string());
}

#[tokio::test]
async fn a_client_that_does_not_answer_is_evicted_and_may_come_back() {
    let server = server().await;
    let (silent, mut stream) = Peer::naming(server.grpc_addr()).await;
    silent.register("orders", instance("10.0.0.1", 1)).await;
    probe(&mut stream).await;
    assert_eq!(stream.next().await, None);
    assert_eq!(stream.status.as_deref(), Some("0"), "the stream ends in good order");
    assert_eq!(silent.health().await.codes(), ("ErrorResponse", 500, 301));
    assert_eq!(server.counters().evictions, 1);
    let _again = silent.set_up(&setup()).await;
    assert!(silent.query("orders").await.hosts().is_empty(), "what it published went with the registration");
    assert_eq!(silent.register("orders", instance("10.0.0.1", 1)).await.codes(), ("InstanceResponse", 200, 0));
}

#[tokio::test]
async fn a_refused_probe_is_an_unanswered_one() {
    let server = server().await;
    let (_peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    let id = probe(&mut stream).await;
    answer(&stream, &id, 500);
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn an_acknowledged_probe_is_life_however_often() {
    let server = server().await;
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    for _ in 0..5 {
        let id = probe(&mut stream).await;
        answer(&stream, &id, 200);
    }
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));
    assert_eq!(server.counters().evictions, 0);
}

#[tokio::test]
async fn what_counts_as_a_sign_of_life() {
    let server = server().await;
    let activity: [(&str, &str, &str, bool); 6] = [
        ("request", "HealthCheckRequest", "{}", true),
        ("refused parameters", "ServiceQueryRequest", r#"{"serviceName":"a@@b"}"#, true),
        ("unsolicited response", "", r#"{"requestId":"0"}"#, true),
        ("server check", "ServerCheckRequest", "{}", false),
        ("unknown type", "NopeRequest", "{}", false),
        ("bad body", "HealthCheckRequest", "{nope", false),
    ];
    let mut watched = Vec::new();
    for (name, kind, body, alive) in activity {
        let (peer, stream) = Peer::naming(server.grpc_addr()).await;
        watched.push(tokio::spawn(async move {
            let deadline = tokio::time::Instant::now() + Duration::from_millis(700);
            let (peer, mut stream) = (peer, stream);
            let mut evicted = false;
            while tokio::time::Instant::now() < deadline && !evicted {
                match kind {
                    "" => stream.send("ClientDetectionResponse", body),
                    _ => drop(peer.unary_text(kind, body).await),
                }
                // The pace of the activity, and a look at whether the stream is over.
                let message = tokio::time::timeout(Duration::from_millis(40), stream.next()).await;
                evicted = matches!(message, Ok(None));
            }
            (name, evicted, alive)
        }));
    }
    for task in watched {
        let (name, evicted, alive) = task.await.expect("no panic");
        assert_eq!(evicted, !alive, "{name}");
    }
}

#[tokio::test]
async fn the_others_do_not_notice() {
    let server = server().await;
    let (_dead, dead_stream) = Peer::naming(server.grpc_addr()).await;
    let (live, mut stream) = Peer::naming(server.grpc_addr()).await;
    let beats = async {
        loop {
            live.health().await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    _dead.register("orders", instance("10.0.0.1", 1)).await;
    live.subscribe("orders", "").await;
    assert_eq!(ports(&stream.acked_push().await), [1]);
    let gone = async { ports(&stream.acked_push().await) };
    tokio::select! {
        () = beats => {}
        list = tokio::time::timeout(PATIENCE, gone) => assert_eq!(list.expect("in time"), [0u64; 0]),
    }
    drop(dead_stream);
}

#[tokio::test]
async fn a_connection_that_never_sets_up_is_closed() {
    let mut settings = fast();
    settings.unregistered_timeout = Duration::from_millis(100);
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let peer = Peer::connect(server.grpc_addr()).await;
    peer.unary_text("ServerCheckRequest", "{}").await;
    eventually("it is closed", || async { server.connections().is_empty() }).await;
}
