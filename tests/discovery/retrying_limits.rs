//! Calls that fail: how often they are repeated, where, and when. With clients that answer themselves, on paused time.

use std::collections::HashSet;
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use http::{Method, Request, Response, StatusCode};
use nacos_client::ServiceKey;
use nacos_discovery::{BalanceLayer, BalanceSettings, CallInfo, Directory, Hooks, RetryNextLayer, RetrySettings};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use crate::below::*;
use crate::calling::*;

#[tokio::test(start_paused = true)]
async fn sc14_the_instances_of_a_call_are_distinct() {
    for seed in 0..200 {
        fastrand::seed(seed);
        let count = 1 + (seed % 7) as u8;
        let attempts = 1 + fastrand::u32(..u32::from(count));
        let settings = with(RetrySettings::default().with_attempts(attempts));
        let weighted = instances(count).map(|instance| instance.weight(0.1 + 10.0 * fastrand::f64()));
        let directory = directory(weighted, settings);
        let below = if seed % 2 == 0 { Below::broken() } else { Below::always(StatusCode::BAD_GATEWAY) };
        let result = get(&directory, &below).await;
        assert_eq!(result.is_err(), seed % 2 == 0);
        let calls = below.calls();
        let distinct: HashSet<_> = calls.iter().map(|call| &call.authority).collect();
        assert_eq!((calls.len(), distinct.len()), (attempts as usize, attempts as usize), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn sc14_one_instance_is_not_called_again_unless_configured() {
    let one = directory(instances(1), with(RetrySettings::default().with_attempts(3)));
    let below = Below::broken();
    let began = Instant::now();
    assert!(get(&one, &below).await.is_err());
    assert_eq!((below.count(), began.elapsed()), (1, Duration::ZERO));

    for (retries, attempts, calls) in [(1, 3, 2), (2, 3, 3), (9, 3, 3), (9, 1, 1)] {
        let settings = with(RetrySettings::default().with_attempts(attempts).with_same_node_retries(retries));
        let below = Below::always(StatusCode::BAD_GATEWAY);
        let response = get(&directory(instances(1), settings), &below).await.unwrap();
        assert_eq!((response.status(), below.count()), (StatusCode::BAD_GATEWAY, calls), "{retries} {attempts}");
    }
}

#[tokio::test(start_paused = true)]
async fn sc14_instances_are_called_again_only_after_all_others() {
    let settings = with(RetrySettings::default().with_attempts(9).with_same_node_retries(1));
    let below = Below::broken();
    assert!(get(&directory(instances(3), settings), &below).await.is_err());
    let calls = below.calls();
    let rounds: Vec<HashSet<_>> =
        calls.chunks(3).map(|round| round.iter().map(|call| call.authority.clone()).collect()).collect();
    assert_eq!((calls.len(), rounds[0].len(), &rounds[0]), (6, 3, &rounds[1]));
}

/// 1 000 requests a second for ten seconds, of which none succeeds. Returns how many calls that made.
async fn ten_seconds_of_failures(directory: &Directory, method: Method, below: &Below) -> usize {
    let client = stack(directory, below);
    let started = Instant::now();
    let mut running = JoinSet::new();
    for n in 0..10_000 {
        tokio::time::sleep_until(started + Duration::from_millis(n)).await;
        let (mut client, request) = (client.clone(), request(method.clone()));
        running.spawn(async move { send(&mut client, request).await.map(drop) });
    }
    running.join_all().await;
    below.count()
}

#[tokio::test(start_paused = true)]
async fn sc15_repetitions_stay_within_the_budget_while_everything_fails() {
    for below in [Below::broken(), Below::always(StatusCode::SERVICE_UNAVAILABLE)] {
        let directory = directory(instances(5), with(RetrySettings::default()));
        let calls = ten_seconds_of_failures(&directory, Method::GET, &below).await;
        assert!((11_900..=12_100).contains(&calls), "{calls}");
    }
    // Without a connection there is no pause, and the budget holds all the same.
    let refused = Below::answering(|_| async { Err(io::ErrorKind::ConnectionRefused.into()) }.boxed());
    let directory = directory(instances(5), with(RetrySettings::default().with_attempts(5)));
    let calls = ten_seconds_of_failures(&directory, Method::POST, &refused).await;
    assert!((11_900..=12_100).contains(&calls), "{calls}");
}

#[tokio::test(start_paused = true)]
async fn sc15_a_service_has_one_budget_for_all_layers_and_another_service_has_its_own() {
    let directory = directory(instances(2), with(RetrySettings::default().with_budget(0, 1)));
    let below = Below::broken();
    for _ in 0..20 {
        // A layer of its own each time.
        assert!(get(&directory, &below).await.is_err());
    }
    assert_eq!(below.count(), 20 + 10);
    let other = Request::get("lb://stock-service/").body(Body::new()).unwrap();
    assert!(send(&mut stack(&directory, &below), other).await.is_err());
    assert_eq!(below.count(), 30 + 2);
    // After the window there is some again.
    tokio::time::advance(Duration::from_secs(11)).await;
    assert!(get(&directory, &below).await.is_err());
    assert_eq!(below.count(), 32 + 2);
}

#[tokio::test(start_paused = true)]
async fn settings_differ_by_service() {
    let settings = BalanceSettings::new(with(RetrySettings::off()))
        .with_service(CALLED, |settings| settings.with_retry(RetrySettings::default().with_attempts(3)));
    let directory = Listed::new(instances(4)).directory(settings);
    let below = Below::broken();
    assert!(get(&directory, &below).await.is_err());
    assert_eq!(below.count(), 3);
    let other = Request::get("lb://stock-service/").body(Body::new()).unwrap();
    assert!(send(&mut stack(&directory, &below), other).await.is_err());
    assert_eq!(below.count(), 3 + 1);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_numbered_for_the_services_below() {
    let directory = directory(instances(3), with(RetrySettings::default().with_attempts(3)));
    let below = Below::broken();
    assert!(get(&directory, &below).await.is_err());
    let seen: Vec<_> = below.calls().iter().map(|call| (call.attempt, call.tried)).collect();
    assert_eq!(seen, [(Some(1), Some(1)), (Some(2), Some(2)), (Some(3), Some(3))]);
}

/// Keeps the numbers of the attempts that it is told of.
#[derive(Debug, Default)]
struct Numbers(Arc<Mutex<Vec<u32>>>);

impl Hooks for Numbers {
    fn start(&self, call: &CallInfo) {
        self.0.lock().expect("no test failed with it").push(call.attempt());
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_are_told_the_number_of_each_attempt_also_of_those_at_the_same_instance() {
    let settings = RetrySettings::default().with_attempts(3).with_same_node_retries(2);
    let directory = directory(instances(1), with(settings));
    let numbers = Arc::default();
    let balance = BalanceLayer::new(&directory).hooks(Numbers(Arc::clone(&numbers)));
    let mut client = RetryNextLayer::above(&balance).layer(balance.layer(Below::broken()));
    assert!(send(&mut client, request(Method::GET)).await.is_err());
    assert_eq!(*numbers.lock().unwrap(), [1, 2, 3]);
}

/// Ready for one call, and then no more.
#[derive(Clone)]
struct Once {
    below: Below,
    left: Arc<AtomicU32>,
}

impl<B> Service<Request<B>> for Once {
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Reply;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
        if self.left.load(Ordering::SeqCst) == 0 { std::task::Poll::Pending } else { std::task::Poll::Ready(Ok(())) }
    }

    fn call(&mut self, request: Request<B>) -> Reply {
        self.left.fetch_sub(1, Ordering::SeqCst);
        self.below.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_become_ready_is_waited_for_until_the_deadline() {
    let settings = RetrySettings::default().with_deadline(Duration::from_secs(4)).with_budget(0, 1);
    let directory = directory(instances(2), with(settings));
    let below = Below::always(StatusCode::BAD_GATEWAY);
    let balance = BalanceLayer::new(&directory);
    let began = Instant::now();
    for call in 1..=20 {
        let once = Once { below: below.clone(), left: Arc::new(AtomicU32::new(1)) };
        let mut client = RetryNextLayer::above(&balance).layer(balance.layer(once));
        let response = send(&mut client, request(Method::GET)).await.unwrap();
        assert_eq!((response.status(), below.count()), (StatusCode::BAD_GATEWAY, call));
    }
    // Each of them was granted a repetition and gave it back: with a budget of ten, twenty waited.
    assert_eq!(began.elapsed().as_secs(), 80);
}

#[tokio::test(start_paused = true)]
async fn two_layers_do_not_multiply() {
    let directory = directory(instances(6), with(RetrySettings::default().with_attempts(2)));
    let below = Below::broken();
    let balance = BalanceLayer::new(&directory);
    let layer = RetryNextLayer::above(&balance);
    let mut nested = layer.layer(layer.layer(balance.layer(below.clone())));
    assert!(send(&mut nested, request(Method::GET)).await.is_err());
    assert_eq!(below.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_and_an_unreachable_instance_is_left_at_once() {
    let settings = || with(RetrySettings::default().with_attempts(6));
    let below = Below::broken();
    assert!(get(&directory(instances(6), settings()), &below).await.is_err());
    let calls = below.calls();
    let pauses: Vec<_> = calls.windows(2).map(|two| two[1].at - two[0].at).collect();
    let ceilings = [25, 50, 100, 200, 250].map(|ceiling| Duration::from_millis(ceiling + 1));
    assert!(pauses.iter().zip(ceilings).all(|(pause, ceiling)| *pause <= ceiling), "{pauses:?}");
    assert!(pauses.iter().sum::<Duration>() > Duration::ZERO, "{pauses:?}");

    let refused = Below::answering(|_| async { Err(io::ErrorKind::ConnectionRefused.into()) }.boxed());
    let began = Instant::now();
    assert!(get(&directory(instances(6), settings()), &refused).await.is_err());
    assert_eq!((refused.count(), began.elapsed()), (6, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_asked_for_is_kept_if_it_ends_in_time() {
    for (retry_after, calls) in [("3", 2), ("9", 2), ("10", 1), ("3600", 1), ("soon", 1)] {
        let below = Below::answering(move |_| headed(StatusCode::TOO_MANY_REQUESTS, &[("retry-after", retry_after)]));
        let began = Instant::now();
        let response = get(&directory(instances(2), with(RetrySettings::default())), &below).await.unwrap();
        assert_eq!((response.status(), below.count()), (StatusCode::TOO_MANY_REQUESTS, calls), "{retry_after}");
        let waited = if calls == 2 { retry_after.parse().unwrap() } else { 0 };
        assert_eq!(began.elapsed().as_secs(), waited, "{retry_after}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_attempt_begins_after_the_deadline() {
    let slow = Below::answering(|_| {
        let answer = tokio::time::sleep(Duration::from_secs(4));
        async move {
            answer.await;
            Err(io::ErrorKind::ConnectionReset.into())
        }
        .boxed()
    });
    let settings = RetrySettings::default().with_attempts(9).with_deadline(Duration::from_secs(9));
    assert!(get(&directory(instances(9), with(settings)), &slow).await.is_err());
    assert_eq!(slow.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn unavailable_in_grpc_is_repeated_only_if_told() {
    let grpc = [("content-type", "application/grpc+proto"), ("grpc-status", "14")];
    for (settings, status, calls) in [
        (RetrySettings::default(), "14", 1),
        (RetrySettings::default().all_methods(), "14", 1),
        (RetrySettings::default().with_grpc_unavailable(), "14", 2),
        (RetrySettings::default().with_grpc_unavailable(), "13", 1),
        (RetrySettings::default().with_grpc_unavailable(), "0", 1),
    ] {
        let below = Below::answering(move |_| headed(StatusCode::OK, &[grpc[0], (grpc[1].0, status)]));
        let directory = directory(instances(3), with(settings));
        let response = send(&mut stack(&directory, &below), request(Method::POST)).await.unwrap();
        assert_eq!((response.headers()["grpc-status"].to_str().unwrap(), below.count()), (status, calls));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_gives_everything_up_wherever_it_is() {
    let directory = directory(instances(3), with(RetrySettings::default().with_attempts(3)));
    called(&directory).ready().await.expect("a list");
    // While an attempt runs.
    let silent = Below::answering(|_| pending().boxed());
    let mut call = Box::pin(stack(&directory, &silent).call(request(Method::GET)));
    assert!((&mut call).now_or_never().is_none());
    assert_eq!((silent.count(), in_flight(&directory)), (1, 1));
    drop(call);
    assert_eq!(in_flight(&directory), 0);

    // While it pauses.
    let limited = Below::answering(|_| headed(StatusCode::TOO_MANY_REQUESTS, &[("retry-after", "5")]));
    let mut call = Box::pin(stack(&directory, &limited).call(request(Method::GET)));
    let early = tokio::time::timeout(Duration::from_secs(3), &mut call).await;
    assert!(early.is_err());
    drop((early, call));
    tokio::time::advance(Duration::from_secs(60)).await;
    tokio::task::yield_now().await;
    assert_eq!((limited.count(), in_flight(&directory)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_goes_to_nobody_does_not_hide_the_answer_before_it() {
    fastrand::seed(14);
    let listed = Listed::new(instances(2));
    let directory = listed.directory(BalanceSettings::new(with(RetrySettings::default())));
    let below = Below::always(StatusCode::BAD_GATEWAY);
    let mut call = Box::pin(async { send(&mut stack(&directory, &below), request(Method::GET)).await });
    while below.count() == 0 {
        assert!((&mut call).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    // The other one leaves while the call pauses.
    let called = below.calls()[0].authority.clone();
    listed.set(instances(2).filter(|instance| instance.addr() == called));
    let response = call.await.unwrap();
    assert_eq!((response.status(), below.count()), (StatusCode::BAD_GATEWAY, 1));
}

#[tokio::test(start_paused = true)]
async fn attempts_that_go_to_nobody_leave_the_budget_to_others() {
    // Ten repetitions in ten seconds.
    let settings = with(RetrySettings::default().with_budget(0, 1));
    let secure = || instances(1).map(|instance| instance.metadata("secure", "true"));
    let listed = Listed::new(secure().chain(instances(2).skip(1)));
    let directory = listed.directory(BalanceSettings::new(settings));
    let below = Below::always(StatusCode::BAD_GATEWAY);
    let mut client = stack(&directory, &below);
    for calls in 1..=30 {
        let mut tls = request(Method::GET);
        *tls.uri_mut() = format!("https://{CALLED}/").parse().expect("a URI");
        tls.extensions_mut().insert(ServiceKey::new("", CALLED));
        let response = send(&mut client, tls).await.expect("the answer of the only one with TLS");
        assert_eq!((response.status(), below.count()), (StatusCode::BAD_GATEWAY, calls));
    }
    assert!(send(&mut client, request(Method::GET)).await.is_ok());
    assert_eq!(below.count(), 32, "it is repeated");
}
