//! What all HTTP calls share: where parameters are read, and what answers look like.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use nacos_server_min::{Server, Settings};
use tokio::net::TcpStream;

use crate::http::{call, exchange};
use crate::support::eventually;

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

const REGISTER: &str = "/nacos/v1/ns/instance?serviceName=s&ip=10.0.0.1&port=80";
const LIST: &str = "/nacos/v1/ns/instance/list?serviceName=s";

/// Status and content type of a call that accepts `accept`.
async fn accepting(addr: SocketAddr, method: &str, path: &str, accept: &str) -> (u16, Option<String>) {
    let (status, content_type, _) = exchange(addr, method, path, &[("accept", accept)], "").await;
    (status, content_type)
}

#[tokio::test]
async fn an_answer_is_of_the_type_that_is_accepted() {
    let server = server().await;
    let addr = server.http_addr();
    for (accept, content_type) in [
        ("*/*", "text/plain;charset=UTF-8"),
        ("text/html,*/*", "text/html;charset=UTF-8"),
        ("application/json", "application/json"),
        ("application/xml", "application/xml;charset=UTF-8"),
    ] {
        let expected = (200, Some(content_type.to_owned()));
        assert_eq!(accepting(addr, "POST", REGISTER, accept).await, expected, "{accept}");
    }
    for accept in ["*/*", "text/html,*/*;q=0.8", "application/json", "application/*"] {
        let expected = (200, Some("application/json".to_owned()));
        assert_eq!(accepting(addr, "GET", LIST, accept).await, expected, "{accept}");
    }
    let refused = accepting(addr, "GET", LIST, "application/xml").await;
    assert_eq!(refused, (500, Some("application/xml;charset=UTF-8".to_owned())));
}

#[tokio::test]
async fn a_browser_is_shown_errors_as_pages_and_nothing_of_its_own() {
    let server = server().await;
    let addr = server.http_addr();
    let html = [("accept", "text/html")];
    let (status, content_type, page) = exchange(addr, "GET", "/nacos/v1/ns/'x'&y", &html, "").await;
    assert_eq!((status, content_type.as_deref()), (501, Some("text/html;charset=UTF-8")));
    assert!(page.contains("no such api:GET:/nacos/v1/ns/&#39;x&#39;&amp;y"), "{page}");
    let wrong = format!("{REGISTER}&weight=%3Cscript%3E");
    let (status, content_type, text) = exchange(addr, "POST", &wrong, &html, "").await;
    assert_eq!((status, content_type.as_deref()), (400, Some("text/plain;charset=UTF-8")), "{text}");
}

#[tokio::test]
async fn parameters_are_read_wherever_they_stand() {
    let server = server().await;
    let addr = server.http_addr();
    let multipart = [("content-type", "multipart/form-data; boundary=x")];
    let part =
        |name: &str, value: &str| format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    let body = format!("{}{}{}--x--\r\n", part("serviceName", "s"), part("ip", "10.0.0.2"), part("port", "81"));
    let path = "/nacos/v1/ns/instance";
    assert_eq!(exchange(addr, "POST", path, &multipart, &body).await.2, "ok");
    let split = call(addr, "POST", &format!("{path}?serviceName=s"), Some("ip=10.0.0.3&port=82")).await;
    assert_eq!(split, (200, "ok".to_owned()));
    let (_, list) = call(addr, "GET", &format!("{LIST}&"), None).await;
    assert!(list.contains("10.0.0.2") && list.contains("10.0.0.3"), "{list}");
    let json = [("content-type", "application/json")];
    let (status, _, text) = exchange(addr, "POST", path, &json, r#"{"serviceName":"s"}"#).await;
    assert_eq!((status, text.as_str()), (400, "Param 'serviceName' is required."));
    let (status, text) = call(addr, "GET", "/nacos/v1/ns/instance/list?serviceName=%zz", None).await;
    assert_eq!((status, text.as_str()), (400, "Param 'serviceName' is required."), "what is not encoded is not there");
}

#[tokio::test]
async fn a_slash_at_the_end_is_taken_before_the_third_generation() {
    let server = server().await;
    let addr = server.http_addr();
    for (path, status) in [
        ("/nacos/v1/ns/instance/list/?serviceName=s", 200),
        ("/nacos/v2/ns/instance/list/?serviceName=s", 200),
        ("/nacos/v3/client/ns/instance/list/?serviceName=s", 404),
    ] {
        assert_eq!(call(addr, "GET", path, None).await.0, status, "{path}");
    }
}

#[tokio::test]
async fn a_connection_is_kept_between_requests_for_longer_than_a_handshake_may_take() {
    let mut settings = Settings::default();
    settings.handshake_timeout = Duration::from_millis(20);
    let server = Server::builder().settings(settings).start().await.expect("free ports");
    let tcp = TcpStream::connect(server.http_addr()).await.expect("the server listens");
    let (mut send, connection) = hyper::client::conn::http1::handshake(TokioIo::new(tcp)).await.expect("HTTP/1");
    let connection = tokio::spawn(async move { drop(connection.await) });
    for _ in 0..2 {
        let idle = Instant::now();
        eventually("it was idle", async || idle.elapsed() > Duration::from_millis(100)).await;
        let request = Request::get(LIST).header("host", "server").body(Empty::<Bytes>::new()).expect("a request");
        let response = send.send_request(request).await.expect("the connection is still there");
        response.into_body().collect().await.expect("a body");
    }
    connection.abort();
}
