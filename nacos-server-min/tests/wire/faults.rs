//! Faults on demand.

use std::time::{Duration, Instant};

use nacos_server_min::Server;
use nacos_server_min::fault::{AnswerFault, Direction};

use crate::support::{Peer, eventually, instance, ports, setup};

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

const A_MOMENT: Duration = Duration::from_millis(80);

#[tokio::test]
async fn a_frozen_server_answers_when_it_thaws() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    server.fault().freeze();
    let mut health = Box::pin(peer.health());
    assert!(tokio::time::timeout(A_MOMENT, &mut health).await.is_err());
    let tcp = tokio::net::TcpStream::connect(server.grpc_addr()).await;
    assert!(tcp.is_ok(), "it accepts");
    server.fault().thaw();
    assert_eq!(health.await.codes(), ("HealthCheckResponse", 200, 0));
}

#[tokio::test]
async fn one_connection_falls_into_a_black_hole() {
    let server = server().await;
    let (lost, _lost_stream) = Peer::naming(server.grpc_addr()).await;
    let id = server.connections().pop().expect("one connection").id;
    let (other, _other_stream) = Peer::naming(server.grpc_addr()).await;
    assert!(server.fault().black_hole(&id, Direction::ToClient));
    assert!(!server.fault().black_hole("nope", Direction::Both));
    let mut register = Box::pin(lost.register("orders", instance("10.0.0.1", 1)));
    assert!(tokio::time::timeout(A_MOMENT, &mut register).await.is_err());
    assert_eq!(other.query("orders").await.hosts().len(), 1, "the request arrived, only the answer did not");
    assert!(server.fault().heal(&id));
    assert_eq!(register.await.codes(), ("InstanceResponse", 200, 0));
}

#[tokio::test]
async fn a_forgotten_connection_is_told_so() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    peer.register("orders", instance("10.0.0.1", 1)).await;
    let id = server.connections().pop().expect("one connection").id;
    assert!(server.fault().forget(&id));
    assert_eq!(peer.health().await.codes(), ("ErrorResponse", 500, 301));
    let _again = peer.set_up(&setup()).await;
    assert!(peer.query("orders").await.hosts().is_empty());
}

#[tokio::test]
async fn killed_connections_are_gone_and_new_ones_are_welcome() {
    let server = server().await;
    let (_first, mut stream) = Peer::naming(server.grpc_addr()).await;
    assert_eq!(server.fault().kill_connections(), 1);
    assert_eq!(stream.next().await, None);
    eventually("it is gone", || async { server.connections().is_empty() }).await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));
}

#[tokio::test]
async fn answers_can_be_wrong_late_and_missing() {
    let server = server().await;
    let fault = server.fault();
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let register = async |service: &str| peer.register(service, instance("10.0.0.1", 1)).await;

    fault.answers(AnswerFault::typed(403, "no").service("orders").times(2));
    assert_eq!(register("orders").await.codes(), ("InstanceResponse", 500, 403));
    assert_eq!(register("other").await.codes(), ("InstanceResponse", 200, 0), "another service");
    let refused = peer.query("orders").await;
    assert_eq!((refused.codes(), refused.message()), (("QueryServiceResponse", 500, 403), "no"));
    assert_eq!(refused.body.get("serviceInfo"), None, "a failure has no content");
    assert_eq!(register("orders").await.codes(), ("InstanceResponse", 200, 0), "twice is over");

    fault.answers(AnswerFault::error(301, "gone").request("HealthCheckRequest"));
    assert_eq!(peer.health().await.codes(), ("ErrorResponse", 500, 301));
    fault.clear_answers();
    fault.answers(AnswerFault::raised(503, "busy").request("HealthCheckRequest").times(1));
    assert_eq!(peer.health().await.codes(), ("ErrorResponse", 503, 503));
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));

    fault.answers(AnswerFault::delay(A_MOMENT).times(1));
    let start = Instant::now();
    assert_eq!(register("late").await.codes(), ("InstanceResponse", 200, 0));
    assert!(start.elapsed() >= A_MOMENT);

    fault.answers(AnswerFault::silence().request("ServiceQueryRequest").times(1));
    assert!(tokio::time::timeout(A_MOMENT, peer.query("orders")).await.is_err());
    assert_eq!(peer.query("orders").await.hosts().len(), 1);
}

#[tokio::test]
async fn a_share_of_the_answers_is_a_share() {
    let server = Server::builder().seed(7).start().await.expect("free ports");
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    server.fault().answers(AnswerFault::typed(500, "bad luck").request("InstanceRequest").share(0.05));
    let mut refused = 0;
    for _ in 0..1_000 {
        if peer.register("orders", instance("10.0.0.1", 1)).await.body["resultCode"] == 500 {
            refused += 1;
        }
    }
    assert!((20..=90).contains(&refused), "{refused} of 1000");
}

#[tokio::test]
async fn pushes_can_be_held_dropped_and_delayed() {
    let server = server().await;
    let fault = server.fault();
    let (writer, _w) = Peer::naming(server.grpc_addr()).await;
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;

    fault.hold_pushes();
    writer.register("orders", instance("10.0.0.1", 1)).await;
    writer.register("orders", instance("10.0.0.1", 2)).await;
    assert_eq!(stream.within(A_MOMENT).await, None);
    fault.deliver_pushes();
    assert_eq!(ports(&stream.acked_push().await), [2], "the newest one");

    fault.drop_pushes();
    writer.register("orders", instance("10.0.0.1", 3)).await;
    eventually("it is lost", || async { server.counters().pushes_dropped == 1 }).await;
    fault.deliver_pushes();
    writer.register("orders", instance("10.0.0.1", 4)).await;
    assert_eq!(ports(&stream.acked_push().await), [4]);

    fault.delay_pushes(A_MOMENT);
    let start = Instant::now();
    writer.register("orders", instance("10.0.0.1", 5)).await;
    assert_eq!(ports(&stream.acked_push().await), [5]);
    assert!(start.elapsed() >= A_MOMENT);
}

#[tokio::test]
async fn a_starting_server_says_so() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    server.fault().starting(true);
    for kind in ["ServerCheckRequest", "HealthCheckRequest", "NopeRequest"] {
        let reply = peer.unary_text(kind, "{}").await;
        assert_eq!(
            (reply.codes(), reply.message()),
            (("ErrorResponse", 500, 300), "Server is starting,please try later.")
        );
    }
    let early = Peer::connect(server.grpc_addr()).await;
    let mut stream = early.stream().await;
    stream.send("ConnectionSetupRequest", &setup().to_string());
    assert_eq!(stream.next().await, None, "a set-up is turned away");
    server.fault().starting(false);
    assert_eq!(peer.health().await.codes(), ("HealthCheckResponse", 200, 0));
}

#[tokio::test]
async fn a_panic_ends_the_readiness() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    assert!(tokio::time::timeout(A_MOMENT, server.failed()).await.is_err());
    server.fault().answers(AnswerFault::crash().request("InstanceRequest").times(1));
    let request = crate::support::instance_request("registerInstance", "orders", instance("10.0.0.1", 1));
    let crashing = crate::support::payload("InstanceRequest", &request.to_string());
    assert_eq!(peer.try_raw("/Request/request", &[], vec![crashing]).await, None, "the request is reset");
    tokio::time::timeout(crate::support::PATIENCE, server.failed()).await.expect("it knows");
    assert_eq!(peer.health().await.codes(), ("ErrorResponse", 500, 300));
}

#[tokio::test]
async fn a_clock_that_is_off_shows_in_lists_and_never_goes_back() {
    let hour = 3_600_000;
    let server = Server::builder().clock_skew(hour).start().await.expect("free ports");
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let now = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        i64::try_from(since.as_millis()).expect("not that far")
    };
    let time = async |port: u16| {
        peer.register("orders", instance("10.0.0.1", port)).await;
        peer.query("orders").await.body["serviceInfo"]["lastRefTime"].as_i64().expect("a time")
    };
    let ahead = time(1).await;
    assert!((ahead - now() - hour).abs() < 60_000);
    server.fault().skew_clock(-hour);
    assert_eq!(time(2).await, ahead + 1);
}
