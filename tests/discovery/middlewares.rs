//! The balancer as one of the middlewares of a reqwest client. Over real sockets.

use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::extract::Request as Incoming;
use axum::routing::any;
use futures_util::stream;
use http::{Extensions, Response as Answer, StatusCode};
use nacos_client::{Instance, ServiceKey};
use nacos_discovery::adapters::reqwest_middleware::BalanceMiddleware;
use nacos_discovery::route::{RequestTags, RouteDocument};
use nacos_discovery::{
    AddressFamily, Attempt, BalanceError, BalanceLayer, ConsistentHash, Directory, HashKey, Idempotent,
    NoInstanceReason, RetrySettings, ServedBy, ServiceSettings, Tried,
};
use nacos_tests::wait::{eventually, in_time};
use reqwest::{Body, Client, Request, Response};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Error, Middleware, Next, Result};

use crate::calling::*;
use crate::fault_server::{Behaviour, FaultServer, Refusing};
use crate::support::SERVICE;
use crate::world::World;

fn client(directory: &Directory) -> ClientWithMiddleware {
    ClientBuilder::new(Client::new()).with(BalanceMiddleware::new(&BalanceLayer::new(directory))).build()
}

fn answering(status: u16) -> Behaviour {
    Behaviour::Answer(status, status.to_string().into_bytes())
}

fn url(path: &str) -> String {
    format!("lb://{CALLED}{path}")
}

fn of_balancer(error: &Error) -> &BalanceError {
    let Error::Middleware(inside) = error else { panic!("not of a middleware: {error:?}") };
    inside.downcast_ref().expect("an error of the balancer")
}

fn served_by(response: &Response) -> String {
    response.extensions().get::<ServedBy>().expect("it was balanced").to_string()
}

/// What a middleware saw: where the request goes, and which attempt it is.
type Seen = Arc<Mutex<Vec<(String, Option<u32>)>>>;

/// Notes what it sees, and leaves a mark that tells how often it was there.
#[derive(Clone, Default)]
struct Witness(Seen);

#[derive(Debug, Clone, PartialEq)]
struct Mark(usize);

impl Witness {
    fn seen(&self) -> Vec<(String, Option<u32>)> {
        self.0.lock().expect("no test failed with it").clone()
    }
}

#[async_trait]
impl Middleware for Witness {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        let attempt = extensions.get::<Attempt>().map(|attempt| attempt.number());
        let count = {
            let mut seen = self.0.lock().expect("no test failed with it");
            seen.push((request.url().to_string(), attempt));
            seen.len()
        };
        extensions.insert(Mark(count));
        next.run(request, extensions).await
    }
}

/// Answers by itself.
struct Bottom(fn(Request) -> Result<Response>);

#[async_trait]
impl Middleware for Bottom {
    async fn handle(&self, request: Request, _: &mut Extensions, _: Next<'_>) -> Result<Response> {
        (self.0)(request)
    }
}

/// Repeats what was answered with 503, three attempts in all.
struct Theirs;

#[async_trait]
impl Middleware for Theirs {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        for _ in 1..3 {
            let again = request.try_clone().expect("no body");
            let response = next.clone().run(again, extensions).await?;
            if response.status() != StatusCode::SERVICE_UNAVAILABLE {
                return Ok(response);
            }
        }
        next.run(request, extensions).await
    }
}

#[tokio::test]
async fn sc20_a_name_with_capitals_and_an_escaped_query_survive_the_middleware() {
    let app = Router::new().fallback(any(async |request: Incoming| request.uri().to_string()));
    let world = World::of("Order_Service.v2", app).await;
    let web = ClientBuilder::new(Client::new()).with(world.discovery.reqwest_middleware()).build();
    for (path, seen) in [("/a%20b/c?q=%20x&empty=", "/a%20b/c?q=%20x&empty="), ("", "/"), ("?q='", "/?q=%27")] {
        let response = web.get(format!("lb://Order_Service.v2{path}")).send().await.unwrap();
        assert_eq!(served_by(&response), format!("http://{}", world.address));
        assert_eq!(response.url().host_str(), Some("127.0.0.1"));
        assert_eq!(response.text().await.unwrap(), seen);
    }
}

#[tokio::test]
async fn sc20_hosts_in_small_letters_and_addresses_of_ipv6_are_what_they_should_be() {
    let settings = ServiceSettings::default().with_address_family(AddressFamily::Ipv6);
    let directory = directory([Instance::new(("2001:db8::1", 8080))], settings);
    let balance = BalanceLayer::new(&directory).hosts(["Order_Service"]);
    let bottom = Bottom(|request| Ok(Answer::new(Body::from(request.url().to_string())).into()));
    let web = ClientBuilder::new(Client::new()).with(BalanceMiddleware::new(&balance)).with(bottom).build();
    for (asked, expected) in [
        ("lb://Order_Service/x?y=%20", "http://[2001:db8::1]:8080/x?y=%20"),
        ("http://Order_Service:99/x", "http://[2001:db8::1]:8080/x"),
        ("http://elsewhere/x", "http://elsewhere/x"),
    ] {
        assert_eq!(web.get(asked).send().await.unwrap().text().await.unwrap(), expected);
    }
    assert_eq!(directory.services(), [ServiceKey::new("", "Order_Service")], "not the name in small letters");
}

#[tokio::test]
async fn a_call_that_finds_nobody_listening_is_repeated_on_the_next_instance_and_its_body_goes_along() {
    let (refusing, good) = (Refusing::new(), FaultServer::start(answering(200)).await);
    let directory = directory([preferred(refusing.instance()), spare(good.instance())], ServiceSettings::default());
    let web = client(&directory);
    let response = web.post(url("/")).body("in one piece").send().await.unwrap();
    assert_eq!((response.status(), served_by(&response)), (StatusCode::OK, format!("http://{}", good.address())));
    let pieces = stream::iter(["in ", "two"].map(Ok::<_, io::Error>));
    web.post(url("/")).body(Body::wrap(http_body_util::StreamBody::new(frames(pieces)))).send().await.unwrap();
    let bodies: Vec<_> = good.received().into_iter().map(|received| received.body).collect();
    assert_eq!(bodies, [b"in one piece".to_vec(), b"in two".to_vec()]);
    drop(response);
    assert_eq!(in_flight(&directory), 0);
}

/// Pieces as the frames of a body.
fn frames<S>(pieces: S) -> impl stream::Stream<Item = io::Result<http_body::Frame<bytes::Bytes>>> + Send + Sync
where
    S: stream::Stream<Item = io::Result<&'static str>> + Send + Sync,
{
    use futures_util::StreamExt;
    pieces.map(|piece| piece.map(|piece| http_body::Frame::data(bytes::Bytes::from_static(piece.as_bytes()))))
}

#[tokio::test]
async fn a_post_is_repeated_only_if_an_extension_says_that_it_may_be() {
    let (bad, good) = (FaultServer::start(answering(503)).await, FaultServer::start(answering(200)).await);
    let directory = directory([preferred(bad.instance()), spare(good.instance())], ServiceSettings::default());
    let web = client(&directory);
    assert_eq!(web.post(url("/")).body("once").send().await.unwrap().status(), 503);
    let marked = web.post(url("/")).body("again").with_extension(Idempotent::new()).send().await.unwrap();
    assert_eq!(marked.status(), 200);
    assert_eq!(web.get(url("/")).send().await.unwrap().status(), 200, "a GET is repeated by itself");
    let bodies: Vec<_> = good.received().into_iter().map(|received| received.body).collect();
    assert_eq!(bodies, [b"again".to_vec(), b"".to_vec()]);
}

#[tokio::test]
async fn a_stream_is_kept_for_another_attempt_as_far_as_the_settings_say() {
    let (bad, good) = (FaultServer::start(answering(503)).await, FaultServer::start(answering(200)).await);
    let retry = RetrySettings::default().with_body_limit(20);
    let instances = [preferred(bad.instance()), spare(good.instance())];
    let directory = directory(instances, ServiceSettings::default().with_retry(retry));
    let web = client(&directory);
    for (count, status) in [(2, 200), (3, 503)] {
        let pieces = stream::iter(vec!["ten bytes."; count].into_iter().map(Ok));
        let body = Body::wrap(http_body_util::StreamBody::new(frames(pieces)));
        let request = web.put(url("/")).body(body).with_extension(Idempotent::new());
        assert_eq!(request.send().await.unwrap().status(), status);
    }
    assert_eq!(good.received().len(), 1);
}

#[tokio::test]
async fn a_service_of_another_group_is_named_by_an_extension_and_a_key_chooses_the_instance() {
    let servers = [FaultServer::start(answering(200)).await, FaultServer::start(answering(200)).await];
    let settings = ServiceSettings::default().with_policy(ConsistentHash::default());
    let directory = directory(servers.iter().map(FaultServer::instance), settings);
    let web = client(&directory);
    let other = ServiceKey::new("H", "providers:com.acme.Orders:1.0");
    let mut by_key = Vec::new();
    // So many that with whatever ports it is no chance that all of them have the same one.
    for user in (0..64).map(|number| format!("user {number}")) {
        let request = || web.get("lb://whatever/").with_extension(other.clone()).with_extension(HashKey::of(&user));
        let (first, again) = (request().send().await.unwrap(), request().send().await.unwrap());
        assert_eq!(served_by(&first), served_by(&again), "{user}");
        by_key.push(served_by(&first));
    }
    by_key.sort_unstable();
    by_key.dedup();
    assert_eq!(by_key.len(), 2, "both have users");
    assert_eq!(directory.services(), [other]);
}

#[tokio::test]
async fn sc11_tags_among_the_extensions_say_which_version_a_request_goes_to() {
    const RULES: &str = "
        services:
          order-service:
            routes:
              - name: testers
                when: [{tag: {name: tester, present: true}}]
                to: [{label: {version: v2}}]
    ";
    let (old, new) = (FaultServer::start(answering(200)).await, FaultServer::start(answering(200)).await);
    let instances = [spare(old.instance()), preferred(new.instance()).metadata("version", "v2")];
    let directory = directory(instances, ServiceSettings::default());
    directory.set_routes(RouteDocument::from_yaml(RULES).unwrap()).unwrap();
    let web = client(&directory);
    for (tags, server) in [(RequestTags::new(), &old), (RequestTags::new().with("tester", "yes"), &new)] {
        let response = web.get(url("/")).with_extension(tags).send().await.unwrap();
        assert_eq!(served_by(&response), format!("http://{}", server.address()));
    }
}

#[tokio::test]
async fn who_stands_before_it_sees_the_service_and_one_call_and_who_stands_after_it_the_instances_and_each_attempt() {
    let (bad, good) = (FaultServer::start(answering(503)).await, FaultServer::start(answering(200)).await);
    let directory = directory([preferred(bad.instance()), spare(good.instance())], ServiceSettings::default());
    let (before, after) = (Witness::default(), Witness::default());
    let balance = BalanceMiddleware::new(&BalanceLayer::new(&directory));
    let web = ClientBuilder::new(Client::new()).with(before.clone()).with(balance).with(after.clone()).build();
    let mut extensions = Extensions::new();
    let request = web.get(url("/x")).build().unwrap();
    let response = web.execute_with_extensions(request, &mut extensions).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "200");
    assert_eq!(before.seen(), [(url("/x"), None)]);
    let at = |server: &FaultServer| format!("http://{}/x", server.address());
    assert_eq!(after.seen(), [(at(&bad), Some(1)), (at(&good), Some(2))]);
    assert_eq!(extensions.get(), Some(&Mark(2)), "what was left after the last attempt");
    assert!(extensions.get::<Attempt>().is_none() && extensions.get::<Tried>().is_none(), "what is ours alone");
}

#[tokio::test]
async fn errors_of_reqwest_and_of_others_come_as_they_are_and_those_of_the_balancer_can_be_told() {
    let nobody = directory([], ServiceSettings::default());
    let error = client(&nobody).get(url("/")).send().await.unwrap_err();
    let BalanceError::NoInstance(none) = of_balancer(&error) else { panic!("{error:?}") };
    assert_eq!(none.reason, NoInstanceReason::NoneRegistered);
    assert!(error.to_string().contains(CALLED), "{error}");
    let request = client(&nobody).get("ftp://elsewhere/").with_extension(ServiceKey::new("", CALLED));
    let error = request.send().await.unwrap_err();
    assert!(matches!(of_balancer(&error), BalanceError::BadTarget(_)), "{error:?}");

    let refusing = Refusing::new();
    let refused = directory([refusing.instance()], ServiceSettings::default());
    let error = client(&refused).get(url("/")).send().await.unwrap_err();
    assert!(matches!(error, Error::Reqwest(_)) && error.is_connect(), "{error:?}");
    assert_eq!(error.url().and_then(reqwest::Url::port), Some(refusing.address().port()), "it tells who was called");

    let stalling = FaultServer::start(Behaviour::Stall).await;
    let stalled = directory([stalling.instance()], ServiceSettings::default());
    let limited = client(&stalled).post(url("/")).timeout(Duration::from_millis(50));
    let error = limited.send().await.unwrap_err();
    assert!(error.is_timeout() && matches!(error, Error::Reqwest(_)), "{error:?}");
    assert_eq!((in_flight(&refused), in_flight(&stalled)), (0, 0));

    let below = Bottom(|_| Err(Error::middleware(io::Error::other("of another one"))));
    let balance = BalanceMiddleware::new(&BalanceLayer::new(&stalled));
    let web = ClientBuilder::new(Client::new()).with(balance).with(below).build();
    let error = web.get(url("/")).send().await.unwrap_err();
    let Error::Middleware(inside) = &error else { panic!("{error:?}") };
    assert_eq!(inside.downcast_ref::<io::Error>().expect("its own").to_string(), "of another one");
    assert!(error.source().is_none());
}

#[tokio::test]
async fn a_time_limit_counts_for_each_attempt_and_against_the_instance_that_does_not_answer() {
    let (stalling, good) = (FaultServer::start(Behaviour::Stall).await, FaultServer::start(answering(200)).await);
    let directory = directory([preferred(stalling.instance()), spare(good.instance())], ServiceSettings::default());
    let response = client(&directory).get(url("/")).timeout(Duration::from_millis(200)).send().await.unwrap();
    assert_eq!(served_by(&response), format!("http://{}", good.address()));
    assert_eq!(stalling.received().len(), 1);
}

#[tokio::test]
async fn another_ones_repetitions_go_to_other_instances_if_it_is_the_only_one_that_repeats() {
    let (first, second) = (FaultServer::start(answering(503)).await, FaultServer::start(answering(503)).await);
    let good = FaultServer::start(answering(200)).await;
    let instances = [preferred(first.instance()), second.instance(), spare(good.instance())];
    let off = ServiceSettings::default().with_retry(RetrySettings::off());
    let directory = directory(instances, off);
    let balance = BalanceMiddleware::new(&BalanceLayer::new(&directory));
    let web = ClientBuilder::new(Client::new()).with(Theirs).with(balance).build();
    let response = web.get(url("/")).with_extension(Tried::new()).send().await.unwrap();
    assert_eq!((response.status(), served_by(&response)), (StatusCode::OK, format!("http://{}", good.address())));
    assert_eq!((first.touched(), second.touched()), (1, 1));

    web.get(url("/")).send().await.unwrap();
    assert!(first.touched() + second.touched() > 3, "nobody knows who was tried");
}

#[tokio::test]
async fn a_call_through_the_middleware_is_in_flight_until_its_body_has_ended_or_it_is_dropped() {
    let app = Router::new()
        .route("/", any(async || "an order"))
        .route("/silent", any(async || std::future::pending::<()>().await));
    let world = World::of(SERVICE, app).await;
    let web = ClientBuilder::new(Client::new()).with(world.discovery.reqwest_middleware()).build();
    let response = web.get("lb://orders/").send().await.unwrap();
    assert_eq!(world.in_flight(SERVICE), 1, "the body is still to be read");
    assert_eq!(response.text().await.unwrap(), "an order");
    assert_eq!(world.in_flight(SERVICE), 0);

    let silent = tokio::spawn(web.get("lb://orders/silent").send());
    eventually("the call", async || (world.in_flight(SERVICE) == 1).then_some(())).await;
    silent.abort();
    in_time("the end of the call", silent).await.unwrap_err();
    assert_eq!(world.in_flight(SERVICE), 0, "the caller gave up");
}
