//! What callers get where no instance answers.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::{get, post};
use examples::gateway::GatewayLimits;
use http::StatusCode;
use http_body_util::BodyExt;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;

use crate::support::*;

async fn answer(uri: &str) -> (StatusCode, String) {
    let request = Request::get(uri).body(Body::empty()).expect("a request");
    let response = in_time(client().request(request)).await.expect("an answer");
    let status = response.status();
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    (status, String::from_utf8(body.to_vec()).expect("text"))
}

#[tokio::test]
async fn gw5_who_cannot_be_served_gets_a_status_and_a_reason_and_no_address() {
    // Nobody else gets its port while it lives, and nobody listens on it.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let world = World::before([socket.local_addr().unwrap()]).await;
    let gateway = world.address;
    for (path, status, reason) in [
        (String::new(), StatusCode::NOT_FOUND, "names no service"),
        (String::from("/x"), StatusCode::NOT_FOUND, "names no service"),
        (String::from("a%20b/x"), StatusCode::BAD_REQUEST, "no name of a service"),
        (format!("{SERVICE}:80/x"), StatusCode::BAD_REQUEST, "no name of a service"),
        (String::from("user@orders/x"), StatusCode::BAD_REQUEST, "cannot be sent"),
        (String::from("nobody/x"), StatusCode::SERVICE_UNAVAILABLE, "none is registered"),
        (format!("{SERVICE}/x"), StatusCode::BAD_GATEWAY, "could not be reached"),
    ] {
        let (seen, text) = answer(&format!("http://{gateway}/{path}")).await;
        assert_eq!(seen, status, "/{path}: {text}");
        assert!(text.contains(reason) && !text.contains("127.0.0.1"), "/{path}: {text}");
    }
}

#[tokio::test]
async fn gw7_only_the_services_that_are_listed_are_asked_for_and_never_the_gateway_itself() {
    let (instance, _serving) = serve(Router::new().route("/x", get(|| async { "here" }))).await;
    let world = World::before([instance]).await;
    let known = || world.directory.services().len();
    for (path, status, reason) in [
        ("order_service.v2/x", StatusCode::NOT_FOUND, "no service of this name"),
        ("unknown/x", StatusCode::NOT_FOUND, "no service of this name"),
        ("orders2/x", StatusCode::NOT_FOUND, "no service of this name"),
        ("%6Frders/x", StatusCode::BAD_REQUEST, "no name of a service"),
        ("gateway/orders/x", StatusCode::LOOP_DETECTED, "does not call itself"),
        ("gateway:80/orders/x", StatusCode::BAD_REQUEST, "no name of a service"),
    ] {
        let (seen, text) = answer(&format!("http://{}/{path}", world.address)).await;
        assert_eq!(seen, status, "/{path}: {text}");
        assert!(text.contains(reason), "/{path}: {text}");
        assert_eq!(known(), 0, "/{path}: nobody is asked");
    }
    assert_eq!(answer(&world.uri("/x")).await, (StatusCode::OK, "here".to_owned()));
    assert_eq!(known(), 1);
}

#[tokio::test]
async fn gw5_an_answer_has_to_come_in_time_once_the_request_has_been_sent() {
    let limits = GatewayLimits { answer: Duration::from_millis(300), ..GatewayLimits::default() };
    let app = Router::new()
        .route("/never", get(std::future::pending::<()>))
        .route("/slow", post(|body: String| async move { body }));
    let (instance, _serving) = serve(app).await;
    let world = World::with(limits, [instance]).await;
    let (status, text) = answer(&world.uri("/never")).await;
    assert_eq!((status, text.as_str()), (StatusCode::GATEWAY_TIMEOUT, "no answer in time\n"));

    // An upload may take longer than the limit: here each of its pieces waits for another call that does.
    let pieces = futures_util::stream::unfold(0, move |number| {
        let uri = world.uri("/never");
        async move {
            if number == 2 {
                return None;
            }
            let (status, _) = answer(&uri).await;
            Some((Ok::<_, std::convert::Infallible>(status.as_str().to_owned()), number + 1))
        }
    });
    let again = World::with(limits, [instance]).await;
    let upload = Request::post(again.uri("/slow")).body(Body::from_stream(pieces)).unwrap();
    let response = in_time(client().request(upload)).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "504504");
}

#[tokio::test]
async fn gw5_an_instance_that_dies_in_the_middle_is_no_whole_answer() {
    for head in ["content-length: 100", "transfer-encoding: chunked"] {
        let (listener, instance) = listen().await;
        let world = World::before([instance]).await;
        let uri = world.uri("/");
        let asking =
            tokio::spawn(async move { client().request(Request::get(uri).body(Body::empty()).unwrap()).await });
        let (mut stream, _) = in_time(listener.accept()).await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\na\r\n0123456789").as_bytes()).await.unwrap();
        let mut body = in_time(asking).await.unwrap().unwrap().into_body();
        let first = in_time(body.frame()).await.unwrap().unwrap().into_data().unwrap();
        assert!(!first.is_empty());
        // What was sent and not read makes the system answer with a reset.
        stream.set_zero_linger().unwrap();
        drop(stream);
        assert!(in_time(body.collect()).await.is_err(), "{head}");
        let (status, _) = answer(&format!("http://{}/", world.address)).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "the gateway is as it was");
    }
}

#[tokio::test]
async fn gw5_a_body_that_cannot_be_read_is_not_the_instances_fault() {
    let (instance, _serving) = serve(Router::new().route("/", post(|body: String| async move { body }))).await;
    let world = World::before([instance]).await;
    let head =
        format!("POST /{SERVICE}/ HTTP/1.1\r\nhost: h\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    let answer = raw(world.address, &format!("{head}5\r\nhello\r\nno length\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert!(answer.contains("the body of the request broke off"), "{answer}");
    let answer = raw(world.address, &format!("{head}5\r\nhello\r\n0\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
}
