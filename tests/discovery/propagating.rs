//! Headers that the first caller sends, and that decide where an application behind the next one is called.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::routing::get;
use futures_util::future::{BoxFuture, join_all};
use futures_util::{FutureExt, StreamExt, stream};
use http::HeaderName;
use http_body_util::{BodyExt, Empty};
use nacos_client::Instance;
use nacos_discovery::adapters::hyper::{HyperBalanced, HyperSettings};
use nacos_discovery::adapters::reqwest::ReqwestBalanced;
use nacos_discovery::propagate::{Propagated, Propagation};
use nacos_discovery::route::{Destination, Label, RouteDocument, RouteRules, Rule, Subject, Test};
use nacos_discovery::{
    BalanceLayer, BalanceSettings, ConsistentHash, Directory, HashOn, InMemoryDiscovery, RetryNextLayer,
    ServiceSettings,
};
use tower_layer::Layer;

use crate::calling::{CALLED, directory, hyper_client, preferred, send, spare};
use crate::fault_server::{Behaviour, FaultServer};
use crate::support::*;

const VERSION: HeaderName = HeaderName::from_static("x-version");

/// Calls the second service, and says what it answered.
type Call = Arc<dyn Fn() -> BoxFuture<'static, String> + Send + Sync>;

fn labels() -> Propagation {
    Propagation::headers(["x-version", "x-tenant"]).expect("names of headers")
}

async fn serve(app: impl FnOnce(SocketAddr) -> Router) -> SocketAddr {
    let (listener, address) = listen().await;
    let app = app(address);
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

/// Answers with its port and what it was sent.
async fn stock() -> SocketAddr {
    let answer = |at: SocketAddr, request: &Request| {
        let header = |name: &str| request.headers().get(name).map_or("-", |value| value.to_str().expect("ASCII"));
        format!("{} {} {} {}", at.port(), header("x-version"), header("x-tenant"), header("x-other"))
    };
    serve(|at| Router::new().fallback(move |request: Request| async move { answer(at, &request) })).await
}

/// Answers with what the second service says: at once, or three times while its answer is sent.
async fn orders(call: Call) -> SocketAddr {
    let at_once = Arc::clone(&call);
    let later = move || {
        let call = Arc::clone(&call);
        let parts = stream::iter(0..3).then(move |_| call()).map(|part| Ok::<_, std::io::Error>(format!("{part};")));
        async move { Body::from_stream(parts) }
    };
    let app = Router::new().route("/", get(move || at_once())).route("/later", get(later));
    serve(|_| app.layer(labels().incoming())).await
}

/// Knows the instances of both services; the second is chosen by the version that a request names.
fn knowing(stock: [SocketAddr; 2], orders: Option<SocketAddr>) -> Directory {
    let source =
        InMemoryDiscovery::new().with("stock", stock.map(Instance::new)).with("orders", orders.map(Instance::new));
    let by_version = ServiceSettings::default()
        .with_policy(ConsistentHash::new().with_load_bound(f64::INFINITY))
        .with_hash_on(HashOn::Header(VERSION));
    Directory::new(Arc::new(source), BalanceSettings::new(by_version))
}

async fn text<B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>>(response: http::Response<B>) -> String {
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    String::from_utf8(body.to_vec()).expect("text")
}

fn to(uri: &str, headers: &[(&str, &str)]) -> http::Request<Empty<Bytes>> {
    let builder = headers.iter().fold(http::Request::get(uri), |builder, (name, value)| builder.header(*name, *value));
    builder.body(Empty::new()).expect("a request")
}

/// The ways to call with the headers of the request that is being handled.
fn ways(directory: &Directory) -> Vec<Call> {
    let plain = BalanceLayer::new(directory);
    let propagating = plain.clone().propagating(&labels());
    let hyper = HyperBalanced::new(&HyperSettings::default(), &propagating);
    let reqwest = ReqwestBalanced::new(reqwest::Client::new(), &propagating);
    let balanced = plain.layer(hyper_client());
    let layered = labels().outgoing().above(&plain).layer(RetryNextLayer::above(&plain).layer(balanced));
    vec![
        Arc::new(move || {
            let hyper = hyper.clone();
            async move { text(hyper.request(to("lb://stock/", &[])).await.expect("an answer")).await }.boxed()
        }),
        Arc::new(move || {
            let sent = reqwest.get("lb://stock/").send();
            async move { sent.await.expect("an answer").text().await.expect("text") }.boxed()
        }),
        Arc::new(move || {
            let mut layered = layered.clone();
            async move { text(send(&mut layered, to("lb://stock/", &[])).await.expect("an answer")).await }.boxed()
        }),
    ]
}

#[tokio::test]
async fn pr1_the_header_of_the_first_caller_decides_where_the_second_service_is_called() {
    let stock = [stock().await, stock().await];
    let mut ports = BTreeSet::new();
    for call in ways(&knowing(stock, None)) {
        let first =
            HyperBalanced::new(&HyperSettings::default(), &BalanceLayer::new(knowing(stock, Some(orders(call).await))));
        let ask = async |uri: &str, headers: &[(&str, &str)]| {
            text(first.request(to(uri, headers)).await.expect("an answer")).await
        };
        for version in (1..=12).map(|number| format!("v{number}")) {
            let sent = [("x-version", version.as_str()), ("x-tenant", "acme")];
            let direct = ask("lb://stock/", &sent).await;
            assert!(direct.ends_with(&format!(" {version} acme -")), "{direct}");
            ports.extend(direct.split(' ').next().map(str::to_owned));
            let more = [&sent[..], &[("x-other", "stays")]].concat();
            assert_eq!(ask("lb://orders/", &more).await, direct);
            assert_eq!(ask("lb://orders/later", &more).await, format!("{direct};").repeat(3), "while it is sent, too");
        }
        assert!(ask("lb://orders/", &[]).await.ends_with(" - - -"));
    }
    assert_eq!(ports.len(), 2, "the version decides");
}

#[tokio::test]
async fn pr1_a_tester_stays_on_the_new_version_behind_the_first_service() {
    let stock = [stock().await, stock().await];
    let versions = stock.into_iter().zip(["v1", "v2"]);
    let instances = versions.map(|(at, version)| Instance::new(at).metadata("version", version));
    let by_header = Rule::new("by-header")
        .when_header("x-version", Test::Present)
        .to(Destination::label_from("version", Subject::header("x-version")))
        .or_fail();
    let rules = RouteRules::new().with_baseline(Label::new("version", "v1")).with_rule(by_header);
    let settings = BalanceSettings::default().with_routes(RouteDocument::new().with_service("stock", rules));
    let source = InMemoryDiscovery::new().with("stock", instances);
    let directory = Directory::new(Arc::new(source), settings.expect("rules that can be used"));
    for call in ways(&directory) {
        let uri = format!("http://{}/", orders(call).await);
        for (headers, port) in [(&[("x-version", "v2")][..], stock[1].port()), (&[], stock[0].port())] {
            for _ in 0..20 {
                let answer = text(hyper_client().request(to(&uri, headers)).await.expect("an answer")).await;
                assert!(answer.starts_with(&format!("{port} ")), "{headers:?}: {answer}");
            }
        }
    }
}

#[tokio::test]
async fn pr1_requests_at_the_same_time_do_not_mix_their_headers() {
    let stock = [stock().await, stock().await];
    for call in ways(&knowing(stock, None)) {
        let client: &HyperBalanced<Empty<Bytes>> = &HyperBalanced::new(
            &HyperSettings::default().with_http2(),
            &BalanceLayer::new(knowing(stock, Some(orders(call).await))),
        );
        join_all((0..8).map(|caller| async move {
            for number in 0..25 {
                let version = format!("{caller}.{number}");
                let path = if number % 2 == 0 { "" } else { "later" };
                let request = to(&format!("lb://orders/{path}"), &[("x-version", &version)]);
                let answer = text(client.request(request).await.expect("an answer")).await;
                let told = answer.split(';').filter(|part| !part.is_empty());
                assert!(told.into_iter().all(|part| part.split(' ').nth(1) == Some(&version)), "{answer}");
            }
        }))
        .await;
    }
}

#[tokio::test]
async fn headers_that_are_added_below_the_balancer_decide_nothing() {
    let stock = [stock().await, stock().await];
    let balance = BalanceLayer::new(knowing(stock, None));
    let mut below = balance.layer(labels().outgoing().layer(hyper_client()));
    let propagated = labels().of(to("/", &[("x-version", "v2")]).headers());
    let mut ports = BTreeSet::new();
    propagated
        .scope(async {
            for _ in 0..60 {
                let answer = text(send(&mut below, to("lb://stock/", &[])).await.expect("an answer")).await;
                assert!(answer.contains(" v2 "), "{answer}");
                ports.extend(answer.split(' ').next().map(str::to_owned));
            }
        })
        .await;
    assert_eq!(ports.len(), 2, "it was spread as if there were no header");
}

#[tokio::test]
async fn repetitions_have_the_headers_wherever_the_call_is_waited_for() {
    let (failing, good) = (
        FaultServer::start(Behaviour::Answer(503, vec![])).await,
        FaultServer::start(Behaviour::Answer(200, vec![])).await,
    );
    let directory = directory([preferred(failing.instance()), spare(good.instance())], ServiceSettings::default());
    let balance = BalanceLayer::new(&directory).propagating(&labels());
    let mut client = RetryNextLayer::above(&balance).layer(balance.layer(hyper_client::<_>()));
    let request = to(&format!("lb://{CALLED}/"), &[]);
    directory.endpoints_named("", CALLED).expect("a name").ready().await.expect("a list");
    let propagated = labels().of(to("/", &[("x-version", "v2")]).headers());
    let mut begun = None;
    propagated.scope(async { begun = Some(tower_service::Service::call(&mut client, request)) }).await;
    assert!(Propagated::current().is_empty());
    assert_eq!(begun.expect("it began").await.expect("an answer").status(), 200);
    for server in [failing, good] {
        assert_eq!(server.received()[0].headers[VERSION], "v2");
    }
}

#[tokio::test]
async fn a_stranger_gets_no_label_from_a_client_that_balances() {
    let stranger = stock().await;
    let directory = knowing([stranger; 2], None);
    let plain = BalanceLayer::new(&directory);
    let elsewhere = format!("http://{stranger}/");
    let propagated = labels().of(to("/", &[("x-version", "v2")]).headers());
    propagated
        .scope(async {
            let hyper = HyperBalanced::new(&HyperSettings::default(), &plain.clone().propagating(&labels()));
            let answer = text(hyper.request(to(&elsewhere, &[])).await.expect("an answer")).await;
            assert!(answer.ends_with(" - - -"), "{answer}");
            let mut above = labels().outgoing().above(&plain).layer(plain.layer(hyper_client()));
            let answer = text(send(&mut above, to(&elsewhere, &[])).await.expect("an answer")).await;
            assert!(answer.ends_with(" - - -"), "{answer}");
            let mut all = labels().outgoing().layer(plain.layer(hyper_client()));
            let answer = text(send(&mut all, to(&elsewhere, &[])).await.expect("an answer")).await;
            assert!(answer.ends_with(" v2 - -"), "{answer}");
        })
        .await;
}
