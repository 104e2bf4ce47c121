//! Lists that change while requests are made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use http::Response;
use nacos_discovery::{BalanceLayer, ServiceSettings};
use nacos_tests::wait::in_time;
use tower_layer::Layer;
use tower_service::Service;

use crate::balancing_support::*;

const REVISIONS: u64 = 1000;

/// Two of eight instances are in each list, and every list lacks one of the list before.
const fn is_listed(revision: u64, port: u64) -> bool {
    port == revision % 8 || port == (revision + 1) % 8
}

fn of_revision(revision: u64) -> nacos_discovery::ServiceList {
    list(revision, at((0..8).filter(|port| is_listed(revision, *port)).map(|port| 1000 + port as u16)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc05_a_call_that_begins_after_a_list_was_applied_never_reaches_an_instance_that_is_not_in_it() {
    let directory = silent(ServiceSettings::default());
    let endpoints = orders(&directory);
    endpoints.apply(&of_revision(1));
    let client = Strict::new(64, async |request| Ok(Response::new(axum::body::Body::from(port(&request).to_string()))));
    let service = BalanceLayer::new(&directory).layer(client.clone());
    // What is being applied, and what is applied for certain.
    let (begun, applied, over) =
        (Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(1)), Arc::new(AtomicBool::new(false)));

    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (service, begun, applied, over) =
            (service.clone(), Arc::clone(&begun), Arc::clone(&applied), Arc::clone(&over));
        callers.spawn(async move {
            let (mut certain, mut violations) = (0_u64, 0_u64);
            while !over.load(Ordering::SeqCst) {
                let before = applied.load(Ordering::SeqCst);
                let body = send(&service, get("/")).await.expect("there are instances").into_body();
                let after = begun.load(Ordering::SeqCst);
                let port: u64 =
                    String::from_utf8(axum::body::to_bytes(axum::body::Body::new(body), 100).await.unwrap().to_vec())
                        .unwrap()
                        .parse()
                        .unwrap();
                certain += u64::from(before == after);
                violations += u64::from(!(before..=after).any(|revision| is_listed(revision, port - 1000)));
                tokio::task::yield_now().await;
            }
            (certain, violations)
        });
    }
    for revision in 2..=REVISIONS {
        let seen = client.calls();
        begun.store(revision, Ordering::SeqCst);
        endpoints.apply(&of_revision(revision));
        applied.store(revision, Ordering::SeqCst);
        in_time("calls with this list", async {
            while client.calls() < seen + 4 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    over.store(true, Ordering::SeqCst);
    let (mut certain, mut violations) = (0, 0);
    while let Some(caller) = callers.join_next().await {
        let (of_caller, wrong) = caller.expect("no caller panics");
        certain += of_caller;
        violations += wrong;
    }
    assert_eq!(violations, 0);
    assert!(certain > REVISIONS, "most calls saw one list only, so that the check could fail: {certain}");
    assert_eq!(in_flight(&directory), 0);
}

/// A balancer of tower may call an instance that left between readiness and call, or its neighbour in a list that has shrunk.
#[tokio::test]
async fn b04_whatever_happens_between_readiness_and_call_the_instance_called_is_in_the_list() {
    let directory = silent(ServiceSettings::default());
    let endpoints = orders(&directory);
    let client = Strict::new(usize::MAX >> 4, async |request| Ok(Response::new(port(&request).to_string())));
    let mut services: Vec<_> = (0..4).map(|_| BalanceLayer::new(&directory).layer(client.clone())).collect();
    let mut ready = [false; 4];
    let mut random = fastrand::Rng::with_seed(4);
    let mut listed = vec![1000];
    let mut calls = 0;
    let mut cx = Context::from_waker(Waker::noop());
    endpoints.apply(&list(0, at(listed.clone())));

    for revision in 1..1_000_000 {
        let which = random.usize(0..4);
        match random.u32(0..3) {
            0 => {
                assert!(services[which].poll_ready(&mut cx).is_ready());
                ready[which] = true;
            }
            1 => {
                // One leaves, another one comes, or both; one always stays.
                if random.bool() && listed.len() > 1 {
                    listed.swap_remove(random.usize(0..listed.len()));
                }
                let new = 1000 + random.u16(0..12);
                if random.bool() && !listed.contains(&new) {
                    listed.push(new);
                }
                endpoints.apply(&list(revision, at(listed.clone())));
            }
            _ if ready[which] => {
                ready[which] = false;
                let mut call = Box::pin(services[which].call(get("/")));
                let Poll::Ready(Ok(response)) = call.as_mut().poll(&mut cx) else { panic!("it is answered at once") };
                let called: u16 = response.into_body().into_inner().parse().unwrap();
                assert!(listed.contains(&called), "{called} of {listed:?} at {revision}");
                calls += 1;
            }
            _ => {}
        }
    }
    assert!(calls > 100_000, "{calls}");
    assert_eq!(in_flight(&directory), 0);
}
