//! Calls that are routed by what they say, through the layers.

use std::collections::BTreeSet;
use std::future::{Ready, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use http::{Request, Response, StatusCode};
use nacos_client::Instance;
use nacos_discovery::route::{Destination, Label, Miss, RouteDocument, RouteRules, Rule, Subject, Test};
use nacos_discovery::{
    BalanceError, BalanceLayer, Directory, NoInstanceReason, RetryNextLayer, RetrySettings, ServiceSettings,
};
use nacos_tests::wait::in_time;
use tokio::task::JoinSet;
use tower_layer::Layer;
use tower_service::Service;

use crate::balancing_support::*;

/// Instances of a version; it is the thousands of the port.
fn of(version: u16, count: u16) -> impl Iterator<Item = Instance> {
    at((0..count).map(move |number| version * 1000 + number))
        .map(move |instance| instance.metadata("version", format!("v{version}")))
}

fn label(version: u16) -> Label {
    Label::new("version", format!("v{version}"))
}

fn document(rules: RouteRules) -> RouteDocument {
    RouteDocument::new().with_service(ORDERS, rules)
}

fn gray(miss: Miss) -> RouteDocument {
    let rule = Rule::new("gray").when_header("x-version", Test::exact("v2")).to(label(2)).or(miss);
    document(RouteRules::new().with_baseline(label(1)).with_rule(rule))
}

fn asking(version: &str) -> Request<String> {
    let mut request = get("/");
    request.headers_mut().insert("x-version", version.parse().expect("a value"));
    request
}

#[tokio::test]
async fn sc11_a_call_with_the_header_reaches_v2_only_and_a_miss_is_told_by_rule_and_label() {
    let directory = listing(ServiceSettings::default(), of(1, 2).chain(of(2, 1).map(|one| one.weight(100.0))));
    directory.set_routes(gray(Miss::Fail)).unwrap();
    let client = Strict::new(8, async |request| Ok(Response::new(port(&request).to_string())));
    let service = BalanceLayer::new(&directory).layer(client.clone());
    let version = async |request| {
        let port = send(&service, request).await?.into_body().into_inner();
        Ok::<_, BalanceError>(port.parse::<u16>().expect("a port") / 1000)
    };
    for _ in 0..200 {
        assert_eq!(version(asking("v2")).await.unwrap(), 2);
        assert_eq!(version(get("/")).await.unwrap(), 1);
    }
    orders(&directory).apply(&list(2, of(1, 2)));
    let calls = client.calls();
    let Err(BalanceError::NoInstance(none)) = version(asking("v2")).await else { panic!("there is no v2") };
    let rule = Some("gray".to_owned());
    assert_eq!(none.reason, NoInstanceReason::RouteMiss { rule, label: "version=v2".to_owned(), count: 2 });
    assert!(none.to_string().ends_with("none of 2 is of version=v2, as the rule `gray` asks for"), "{none}");
    assert_eq!(client.calls(), calls, "the client below is not called");
    directory.set_routes(gray(Miss::Baseline)).unwrap();
    assert_eq!(version(asking("v2")).await.unwrap(), 1);
}

/// Answers by the port that is called.
#[derive(Clone)]
struct Replied<F>(F);

impl<F: Fn(u16) -> StatusCode, B> Service<Request<B>> for Replied<F> {
    type Response = Response<String>;
    type Error = io::Error;
    type Future = Ready<io::Result<Response<String>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut response = Response::new(String::new());
        *response.status_mut() = (self.0)(port(&request));
        ready(Ok(response))
    }
}

/// Everything of v2 fails, and it is told where each attempt went.
async fn attempts(miss: Miss, rounds: u32) -> (Vec<u16>, Option<StatusCode>) {
    let retry = RetrySettings::default().with_attempts(9).with_same_node_retries(rounds);
    let settings = ServiceSettings::default().with_retry(retry).with_ejection(None);
    let directory = listing(settings, of(1, 2).chain(of(2, 2)).chain(of(3, 1)));
    directory.set_routes(gray(miss)).expect("the rules can be used");
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let client = Replied(move |port| {
        tell.send(port).expect("the test listens");
        if port / 1000 == 2 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK }
    });
    let balance = BalanceLayer::new(&directory);
    let service = RetryNextLayer::above(&balance).layer(balance.layer(client));
    let status = send(&service, asking("v2")).await.ok().map(|response| response.status());
    told.close();
    let mut order = Vec::new();
    while let Some(port) = told.recv().await {
        order.push(port);
    }
    (order, status)
}

#[tokio::test(start_paused = true)]
async fn sc11_a_retry_tries_all_of_v2_and_then_goes_where_the_miss_says() {
    let (order, status) = attempts(Miss::Fail, 0).await;
    let distinct: BTreeSet<_> = order.iter().collect();
    assert_eq!((order.len(), distinct.len(), status), (2, 2, Some(StatusCode::SERVICE_UNAVAILABLE)), "{order:?}");
    assert!(order.iter().all(|port| port / 1000 == 2), "{order:?}");
    let (order, status) = attempts(Miss::Baseline, 0).await;
    let versions: Vec<_> = order.iter().map(|port| port / 1000).collect();
    assert_eq!((versions, status), (vec![2, 2, 1], Some(StatusCode::OK)));
    let (order, _) = attempts(Miss::Fail, 1).await;
    assert!(order.len() > 2 && order.iter().all(|port| port / 1000 == 2), "another round stays there: {order:?}");
}

#[tokio::test]
async fn sc12_calls_of_one_user_stay_on_one_side_and_a_tenth_of_the_users_is_on_the_new_one() {
    let directory = listing(ServiceSettings::default(), of(1, 3).chain(of(2, 2)));
    let canary = Rule::new("canary").share(10.0, label(2)).share(90.0, Destination::Baseline);
    let sticky = canary.sticky_by(Subject::header("x-user"));
    directory.set_routes(document(RouteRules::new().with_baseline(label(1)).with_rule(sticky))).unwrap();
    let client = Strict::new(8, async |request| Ok(Response::new(port(&request).to_string())));
    let service = BalanceLayer::new(&directory).layer(client);
    let mut on_new = 0;
    for user in 0..2_000 {
        let mut sides = BTreeSet::new();
        for _ in 0..3 {
            let mut request = get("/");
            request.headers_mut().insert("x-user", format!("user-{user}").parse().expect("a value"));
            let port: u16 = send(&service, request).await.unwrap().into_body().into_inner().parse().unwrap();
            sides.insert(port / 1000);
        }
        assert_eq!(sides.len(), 1, "user {user}");
        on_new += u32::from(sides.contains(&2));
    }
    // 5 σ of a tenth of 2 000 are 67.
    assert!((133..=267).contains(&on_new), "{on_new}");
}

const SWAPS: u64 = 1_000;
const VERSIONS: u64 = 16;

/// By the rules of a generation all calls go to one version, drawn, taken from a header or said outright, and nowhere else.
fn of_generation(generation: u64) -> RouteDocument {
    let own = label(1 + (generation % VERSIONS) as u16);
    let rule = Rule::new(format!("generation-{generation}"));
    let rule = match generation % 3 {
        0 => rule.to(own),
        1 => rule.share(50.0, own.clone()).share(50.0, own),
        _ => rule.share(0.0, label(99)).share(100.0, own).sticky_by(Subject::header("x-user")),
    };
    document(RouteRules::new().with_rule(rule.or_fail()))
}

/// What the callers of a swap see in common.
#[derive(Clone, Default)]
struct Swap {
    /// Whose rules are being put in force.
    begun: Arc<AtomicU64>,
    /// Whose rules are in force for certain.
    applied: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

/// What a caller saw.
#[derive(Debug, Default)]
struct Seen {
    calls: u64,
    /// Calls under one generation only, so that the check could fail.
    certain: u64,
    misrouted: u64,
    failed: u64,
}

async fn call_until_over(directory: Directory, client: Answers, swap: Swap) -> Seen {
    let service = BalanceLayer::new(&directory).layer(client);
    let mut seen = Seen::default();
    while !swap.over.load(Ordering::SeqCst) {
        let before = swap.applied.load(Ordering::SeqCst);
        let answer = send(&service, get("/")).await;
        let after = swap.begun.load(Ordering::SeqCst);
        seen.calls += 1;
        seen.certain += u64::from(before == after);
        match answer {
            Ok(answer) => {
                let port: u64 = answer.into_body().into_inner().parse().expect("a port");
                let version = port / 1000 - 1;
                seen.misrouted += u64::from(!(before..=after).any(|generation| generation % VERSIONS == version));
            }
            Err(_) => seen.failed += 1,
        }
        tokio::task::yield_now().await;
    }
    seen
}

type Answers = Strict<fn(Request<String>) -> Ready<io::Result<Response<String>>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sc11_a_call_that_begins_after_rules_were_replaced_is_never_routed_by_the_old_ones_and_none_fails() {
    let directory = listing(ServiceSettings::default(), (1..=VERSIONS as u16).flat_map(|version| of(version, 2)));
    directory.set_routes(of_generation(0)).unwrap();
    let answer: fn(Request<String>) -> _ = |request| ready(Ok(Response::new(port(&request).to_string())));
    let client: Answers = Strict::new(64, answer);
    let (swap, started) = (Swap::default(), Instant::now());
    let mut callers = JoinSet::new();
    for _ in 0..16 {
        callers.spawn(call_until_over(directory.clone(), client.clone(), swap.clone()));
    }
    for generation in 1..=SWAPS {
        let calls = client.calls();
        swap.begun.store(generation, Ordering::SeqCst);
        directory.set_routes(of_generation(generation)).unwrap();
        swap.applied.store(generation, Ordering::SeqCst);
        in_time("calls by these rules", async {
            while client.calls() < calls + 100 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        if generation % 7 == 0 {
            // Lists come between.
            orders(&directory).apply(&list(generation + 1, (1..=VERSIONS as u16).flat_map(|version| of(version, 3))));
        }
    }
    swap.over.store(true, Ordering::SeqCst);
    let mut sum = Seen::default();
    while let Some(seen) = callers.join_next().await {
        let seen = seen.expect("no caller panics");
        sum.calls += seen.calls;
        sum.certain += seen.certain;
        sum.misrouted += seen.misrouted;
        sum.failed += seen.failed;
    }
    eprintln!("{SWAPS} swaps, {sum:?}, {:.0} calls/s", sum.calls as f64 / started.elapsed().as_secs_f64());
    assert_eq!((sum.misrouted, sum.failed), (0, 0), "{sum:?}");
    assert!(sum.certain > SWAPS, "{sum:?}");
    assert_eq!(in_flight(&directory), 0);
}
