//! What an instance gets of a request, and a caller of an answer.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Version};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;

use crate::support::*;

/// Answers with the head that it got.
fn echo() -> Router {
    Router::new().fallback(|request: Request| async move {
        let mut lines = vec![format!("{} {} {:?}", request.method(), request.uri(), request.version())];
        let headers =
            request.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().expect("ASCII")));
        lines.extend(headers);
        lines[1..].sort_unstable();
        lines.join("\n")
    })
}

#[tokio::test]
async fn gw1_name_path_and_query_arrive_byte_for_byte() {
    let (instance, _serving) = serve(echo()).await;
    let world = World::before([instance]).await;
    for (asked, arrives) in [
        ("/a/../b//c/./", "/a/../b//c/./"),
        ("/%2e%2e/%2F%2f/a%20b?q=%20&x=+&y", "/%2e%2e/%2F%2f/a%20b?q=%20&x=+&y"),
        ("/%E8%AE%A2?next=http://else.where/%23", "/%E8%AE%A2?next=http://else.where/%23"),
        ("", "/"),
        ("?q=1", "/?q=1"),
        ("/?", "/?"),
    ] {
        let request = format!("GET /{SERVICE}{asked} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n\r\n");
        let answer = raw(world.address, &request).await;
        assert!(answer.contains(&format!("\r\n\r\nGET {arrives} HTTP/1.1\n")), "{asked}: {answer}");
    }
}

#[tokio::test]
async fn what_is_about_the_connection_stays_and_who_asked_is_told() {
    let (instance, _serving) = serve(echo()).await;
    let world = World::before([instance]).await;
    let request = format!(
        "GET /{SERVICE}/x HTTP/1.1\r\nhost: shop.example\r\nconnection: close, x-hop\r\nx-hop: 1\r\nkeep-alive: 5\r\n\
         te: trailers\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\nproxy-authorization: secret\r\nauthorization: kept\r\n\
         x-forwarded-for: 1.2.3.4\r\nx-forwarded-proto: https\r\nforwarded: for=1.2.3.4\r\n\r\n"
    );
    let answer = raw(world.address, &request).await;
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let expected = format!(
        "GET /x HTTP/1.1\nauthorization: kept\nconnection: te\nhost: {instance}\nte: trailers\nx-forwarded-for: 127.0.0.1\n\
         x-forwarded-host: shop.example\nx-forwarded-prefix: /{SERVICE}\nx-forwarded-proto: http"
    );
    assert_eq!(body, expected);
}

#[tokio::test]
async fn a_length_beside_chunks_cuts_nothing_off() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n\
        5\r\nhello\r\n0\r\n\r\n";
    let (instance, _served) = answering(answer).await;
    let world = World::before([instance]).await;
    let seen = raw(world.address, &format!("GET /{SERVICE}/ HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n")).await;
    assert!(seen.ends_with("5\r\nhello\r\n0\r\n\r\n") && !seen.contains("content-length"), "{seen}");
}

#[tokio::test]
async fn gw2_trailers_of_chunked_answers_are_kept() {
    let answer = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-checksum\r\nconnection: close\r\n\r\n\
        5\r\nhello\r\n0\r\nx-checksum: 7\r\n\r\n";
    let (instance, served) = answering(answer).await;
    let world = World::before([instance]).await;
    let request = format!("GET /{SERVICE}/ HTTP/1.1\r\nhost: h\r\nte: trailers\r\nconnection: close, te\r\n\r\n");
    let seen = raw(world.address, &request).await;
    assert!(seen.ends_with("5\r\nhello\r\n0\r\nx-checksum: 7\r\n\r\n"), "{seen}");
    assert!(served.await.unwrap().contains("te: trailers"));
}

#[tokio::test]
async fn gw2_grpc_goes_over_http2_with_its_trailers() {
    let app = Router::new().fallback(|request: Request| async move {
        assert_eq!(
            (request.version(), &request.headers()["te"]),
            (Version::HTTP_2, &HeaderValue::from_static("trailers"))
        );
        let mut trailers = HeaderMap::new();
        trailers.insert(HeaderName::from_static("grpc-status"), HeaderValue::from_static("5"));
        let sent = request.into_body().collect().await.unwrap().to_bytes();
        let frames = [Frame::data(sent), Frame::trailers(trailers)].map(Ok::<_, std::convert::Infallible>);
        let body = Body::new(StreamBody::new(futures_util::stream::iter(frames)));
        Response::builder().header("content-type", "application/grpc").body(body).unwrap()
    });
    let (instance, _serving) = serve(app).await;
    let world = World::before([instance]).await;
    let request = Request::post(world.uri("/orders.Orders/Get"))
        .header("content-type", "application/grpc+proto")
        .header("te", "trailers")
        .body(Body::from("message"));
    let response = in_time(http2_client().request(request.unwrap())).await.unwrap();
    assert_eq!((response.status(), response.version()), (StatusCode::OK, Version::HTTP_2));
    let whole = in_time(response.into_body().collect()).await.unwrap();
    assert_eq!(whole.trailers().unwrap()["grpc-status"], "5");
    assert_eq!(whole.to_bytes(), "message");
}

#[tokio::test]
async fn a_head_says_how_long_the_body_would_be_and_callers_may_speak_http2() {
    let app =
        Router::new().fallback(|| async { Response::builder().header("x-a", "b").body(Body::from("12345")).unwrap() });
    let (instance, _serving) = serve(app).await;
    let world = World::before([instance]).await;
    for client in [client(), http2_client()] {
        for (method, body) in [("HEAD", ""), ("GET", "12345")] {
            let request = Request::builder().method(method).uri(world.uri("/")).body(Body::empty()).unwrap();
            let response = in_time(client.request(request)).await.unwrap();
            assert_eq!(response.headers()["content-length"], "5");
            assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), body);
        }
    }
}

#[tokio::test]
async fn cookies_that_came_apart_by_http2_arrive_in_one_header() {
    let (instance, _serving) = serve(echo()).await;
    let world = World::before([instance]).await;
    let request = Request::get(world.uri("/")).header("cookie", "a=1").header("cookie", "b=2").body(Body::empty());
    let response = in_time(http2_client().request(request.unwrap())).await.unwrap();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(text.contains("cookie: a=1; b=2\n"), "{text}");
}
