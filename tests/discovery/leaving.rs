//! Leaving in the right order, seen from outside.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use nacos_discovery::serve::Serving;
use nacos_discovery::{RegistrationState, ShutdownLimits, Step, StepOutcome};
use nacos_server_min::fault::AnswerFault;
use nacos_server_min::{Behaviour, Server};
use nacos_tests::wait::{eventually, in_time, wait_until};
use tokio::sync::Notify;

use crate::support::*;

/// A request to `/slow` says that it is there, and ends when it is let.
#[derive(Clone, Default)]
struct Gate {
    entered: Arc<Notify>,
    open: Arc<Notify>,
}

impl Gate {
    fn app(&self) -> Router {
        let gate = self.clone();
        let slow = move || async move {
            gate.entered.notify_one();
            gate.open.notified().await;
            "slow"
        };
        Router::new().route("/", get(|| async { "here" })).route("/slow", get(slow))
    }
}

async fn serve(registry: &Server, app: Router, limits: ShutdownLimits) -> Serving {
    let serve = provider(registry).serve(app).listen_on(FREE).operations_at("/actuator");
    serve.registrar(|registrar| registrar.plan(|plan| plan.limits(limits))).start().await.expect("it is served")
}

async fn refuses(address: SocketAddr) -> bool {
    tokio::net::TcpStream::connect(address).await.is_err()
}

#[tokio::test]
async fn b13_it_leaves_the_registry_first_and_answers_until_consumers_know() {
    leaves_the_registry_first(registry().await).await;
}

#[tokio::test]
async fn b13_the_same_with_a_registry_as_slow_and_odd_as_nacos_2_5() {
    for seed in 1..=3 {
        let registry = Server::builder().behaviour(Behaviour::Nacos25).seed(seed).start().await;
        leaves_the_registry_first(registry.expect("free ports are to be had")).await;
    }
}

async fn leaves_the_registry_first(registry: Server) {
    let gate = Gate::default();
    let mut limits = short();
    limits.propagation = Duration::from_secs(3600);
    let serving = serve(&registry, gate.app(), limits).await;
    let address = serving.address();
    assert_eq!(fetch(address, "GET", "/actuator/health/readiness").await.0, 200);

    let slow = tokio::spawn(async move { fetch(address, "GET", "/slow").await });
    in_time("the request", gate.entered.notified()).await;
    let leaving = serving.registered().clone();
    let shutdown = tokio::spawn(async move { leaving.shutdown().await });
    until_listed(&registry, SERVICE, 0).await;
    // A request is under way, so it waits for consumers, and answers those that do not know yet.
    assert_eq!(fetch(address, "GET", "/").await, (200, "here".into()));
    assert_eq!(fetch(address, "GET", "/actuator/health/readiness").await.0, 503);
    assert!(!shutdown.is_finished());

    gate.open.notify_one();
    assert_eq!(in_time("the answer", slow).await.expect("no panic"), (200, "slow".into()));
    let report = in_time("the end", shutdown).await.expect("no panic");
    assert!(report.is_clean(), "{report}");
    let order: Vec<_> = report.steps.iter().map(|step| step.step).collect();
    assert_eq!(order, [Step::Deregister, Step::Propagate, Step::Drain, Step::Close]);
    assert!(refuses(address).await);
    assert_eq!(in_time("the same end", serving.shutdown()).await, report);
    wait_until("no connection is left", || registry.connections().is_empty()).await;
}

#[tokio::test]
async fn b13_a_request_under_way_is_finished_although_nothing_is_accepted_any_more() {
    let registry = registry().await;
    let gate = Gate::default();
    let mut limits = short();
    limits.propagation = Duration::from_millis(1);
    let serving = serve(&registry, gate.app(), limits).await;
    let address = serving.address();
    let slow = tokio::spawn(async move { fetch(address, "GET", "/slow").await });
    in_time("the request", gate.entered.notified()).await;
    let leaving = serving.registered().clone();
    let shutdown = tokio::spawn(async move { leaving.shutdown().await });
    eventually("nothing is accepted", async || refuses(address).await.then_some(())).await;
    assert!(!shutdown.is_finished() && !slow.is_finished());
    gate.open.notify_one();
    assert_eq!(in_time("the answer", slow).await.unwrap(), (200, "slow".into()));
    assert!(in_time("the end", shutdown).await.unwrap().is_clean());
}

#[tokio::test]
async fn b13_a_request_that_does_not_end_is_cut_off_at_the_limit_of_the_drain() {
    let registry = registry().await;
    let gate = Gate::default();
    let mut limits = short();
    limits.propagation = Duration::from_millis(1);
    limits.drain = Duration::from_millis(50);
    let serving = serve(&registry, gate.app(), limits).await;
    let address = serving.address();
    let call = nacos_tests::http::Call { method: "GET", path: "/slow", ..Default::default() };
    let slow = tokio::spawn(async move { nacos_tests::http::call(address, call).await });
    in_time("the request", gate.entered.notified()).await;
    let report = in_time("the end", serving.shutdown()).await;
    assert_eq!(report.step(Step::Drain).unwrap().outcome, StepOutcome::Overdue);
    assert_eq!(report.step(Step::Close).unwrap().outcome, StepOutcome::Done, "the rest goes on");
    assert!(in_time("the cut", slow).await.unwrap().is_err());
}

#[tokio::test]
async fn b13_a_registry_that_does_not_answer_delays_the_end_by_its_limit_only() {
    let registry = registry().await;
    let mut limits = short();
    limits.deregistration = Duration::from_millis(50);
    let serving = serve(&registry, Router::new(), limits).await;
    registry.fault().freeze();
    let report = in_time("the end", serving.shutdown()).await;
    assert_eq!(report.step(Step::Deregister).unwrap().outcome, StepOutcome::Overdue);
    assert_eq!(report.step(Step::Drain).unwrap().outcome, StepOutcome::Done);
    registry.fault().thaw();
}

#[tokio::test]
async fn b13_a_registry_that_refuses_to_deregister_is_told_of_and_left_all_the_same() {
    let registry = registry().await;
    let mut limits = short();
    limits.deregistration = Duration::from_millis(300);
    let serving = serve(&registry, Router::new(), limits).await;
    registry.fault().answers(AnswerFault::error(500, "no disk"));
    let report = in_time("the end", serving.shutdown()).await;
    let outcome = |step| &report.step(step).unwrap().outcome;
    assert!(matches!(outcome(Step::Deregister), StepOutcome::Failed(_) | StepOutcome::Overdue), "{report}");
    assert_eq!((outcome(Step::Propagate), outcome(Step::Drain)), (&StepOutcome::Done, &StepOutcome::Done), "{report}");
    registry.fault().clear_answers();
    until_listed(&registry, SERVICE, 0).await;
}

#[tokio::test]
async fn b13_a_server_that_is_told_by_a_future_drains_after_the_registry_knows() {
    let registry = registry().await;
    let (listener, address) = listen().await;
    let registrar = provider(&registry).registrar().plan(|plan| plan.limits(short()).traffic(Default::default()));
    let me = registrar.register(address).await.unwrap();
    let stop = Arc::new(Notify::new());
    let (leaving, signal) = (me.clone(), Arc::clone(&stop));
    let drained = async move { leaving.drain_on(signal.notified()).await };
    let app = Router::new().route("/", get(|| async { "here" }));
    let server = tokio::spawn(async move { axum::serve(listener, app).with_graceful_shutdown(drained).await });
    assert_eq!(fetch(address, "GET", "/").await.0, 200);
    stop.notify_one();
    in_time("the server", server).await.unwrap().unwrap();
    assert!(listed(&registry, SERVICE).await.is_empty() && !me.readiness().is_ready());
    let report = in_time("the end", me.shutdown()).await;
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.step(Step::Drain).unwrap().outcome, StepOutcome::Skipped, "the server did it");
}

#[tokio::test]
async fn dropped_instead_of_shut_down_it_still_deregisters() {
    let registry = registry().await;
    let serving = serve(&registry, Router::new(), short()).await;
    let address = serving.address();
    let readiness = serving.registered().readiness().clone();
    let mut watch = serving.registered().watch();
    assert_eq!(listed(&registry, SERVICE).await.len(), 1);
    drop(serving);
    until_listed(&registry, SERVICE, 0).await;
    assert_eq!(in_time("the end", watch.changed()).await, Some(RegistrationState::Deregistered));
    assert!(!readiness.is_ready());
    eventually("nothing listens", async || refuses(address).await.then_some(())).await;
}
