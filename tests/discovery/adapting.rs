//! Clients that balanced requests go through.

use std::error::Error;
use std::fmt::Debug;
use std::future::pending;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header;
use axum::response::{IntoResponse, Redirect};
use axum::routing::{any, get};
use http_body_util::BodyExt;
use nacos_client::Instance;
use nacos_discovery::adapters::hyper::{HyperBalanced, HyperSettings};
use nacos_discovery::{BalanceError, BalanceLayer, TransportFailure};
use nacos_tests::wait::{eventually, in_time};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::*;
use crate::world::World;

/// Answers with what it was asked.
async fn echo(request: Request) -> impl IntoResponse {
    let (parts, body) = request.into_parts();
    let header = |name| parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let body = axum::body::to_bytes(body, 1 << 20).await.expect("a whole body");
    axum::Json(serde_json::json!({
        "method": parts.method.as_str(),
        "target": parts.uri.to_string(),
        "host": header(header::HOST),
        "authorization": header(header::AUTHORIZATION),
        "type": header(header::CONTENT_TYPE),
        "x-tenant": header(header::HeaderName::from_static("x-tenant")),
        "body": String::from_utf8_lossy(&body),
    }))
}

/// What reqwest said, inside what the balancer says.
fn of_reqwest(error: &BalanceError) -> &reqwest::Error {
    error.source().and_then(|source| source.downcast_ref()).expect("an error of reqwest")
}

#[tokio::test]
async fn sc20_a_name_with_capitals_and_an_escaped_query_survive_reqwest() {
    let world = World::of("Order_Service.v2", Router::new().fallback(any(echo))).await;
    let response = world.web().get("lb://Order_Service.v2/a%20b/c?q=%20x&empty=").send().await.unwrap();
    assert_eq!(response.url().as_str(), format!("http://{}/a%20b/c?q=%20x&empty=", world.address));
    let seen: serde_json::Value = response.json().await.unwrap();
    assert_eq!(seen["target"], "/a%20b/c?q=%20x&empty=");
    assert_eq!(seen["host"], world.address.to_string());

    let root: serde_json::Value = world.web().get("lb://Order_Service.v2").send().await.unwrap().json().await.unwrap();
    assert_eq!(root["target"], "/");
}

#[tokio::test]
async fn sc20_a_name_with_capitals_and_an_escaped_query_survive_hyper() {
    let world = World::of("Order_Service.v2", Router::new().fallback(any(echo))).await;
    for (path, seen) in [("/a%20b/c?q=%20x&empty=", "/a%20b/c?q=%20x&empty="), ("", "/"), ("?q='", "/?q='")] {
        let uri = format!("lb://Order_Service.v2{path}").parse().unwrap();
        let answer = whole(world.discovery.http::<String>().get(uri).await.unwrap()).await;
        assert_eq!((&answer["target"], &answer["host"]), (&seen.into(), &world.address.to_string().into()));
    }
}

/// What was seen, of an answer whose body is read to its end.
async fn whole(response: http::Response<impl axum::body::HttpBody<Error: Debug>>) -> serde_json::Value {
    assert_eq!(response.status(), 200);
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    serde_json::from_slice(&body).expect("what was seen")
}

#[tokio::test]
async fn a_request_of_hyper_goes_to_the_instance_and_is_in_flight_until_its_body_has_ended() {
    let world = World::of(SERVICE, Router::new().fallback(any(echo))).await;
    let http = world.discovery.http();
    let request = http::Request::put("lb://orders/7?a=b").header("x-tenant", "t1").body("an order".to_owned()).unwrap();
    let response = http.request(request).await.unwrap();
    assert_eq!((response.version(), world.in_flight(SERVICE)), (http::Version::HTTP_11, 1));
    let seen = whole(response).await;
    assert_eq!(world.in_flight(SERVICE), 0);
    assert_eq!(
        (&seen["method"], &seen["target"], &seen["body"]),
        (&"PUT".into(), &"/7?a=b".into(), &"an order".into())
    );
    assert_eq!(seen["x-tenant"], "t1");
}

#[tokio::test]
async fn http_2_is_spoken_where_it_is_asked_for() {
    let registry = registry().await;
    let app = Router::new().fallback(any(async |request: Request| format!("{:?}", request.version())));
    let discovery = provider(&registry);
    let serve = discovery.serve(app).listen_on(FREE).registrar(|r| r.plan(|plan| plan.limits(short())));
    let serving = serve.start().await.unwrap();
    let http = HyperBalanced::new(&HyperSettings::default().with_http2(), &BalanceLayer::new(&discovery));
    let endpoints = discovery.directory().endpoints(&discovery.service_key(SERVICE)).unwrap();
    eventually("the instance", async || (!endpoints.all().is_empty()).then_some(())).await;
    let response = http.request(http::Request::get("lb://orders/").body(String::new()).unwrap()).await.unwrap();
    assert_eq!(response.version(), http::Version::HTTP_2);
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "HTTP/2.0");
    assert!(serving.shutdown().await.is_clean());
}

#[tokio::test]
async fn connections_without_requests_are_closed_without_another_request() {
    let (listener, address) = listen().await;
    let server = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await?;
        let mut read = vec![0; 4096];
        while connection.read(&mut read).await? > 0 {
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await?;
        }
        std::io::Result::Ok(())
    });
    let settings = HyperSettings::default().with_idle_timeout(Duration::from_millis(20));
    let client = settings.build::<String>();
    let response = client.get(format!("http://{address}/").parse().unwrap()).await.unwrap();
    response.into_body().collect().await.unwrap();
    in_time("the end of the connection", server).await.unwrap().unwrap();
    drop(client);
}

#[tokio::test]
async fn what_a_request_of_reqwest_says_reaches_the_instance() {
    let world = World::of(SERVICE, Router::new().fallback(any(echo))).await;
    let web = world.web();
    let request = web.post("lb://orders/new").query(&[("dry", "yes")]).header("x-tenant", "t1").bearer_auth("token");
    let seen: serde_json::Value =
        request.json(&serde_json::json!({"id": 7})).send().await.unwrap().json().await.unwrap();
    assert_eq!((&seen["method"], &seen["target"]), (&"POST".into(), &"/new?dry=yes".into()));
    assert_eq!((&seen["x-tenant"], &seen["authorization"]), (&"t1".into(), &"Bearer token".into()));
    assert_eq!((&seen["type"], &seen["body"]), (&"application/json".into(), &"{\"id\":7}".into()));

    let built = web.client().put("lb://orders/7").body("whole").build().unwrap();
    let seen: serde_json::Value = web.execute(built).await.unwrap().json().await.unwrap();
    assert_eq!((&seen["method"], &seen["target"], &seen["body"]), (&"PUT".into(), &"/7".into(), &"whole".into()));
    let form = web.patch("lb://orders/7").form(&[("a", "b c")]).send().await.unwrap();
    assert_eq!(form.json::<serde_json::Value>().await.unwrap()["body"], "a=b+c");
}

#[tokio::test]
async fn a_service_is_looked_up_in_the_configured_group_or_the_one_that_the_request_names() {
    let registry = registry().await;
    let (listener, address) = listen().await;
    let serving = tokio::spawn(async move { axum::serve(listener, Router::new().fallback(any(echo))).await });
    let consumer = application(settings(&registry).group("G"));
    let mut held = Vec::new();
    for key in [("G", "orders"), ("H", "providers:com.acme.Orders:1.0")] {
        let registration = consumer.nacos().service(key).unwrap().register(Instance::new(address)).unwrap();
        registration.confirmed().await.unwrap();
        held.push(registration);
    }
    let web = consumer.reqwest(reqwest::Client::new());
    let configured = web.get("lb://orders/1").send().await.unwrap().json::<serde_json::Value>().await.unwrap();
    assert_eq!(configured["target"], "/1");
    let other = web.get("lb://whatever/2").service(("H", "providers:com.acme.Orders:1.0")).send().await.unwrap();
    assert_eq!(other.json::<serde_json::Value>().await.unwrap()["target"], "/2");
    let bare = consumer.http::<String>().get("lb://orders/3".parse().unwrap()).await.unwrap();
    assert_eq!(whole(bare).await["target"], "/3");
    serving.abort();
}

#[tokio::test]
async fn a_call_through_reqwest_is_in_flight_until_its_body_has_ended() {
    let app = Router::new().route("/", get(|| async { Body::from("an order") })).route("/slow", get(never_ending));
    let world = World::of(SERVICE, app).await;
    let response = world.web().get("lb://orders/").send().await.unwrap();
    assert_eq!(world.in_flight(SERVICE), 1, "the body is still to be read");
    assert_eq!(response.text().await.unwrap(), "an order");
    assert_eq!(world.in_flight(SERVICE), 0);

    let slow = world.web().get("lb://orders/slow").send().await.unwrap();
    assert_eq!(world.in_flight(SERVICE), 1);
    drop(slow);
    assert_eq!(world.in_flight(SERVICE), 0, "the caller gave up");
}

/// A body whose second part never comes.
async fn never_ending() -> Body {
    let parts = futures_util::stream::unfold(true, |first| async move {
        if !first {
            pending::<()>().await;
        }
        Some((Ok::<_, std::io::Error>(Bytes::from_static(b"first")), false))
    });
    Body::from_stream(parts)
}

#[tokio::test]
async fn time_limits_and_refused_connections_are_told_as_reqwest_tells_them() {
    let app = Router::new().route("/silent", get(|| async { pending::<()>().await }));
    let world = World::of(SERVICE, app.route("/slow", get(never_ending))).await;
    let limit = Duration::from_millis(50);
    let error = world.web().get("lb://orders/silent").timeout(limit).send().await.unwrap_err();
    assert!(of_reqwest(&error).is_timeout() && !of_reqwest(&error).is_connect(), "{error:?}");
    assert_eq!(error.failure(), Some(TransportFailure::Timeout));
    // On a busy machine it may strike before the head.
    match world.web().get("lb://orders/slow").timeout(limit).send().await {
        Ok(slow) => assert!(slow.text().await.unwrap_err().is_timeout(), "the limit holds for the body, too"),
        Err(error) => assert!(of_reqwest(&error).is_timeout(), "{error:?}"),
    }
    assert_eq!(world.in_flight(SERVICE), 0);

    world.serving.abort();
    // Connections that are accepted or queued may outlive the listener for a moment.
    eventually("a refusal", async || {
        let error = world.web().get("lb://orders/silent").timeout(limit).send().await.unwrap_err();
        let refused = of_reqwest(&error).is_connect();
        assert_eq!(error.failure() == Some(TransportFailure::Connect), refused, "{error:?}");
        refused.then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_call_that_finds_nobody_listening_is_repeated_on_the_next_instance_and_a_body_goes_along() {
    let app = Router::new().route("/old", any(|| async { Redirect::temporary("/new") })).fallback(any(echo));
    let world = World::of(SERVICE, app).await;
    let (closed, nobody) = listen().await;
    drop(closed);
    let registration = world.discovery.nacos().service(SERVICE).unwrap().register(Instance::new(nobody).weight(1e4));
    let registration = registration.unwrap();
    registration.confirmed().await.unwrap();
    let endpoints = world.discovery.directory().endpoints(&world.discovery.service_key(SERVICE)).unwrap();
    eventually("both", async || (endpoints.all().len() == 2).then_some(())).await;

    for body in ["in one piece", ""] {
        let seen = world.web().post("lb://orders/old").body(body).send().await.unwrap();
        let seen: serde_json::Value = seen.json().await.unwrap();
        assert_eq!(
            (&seen["target"], &seen["body"]),
            (&"/new".into(), &body.into()),
            "also where a redirect repeats it"
        );
        let request = http::Request::post("lb://orders/bare").body(body.to_owned()).unwrap();
        assert_eq!(whole(world.discovery.http().request(request).await.unwrap()).await["body"], body);
    }
    assert_eq!(world.in_flight(SERVICE), 0);
}

#[tokio::test]
async fn a_redirect_without_a_host_stays_with_the_instance_and_a_url_without_service_goes_where_it_says() {
    let app = Router::new().route("/old", get(|| async { Redirect::temporary("/new") })).fallback(any(echo));
    let world = World::of(SERVICE, app).await;
    let response = world.web().get("lb://orders/old").send().await.unwrap();
    assert_eq!(response.url().as_str(), format!("http://{}/new", world.address));
    let plain = world.web().get(format!("http://{}/as-it-is", world.address)).send().await.unwrap();
    assert_eq!(plain.json::<serde_json::Value>().await.unwrap()["target"], "/as-it-is");
    let error = world.web().get("no url").send().await.unwrap_err();
    assert!(of_reqwest(&error).is_builder());
}
