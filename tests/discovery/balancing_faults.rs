//! What is not the instance's fault, what shows that an ejected one works again, and code of the application that misbehaves
//! within a call.

use std::collections::BTreeSet;
use std::convert::identity;
use std::error::Error;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use nacos_discovery::{
    BalanceLayer, Classify, Directory, EjectionState, Member, PickContext, Policy, ServiceSettings, Table,
    TransportFailure, Tried,
};
use tower_layer::Layer;

use crate::balancing_support::*;
use crate::calling::hyper_client;
use crate::fault_server::{Behaviour, FaultServer};

fn ejection(directory: &Directory, port: u16) -> EjectionState {
    let all = orders(directory).all();
    all.iter().find(|endpoint| endpoint.instance().port() == port).expect("it is listed").ejection()
}

#[tokio::test]
async fn a_request_whose_body_breaks_off_is_no_failure_of_the_instance() {
    let servers = [FaultServer::start(Behaviour::Stall).await, FaultServer::start(Behaviour::Stall).await];
    let directory = listing(ServiceSettings::default(), servers.iter().map(FaultServer::instance));
    let http = BalanceLayer::new(&directory).layer(hyper_client());
    for _ in 0..40 {
        let frames = [Ok(Frame::data(Bytes::from_static(b"half"))), Err(io::Error::from(io::ErrorKind::BrokenPipe))];
        let body = BodyExt::boxed(StreamBody::new(stream::iter(frames)));
        let request = Request::post(format!("lb://{ORDERS}/upload")).body(body).expect("a request");
        let error = nacos_tests::wait::in_time("the error", send(&http, request)).await.expect_err("it has no end");
        assert_eq!(error.failure(), Some(TransportFailure::Broken), "nobody may take it for unsent: {error:?}");
    }
    for server in &servers {
        assert_eq!(ejection(&directory, server.address().port()), EjectionState::Healthy { failures: 0 });
    }
    assert_eq!(in_flight(&directory), 0);
}

#[tokio::test(start_paused = true)]
async fn sc16_a_probe_whose_answer_has_no_end_restores_the_instance_as_soon_as_it_shows_that_it_works() {
    let grpc = |body| Response::builder().header("content-type", "application/grpc").body(body).expect("a response");
    let plain = |status: u16, body| Response::builder().status(status).body(body).expect("a response");
    for streamed in [false, true] {
        let directory = listing(ServiceSettings::default(), at([1000, 1001]));
        let client = Strict::new(64, move |request: Request<String>| async move {
            Ok(match (port(&request), request.uri().path()) {
                (1000, "/fail") => plain(500, Script::empty()),
                (1000, "/bad") => plain(500, Script::empty().endless()),
                (1000, _) if streamed => grpc(Script::empty().data().data().endless()),
                (1000, _) => plain(200, Script::empty().endless()),
                _ => plain(200, Script::empty()),
            })
        });
        let service = BalanceLayer::new(&directory).layer(client);
        for _ in 0..100 {
            drop(send(&service, get("/fail")).await.expect("an answer"));
        }
        assert!(matches!(ejection(&directory, 1000), EjectionState::Ejected { .. }));
        tokio::time::advance(Duration::from_secs(2)).await;
        let bad = probe(&service, &directory, "/bad").await;
        assert!(matches!(ejection(&directory, 1000), EjectionState::Probing { .. }), "its head is not good");
        drop(bad);
        assert!(matches!(ejection(&directory, 1000), EjectionState::Ejected { relapses: 1, .. }));
        tokio::time::advance(Duration::from_secs(5)).await;
        let mut watch = probe(&service, &directory, "/watch").await;
        if streamed {
            assert!(matches!(ejection(&directory, 1000), EjectionState::Probing { .. }), "gRPC tells later");
            watch.body_mut().frame().await.expect("a message").expect("it is whole");
        }
        assert_eq!(ejection(&directory, 1000), EjectionState::Healthy { failures: 0 });
        assert_eq!(in_flight(&directory), 1, "the answer goes on");
        drop(watch);
        assert_eq!(in_flight(&directory), 0);
    }
}

/// The answer of the call that probes the one that is ejected.
async fn probe<S, R, E>(service: &S, directory: &Directory, path: &str) -> Response<R>
where
    S: tower_service::Service<Request<String>, Response = Response<R>, Error = E> + Clone,
    E: std::fmt::Debug,
{
    for _ in 0..1_000 {
        let response = send(service, get(path)).await.expect("an answer");
        if in_flight(directory) == 1 {
            return response;
        }
    }
    panic!("nobody probes it")
}

/// Chooses by a function of how often it was asked.
#[derive(Debug, Clone)]
struct Odd(fn(usize) -> usize, Arc<AtomicUsize>);

impl Policy for Odd {
    fn table(&self, _: &[Member], _: u64) -> Box<dyn Table> {
        Box::new(self.clone())
    }
}

impl Table for Odd {
    fn pick(&self, _: &[Member], _: &mut PickContext<'_>) -> Option<usize> {
        Some((self.0)(self.1.fetch_add(1, Ordering::Relaxed)))
    }
}

#[tokio::test]
async fn whatever_a_policy_of_the_application_does_calls_are_served_and_none_stays_in_flight() {
    let choices: [fn(usize) -> usize; 3] =
        [identity, |_| usize::MAX, |asked| if asked % 3 == 0 { panic!() } else { 1 }];
    for choice in choices {
        let settings = ServiceSettings::default().with_policy(Odd(choice, Arc::default()));
        let directory = listing(settings, at([1000, 1001]));
        let client = Strict::new(8, async |_| Ok(Response::new(Script::empty())));
        let service = BalanceLayer::new(&directory).layer(client.clone());
        let tried = Tried::new();
        let served = stream::iter(0..30).filter(|at| {
            let mut request = get("/");
            // The set of those that were tried is locked while the policy chooses.
            let shared = if *at < 2 { tried.clone() } else { Tried::new() };
            request.extensions_mut().insert(shared);
            let call = AssertUnwindSafe(send(&service, request)).catch_unwind();
            async move { call.await.is_ok_and(|answer| answer.is_ok()) }
        });
        let served = served.count().await;
        assert!(served >= 20, "{served}");
        assert!(tried.len() <= 2);
        assert_eq!((in_flight(&directory), client.free()), (0, 8));
    }
}

#[tokio::test]
async fn sc14_a_policy_that_insists_on_one_instance_does_not_get_it_where_it_was_tried() {
    let settings = ServiceSettings::default().with_policy(Odd(|_| 0, Arc::default()));
    let directory = listing(settings, at([1000, 1001, 1002]));
    let client = Strict::new(8, async |request: Request<String>| Ok(Response::new(port(&request).to_string())));
    let service = BalanceLayer::new(&directory).layer(client);
    let tried = Tried::new();
    let mut served = BTreeSet::new();
    for _ in 0..3 {
        let mut request = get("/");
        request.extensions_mut().insert(tried.clone());
        served.insert(send(&service, request).await.expect("somebody is left").into_body().into_inner());
    }
    assert_eq!(served.len(), 3, "{served:?}");
}

#[tokio::test]
async fn a_bad_answer_counts_also_where_its_body_is_not_read_to_the_end() {
    let directory = listing(ServiceSettings::default(), at([1000, 1001]));
    let client = Strict::new(8, async |request: Request<String>| {
        let bad = Response::builder().status(500).body(Script::empty().data().data().endless());
        Ok(if port(&request) == 1000 { bad.expect("a response") } else { Response::new(Script::empty()) })
    });
    let service = BalanceLayer::new(&directory).layer(client);
    for _ in 0..100 {
        let mut answer = send(&service, get("/")).await.expect("an answer");
        if answer.status() == StatusCode::INTERNAL_SERVER_ERROR {
            answer.body_mut().frame().await.expect("some of it").expect("it is whole");
        }
    }
    assert!(matches!(ejection(&directory, 1000), EjectionState::Ejected { .. }));
    assert_eq!(in_flight(&directory), 0);
}

/// Panics at whatever it is asked.
#[derive(Debug)]
struct Confused;

impl Classify for Confused {
    fn error(&self, _: &(dyn Error + 'static)) -> Option<TransportFailure> {
        panic!("an error")
    }

    fn reply(&self, _: StatusCode, _: &http::HeaderMap) -> Option<nacos_discovery::Reply> {
        panic!("an answer")
    }
}

#[tokio::test]
async fn a_judge_of_the_application_that_panics_costs_nobody_but_its_own_call() {
    let directory = listing(ServiceSettings::default(), at([1000]));
    let client = Strict::new(2, async |request: Request<String>| match request.uri().path() {
        "/error" => Err(io::ErrorKind::ConnectionReset.into()),
        _ => Ok(Response::new(Script::empty())),
    });
    let confused = BalanceLayer::new(&directory).classify(Confused).layer(client.clone());
    for path in ["/", "/error"] {
        assert!(AssertUnwindSafe(send(&confused, get(path))).catch_unwind().await.is_err());
        assert_eq!((in_flight(&directory), client.free()), (0, 2), "{path}");
    }
    let answer = send(&BalanceLayer::new(&directory).layer(client), get("/")).await;
    assert_eq!(answer.expect("another layer is not concerned").status(), StatusCode::OK);
    assert_eq!(ejection(&directory, 1000), EjectionState::Healthy { failures: 0 });
}
