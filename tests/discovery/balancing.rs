//! Requests through the balancer to servers that speak HTTP, and the forms in which they name services.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::any;
use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nacos_client::{Instance, ServiceKey};
use nacos_discovery::adapters::hyper::{HyperBalanced, HyperSettings};
use nacos_discovery::{
    AddressFamily, BadTarget, BalanceError, BalanceLayer, CallInfo, Completed, ConsistentHash, Directory, Downgrade,
    ForwardedHeaders, HashOn, Hooks, HostHeader, NoInstanceReason, ServedBy, ServiceSettings, Tracked,
    TransportFailure,
};
use nacos_tests::wait::{in_time, wait_until};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower_layer::Layer;

use crate::balancing_support::*;
use crate::calling::Timed;
use crate::fault_server::{Behaviour, FaultServer, Refusing};

/// Answers with what it was asked: target and three headers, a line each.
async fn echo(request: Request) -> String {
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("-");
    let headers = ["host", "x-forwarded-host", "x-forwarded-proto"].map(header).join("\n");
    format!("{}\n{headers}", request.uri())
}

/// A server for the rest of the test, if the machine has the address.
async fn echoing(address: &str) -> Option<SocketAddr> {
    let listener = TcpListener::bind(address).await.ok()?;
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(any(echo))).await });
    Some(address)
}

/// A directory in which each of the services has the one instance.
fn serving(settings: ServiceSettings, services: &[ServiceKey], address: SocketAddr) -> Directory {
    let directory = silent(settings.with_address_family(AddressFamily::Dual));
    for service in services {
        directory.endpoints(service).expect("a name").apply(&list(1, [Instance::new(address)]));
    }
    directory
}

fn request(uri: &str) -> http::Request<String> {
    http::Request::get(uri).body(String::new()).expect("a URI")
}

async fn asked<S, R>(service: &S, request: http::Request<String>) -> Vec<String>
where
    S: tower_service::Service<http::Request<String>, Response = Response<R>, Error: std::fmt::Debug> + Clone,
    R: http_body::Body<Error: std::fmt::Debug>,
{
    let response = in_time("an answer", send(service, request)).await.expect("it is balanced");
    assert_eq!(response.status(), StatusCode::OK);
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    String::from_utf8(body.to_vec()).expect("text").lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn sc20_every_form_of_naming_a_service_reaches_it_and_path_and_query_arrive_byte_for_byte() {
    let names = ["Order_Service", "order.service.v2", "orders", "订单", "127.0.0.9"];
    let mut services: Vec<_> = names.map(|name| ServiceKey::new("", name)).to_vec();
    services.push(ServiceKey::new("G", "orders"));
    for address in ["127.0.0.1:0", "[::1]:0"] {
        // The second one only where the machine has it.
        let Some(address) = echoing(address).await else { continue };
        let directory = serving(ServiceSettings::default(), &services, address);
        let client = HyperSettings::default().build::<String>();
        let layer = BalanceLayer::new(&directory).hosts(["orders", "Order_Service"]);
        let open = layer.alias("xn--jhq84e", "订单").layer(client.clone());
        let bound = BalanceLayer::for_service(&directory, "orders").layer(client.clone());
        let of_group = BalanceLayer::new(&directory).group("G").layer(client);

        for (uri, target, key) in [
            ("lb://Order_Service/orders/7?q=a%20b&x=%2F+%c3%a9", "/orders/7?q=a%20b&x=%2F+%c3%a9", "Order_Service"),
            ("lb://order.service.v2", "/", "order.service.v2"),
            ("lb://order.service.v2?q", "/?q", "order.service.v2"),
            ("lb://orders:99//a/../b//", "//a/../b//", "orders"),
            ("lb://127.0.0.9/x", "/x", "127.0.0.9"),
            ("http://orders/x;y=1?", "/x;y=1?", "orders"),
            ("http://orders:8080/x", "/x", "orders"),
            ("http://order_service/x", "/x", "Order_Service"),
            ("http://Order_Service/x", "/x", "Order_Service"),
            ("lb://xn--jhq84e/x", "/x", "订单"),
            ("http://xn--jhq84e/x", "/x", "订单"),
        ] {
            let response = in_time(uri, send(&open, request(uri))).await.expect("it is balanced");
            let served = response.extensions().get::<ServedBy>().expect("by an instance").clone();
            assert_eq!(served.instance().service(), &ServiceKey::new("", key), "{uri}");
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            let lines: Vec<_> = std::str::from_utf8(&body).expect("text").lines().collect();
            // The server sees the address of the instance, IPv6 in brackets once.
            assert_eq!(lines, [target, &address.to_string(), "-", "-"], "{uri}");
        }
        for uri in ["/x?y", "http://[::]:50051/x?y", "http://example.invalid/x?y", "lb://orders/x?y"] {
            assert_eq!(asked(&bound, request(uri)).await[0], "/x?y", "{uri}");
        }
        let mut keyed = request("http://nobody.invalid/x");
        keyed.extensions_mut().insert(ServiceKey::new("G", "orders"));
        assert_eq!(asked(&open, keyed).await[0], "/x");
        assert_eq!(asked(&of_group, request("lb://orders/x")).await[0], "/x");
        // What is no service goes where it says.
        assert_eq!(
            asked(&open, request(&format!("http://{address}/x"))).await[..2],
            ["/x".into(), address.to_string()]
        );
    }
}

#[tokio::test]
async fn the_server_sees_the_name_of_the_service_where_the_settings_want_it() {
    let address = echoing("127.0.0.1:0").await.expect("a free port");
    let settings = ServiceSettings::default()
        .with_host_header(HostHeader::Service)
        .with_forwarded_headers(ForwardedHeaders::HostAndProto);
    let directory = serving(settings, &[ServiceKey::new("", ORDERS)], address);
    let service = BalanceLayer::new(&directory).layer(HyperSettings::default().build::<String>());
    assert_eq!(asked(&service, get("/")).await, ["/", ORDERS, ORDERS, "http"]);
}

/// The heads of requests as they came over the wire, each answered with nothing.
async fn heads() -> (SocketAddr, UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let (tell, told) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            tokio::spawn(answering(tcp, tell.clone()));
        }
    });
    (address, told)
}

async fn answering(tcp: TcpStream, tell: UnboundedSender<String>) -> io::Result<()> {
    let mut tcp = BufStream::new(tcp);
    let mut head = String::new();
    while tcp.read_line(&mut head).await? > 0 {
        if head.ends_with("\r\n\r\n") {
            // The test may have ended.
            let _ = tell.send(std::mem::take(&mut head));
            tcp.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
            tcp.flush().await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn sc20_a_host_that_the_layer_writes_is_what_the_client_writes_by_itself() {
    let (address, mut heads) = heads().await;
    let directory = listing(ServiceSettings::default(), [Instance::new(address)]);
    let layer = BalanceLayer::new(&directory);
    let client = HyperSettings::default().build::<String>();
    let from = |uri: &str| http::Request::get(uri).header("x-tenant", "blue").body(String::new()).expect("a URI");
    let named = || from("lb://Order_Service/a?b");

    in_time("an answer", send(&client, from(&format!("http://{address}/a?b")))).await.expect("a server");
    let by_client = in_time("a head", heads.recv()).await.expect("it was asked");
    in_time("an answer", send(&layer.layer(client.clone()), named())).await.expect("a server");
    assert_eq!(in_time("a head", heads.recv()).await.as_ref(), Some(&by_client));
    let writing = layer.clone().writing_host();
    in_time("an answer", send(&writing.layer(client.clone()), named())).await.expect("a server");
    assert_eq!(in_time("a head", heads.recv()).await.as_ref(), Some(&by_client));
    let whole = HyperBalanced::new(&HyperSettings::default(), &layer);
    in_time("an answer", whole.request(named())).await.expect("a server");
    assert_eq!(in_time("a head", heads.recv()).await.as_ref(), Some(&by_client));

    let below = Router::new().fallback(any(echo));
    let plain = || http::Request::get("lb://Order_Service/").body(Body::empty()).expect("a URI");
    let host = async |layer: &BalanceLayer, request| {
        let response = send(&layer.layer(below.clone()), request).await.expect("it is balanced");
        let body = response.into_body().collect().await.expect("a whole body").to_bytes();
        std::str::from_utf8(&body).expect("text").lines().nth(1).expect("a host").to_owned()
    };
    assert_eq!(host(&layer, plain()).await, "-", "it is left to the client");
    assert_eq!(host(&writing, plain()).await, address.to_string());
    let mut http2 = plain();
    *http2.version_mut() = http::Version::HTTP_2;
    assert_eq!(host(&writing, http2).await, "-", "HTTP/2 has none");
    let mut own = plain();
    own.headers_mut().insert(HOST, HeaderValue::from_static("shop.example"));
    assert_eq!(host(&writing, own).await, "shop.example", "the caller's own stays");
}

#[tokio::test]
async fn a_router_can_stand_below_in_place_of_a_client() {
    let directory = listing(ServiceSettings::default(), at([1000]));
    let service = BalanceLayer::new(&directory).layer(Router::new().fallback(any(echo)));
    let request = http::Request::get("lb://Order_Service/x?y").body(Body::empty()).unwrap();
    let response = send(&service, request).await.unwrap();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"http://127.0.0.1:1000/x?y\n"), "{body:?}");
    assert_eq!(in_flight(&directory), 0);
}

/// Keeps what calls ended with.
#[derive(Debug, Clone, Default)]
struct Ends(Arc<Mutex<Vec<String>>>);

impl Ends {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no panic while it is written"))
    }
}

impl Hooks for Ends {
    fn complete(&self, _: &CallInfo, completed: &Completed<'_>, _: Duration) {
        let end = match completed {
            Completed::Success { outcome, .. } | Completed::Failed { outcome, .. } => format!("{outcome:?}"),
            other => format!("{other:?}"),
        };
        self.0.lock().expect("no panic while it is written").push(end);
    }
}

/// A stub of gRPC without an origin makes URIs of a path alone, and reads its status at the end.
#[tokio::test]
async fn grpc_is_balanced_by_a_layer_of_one_service_and_judged_by_its_trailers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = async |request: http::Request<hyper::body::Incoming>| {
        let status = HeaderValue::from_static(if request.uri().path().ends_with("Good") { "0" } else { "13" });
        let trailers = HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), status)]);
        let body =
            Full::new(Bytes::from_static(b"\0\0\0\0\0")).with_trailers(async { Some(Ok::<_, Infallible>(trailers)) });
        Ok::<_, Infallible>(
            Response::builder().header("content-type", "application/grpc").body(body).expect("a response"),
        )
    };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), service_fn(answer)));
        }
    });
    let directory = serving(ServiceSettings::default(), &[ServiceKey::new("", ORDERS)], address);
    let ends = Ends::default();
    let layer = BalanceLayer::for_service(&directory, ORDERS).hooks(ends.clone());
    let stub = layer.layer(HyperSettings::default().with_http2().build::<String>());
    for (path, end) in [("/pkg.Orders/Good", "Success"), ("/pkg.Orders/Bad", "ServerFailure")] {
        let mut call = request(path);
        call.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
        call.headers_mut().insert("te", HeaderValue::from_static("trailers"));
        let response = in_time(path, send(&stub, call)).await.expect("it is balanced");
        assert_eq!(in_flight(&directory), 1, "until the trailers are there");
        let body = response.into_body().collect().await.expect("a whole body");
        assert!(body.trailers().is_some_and(|trailers| trailers.contains_key("grpc-status")));
        let ends = ends.take();
        assert!(ends.len() == 1 && ends[0].starts_with(end), "{path}: {ends:?}");
        assert_eq!(in_flight(&directory), 0);
    }
}

/// What a real client makes of servers that fail, and that each failure is told for what it is.
#[tokio::test]
async fn what_goes_wrong_with_a_real_client_is_told_apart_and_leaves_nothing_in_flight() {
    let refusing = Refusing::new();
    let mut servers = Vec::new();
    for behaviour in [
        Behaviour::Answer(200, b"fine".to_vec()),
        Behaviour::Answer(503, Vec::new()),
        Behaviour::Reset,
        Behaviour::CutHead,
        Behaviour::CutBody,
        Behaviour::Stall,
    ] {
        servers.push(FaultServer::start(behaviour).await);
    }
    let mut cases: Vec<_> = servers.iter().map(FaultServer::instance).collect();
    cases.push(refusing.instance());
    let ends = [
        "Success",
        "ServerFailure",
        "Transport(Broken)",
        "Transport(Broken)",
        "Transport(Broken)",
        "Transport(Timeout)",
        "Transport(Connect)",
    ];
    for (instance, end) in cases.into_iter().zip(ends) {
        let directory = listing(ServiceSettings::default(), [instance]);
        let told = Ends::default();
        let inner = HyperSettings::default().build::<String>();
        // Long enough for every answer, and short for the one that never comes.
        let limit = if end.contains("Timeout") { Duration::from_millis(50) } else { Duration::from_secs(20) };
        let service = BalanceLayer::new(&directory).hooks(told.clone()).layer(Timed { inner, limit });
        match in_time(end, send(&service, get("/"))).await {
            Ok(response) => drop(response.into_body().collect().await),
            Err(error) => {
                let status =
                    if end.contains("Timeout") { StatusCode::GATEWAY_TIMEOUT } else { StatusCode::BAD_GATEWAY };
                assert_eq!(error.status(), status, "{error}");
                assert_eq!(error.failure() == Some(TransportFailure::Connect), end.contains("Connect"), "{error}");
            }
        }
        let told = told.take();
        assert!(told.len() == 1 && told[0].starts_with(end), "{end}: {told:?}");
        assert_eq!(in_flight(&directory), 0, "{end}");
    }
}

#[tokio::test]
async fn sc07_whatever_callers_do_with_answers_of_a_real_server_nothing_stays_in_flight() {
    let address = echoing("127.0.0.1:0").await.expect("a free port");
    let directory = serving(ServiceSettings::default(), &[ServiceKey::new("", ORDERS)], address);
    let service = BalanceLayer::new(&directory).layer(HyperSettings::default().build::<String>());
    let mut random = fastrand::Rng::with_seed(7);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..300 {
        let (service, fate, polls) = (service.clone(), random.u32(0..4), random.usize(0..4));
        calls.spawn(async move {
            let call = send(&service, get("/"));
            match fate {
                0 => drop(call.await.expect("it is balanced").into_body().collect().await),
                1 => drop(call.await),
                2 => drop(call.await.expect("it is balanced").into_body().frame().await),
                _ => {
                    // Given up after a few polls.
                    let mut call = std::pin::pin!(call);
                    for _ in 0..polls {
                        if futures_util::poll!(call.as_mut()).is_ready() {
                            break;
                        }
                        tokio::task::yield_now().await;
                    }
                }
            }
        });
    }
    calls.join_all().await;
    wait_until("nothing is in flight", || in_flight(&directory) == 0).await;
}

/// The URIs at which many equal requests arrive, each once.
async fn reached<S>(service: &S, uri: &str) -> Vec<String>
where
    S: tower_service::Service<http::Request<String>, Response = Response<Tracked<String>>, Error = BalanceError>
        + Clone,
{
    let mut reached = std::collections::BTreeSet::new();
    for _ in 0..200 {
        reached.insert(send(service, request(uri)).await.expect("an instance").into_body().into_inner());
    }
    reached.into_iter().collect()
}

fn mixed() -> [Instance; 2] {
    let plain = Instance::new(("127.0.0.1", 1000));
    [plain, Instance::new(("127.0.0.1", 1443)).metadata("secure", "true")]
}

#[tokio::test]
async fn a_request_for_tls_never_goes_to_an_instance_without_it_unless_that_is_allowed() {
    let client = Strict::new(8, async |request: http::Request<String>| Ok(Response::new(request.uri().to_string())));
    let allowed = ServiceSettings::default().with_downgrade(Downgrade::Allowed);
    let layer = |directory: &Directory| BalanceLayer::new(directory).hosts([ORDERS]).layer(client.clone());
    let mixed_set = layer(&listing(ServiceSettings::default(), mixed()));
    for (uri, expected) in [
        ("https://Order_Service/", &["https://127.0.0.1:1443/"][..]),
        ("wss://Order_Service/", &["wss://127.0.0.1:1443/"]),
        ("http://Order_Service/", &["http://127.0.0.1:1000/", "https://127.0.0.1:1443/"]),
        ("lb://Order_Service/", &["http://127.0.0.1:1000/", "https://127.0.0.1:1443/"]),
        ("ws://Order_Service/", &["ws://127.0.0.1:1000/", "wss://127.0.0.1:1443/"]),
    ] {
        assert_eq!(reached(&mixed_set, uri).await, expected, "{uri}");
    }
    let downgraded = layer(&listing(allowed, mixed()));
    assert_eq!(reached(&downgraded, "https://Order_Service/").await.len(), 2);

    let calls = client.calls();
    let plain = layer(&listing(ServiceSettings::default(), at([1000])));
    let error = send(&plain, request("https://Order_Service/")).await.unwrap_err();
    assert!(matches!(error, BalanceError::BadTarget(BadTarget::NotSecure { .. })), "{error}");
    assert_eq!((error.status(), client.calls()), (StatusCode::SERVICE_UNAVAILABLE, calls));
}

#[tokio::test]
async fn where_the_only_instance_with_tls_is_ejected_the_error_says_so() {
    let client = Strict::new(8, async |_| Err::<Response<String>, _>(io::ErrorKind::ConnectionReset.into()));
    let service = BalanceLayer::new(listing(ServiceSettings::default(), mixed())).hosts([ORDERS]).layer(client);
    // Five failures in a row eject, by default.
    for _ in 0..5 {
        send(&service, request("https://Order_Service/")).await.unwrap_err();
    }
    let error = send(&service, request("https://Order_Service/")).await.unwrap_err();
    let BalanceError::NoInstance(none) = &error else { panic!("{error}") };
    assert_eq!((&none.reason, error.status()), (&NoInstanceReason::AllEjected, StatusCode::SERVICE_UNAVAILABLE));
}

#[tokio::test]
async fn requests_alike_in_what_is_hashed_go_to_the_same_instance() {
    let hashed = ServiceSettings::default().with_policy(ConsistentHash::default());
    let directory = listing(hashed.with_hash_on(HashOn::Header(HeaderName::from_static("x-user"))), at(1000..1010));
    let client = Strict::new(8, async |request| Ok(Response::new(port(&request).to_string())));
    let service = BalanceLayer::new(&directory).layer(client);
    let port_of = async |user: &str| {
        let mut request = get("/");
        request.headers_mut().insert("x-user", user.parse().expect("a value"));
        send(&service, request).await.expect("an instance").into_body().into_inner()
    };
    let mut used = std::collections::BTreeSet::new();
    for user in 0..50 {
        let first = port_of(&format!("user-{user}")).await;
        for _ in 0..5 {
            assert_eq!(port_of(&format!("user-{user}")).await, first);
        }
        used.insert(first);
    }
    assert!(used.len() > 5, "users are spread: {used:?}");
}
