//! Serving an axum application: when it registers, what it answers, how it ends.

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use nacos_client::ServiceKey;
use nacos_discovery::Step;
use nacos_discovery::serve::ServeError;
use nacos_tests::wait::{eventually, in_time};
use tokio::sync::oneshot;

use crate::support::*;

fn app() -> Router {
    Router::new()
        .route("/", get(|| async { "here" }))
        .route("/who", get(|ConnectInfo(peer): ConnectInfo<std::net::SocketAddr>| async move { peer.ip().to_string() }))
        .route("/actuator/health", get(|| async { "the application's own" }))
        .route("/actuator/info", get(|| async { "info" }))
}

#[tokio::test]
async fn sc19_it_answers_before_it_is_registered() {
    let registry = registry().await;
    let (listener, address) = listen().await;
    let (warm, warmed) = oneshot::channel::<()>();
    let (stop, stopped) = oneshot::channel::<()>();
    let serve = provider(&registry).serve(app()).listener(listener).ready_when(warmed).stop_on(stopped);
    let serve = serve.operations_at("/actuator").registrar(|r| r.plan(|plan| plan.limits(short())));
    let running = tokio::spawn(serve.run());
    let answer = eventually("an answer", async || {
        let call = nacos_tests::http::Call { method: "GET", path: "/", ..Default::default() };
        nacos_tests::http::call(address, call).await.ok()
    });
    assert_eq!(answer.await.status, 200);
    assert!(listed(&registry, SERVICE).await.is_empty());
    assert_eq!(fetch(address, "GET", "/actuator/health/readiness").await.0, 503);
    warm.send(()).unwrap();
    until_listed(&registry, SERVICE, 1).await;
    eventually("ready", async || (fetch(address, "GET", "/actuator/health/readiness").await.0 == 200).then_some(()))
        .await;
    stop.send(()).unwrap();
    let report = in_time("the end", running).await.unwrap().unwrap();
    assert!(report.is_clean(), "{report}");
    assert!(listed(&registry, SERVICE).await.is_empty());
}

#[tokio::test]
async fn a_stop_before_it_is_registered_ends_it_and_the_client() {
    let registry = registry().await;
    for registering in [false, true] {
        let (stop, stopped) = oneshot::channel::<()>();
        let discovery = provider(&registry);
        let mut serve = discovery.serve(app()).listen_on(FREE);
        if registering {
            registry.fault().freeze();
        } else {
            serve = serve.ready_when(std::future::pending::<()>());
        }
        let running = tokio::spawn(serve.stop_on(stopped).run());
        if registering {
            let trying = || discovery.status().connection.state != "idle";
            nacos_tests::wait::wait_until("it registers", trying).await;
        }
        stop.send(()).unwrap();
        let report = in_time("the end", running).await.unwrap().unwrap();
        let steps: Vec<_> = report.steps.iter().map(|step| step.step).collect();
        assert_eq!((steps, report.is_clean()), (vec![Step::Close], true), "{report}");
        assert_eq!(discovery.status().connection.state, "closed");
        registry.fault().thaw();
        assert!(listed(&registry, SERVICE).await.is_empty());
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_to_stop_lets_it_leave_and_a_second_one_changes_nothing() {
    let registry = registry().await;
    let terminate = || {
        let own = std::process::id().to_string();
        assert!(std::process::Command::new("kill").args(["-TERM", &own]).status().unwrap().success());
    };
    let (listener, address) = listen().await;
    let serve = provider(&registry).serve(app()).listener(listener).operations_at("/actuator");
    let serve = serve.registrar(|registrar| registrar.plan(|plan| plan.limits(short())));
    let running = tokio::spawn(serve.run());
    until_listed(&registry, SERVICE, 1).await;
    eventually("ready", async || (fetch(address, "GET", "/actuator/health/readiness").await.0 == 200).then_some(()))
        .await;
    terminate();
    until_listed(&registry, SERVICE, 0).await;
    terminate();
    let report = in_time("the end", running).await.unwrap().unwrap();
    assert!(report.is_clean() && report.step(Step::Deregister).is_some(), "{report}");
}

#[tokio::test]
async fn the_operations_come_before_the_application_and_the_rest_stays_its_own() {
    let registry = registry().await;
    let serving = application(impatient(settings(&registry)))
        .serve(app())
        .listen_on(FREE)
        .operations_at("/actuator")
        .start()
        .await
        .unwrap();
    let address = serving.address();
    assert_eq!(fetch(address, "GET", "/actuator/health").await, (200, serde_json::json!({"status": "UP"})));
    assert_eq!(fetch(address, "GET", "/actuator/info").await, (200, "info".into()));
    assert_eq!(fetch(address, "GET", "/who").await, (200, "127.0.0.1".into()));
    let (status, report) = fetch(address, "GET", "/actuator/nacosdiscovery").await;
    assert_eq!((status, &report["registrations"][0]["state"]), (200, &"registered".into()));

    registry.fault().freeze();
    let (status, health) = fetch(address, "GET", "/actuator/health").await;
    assert_eq!((status, &health["status"]), (503, &"DOWN".into()), "it asks the registry");
    assert_eq!(fetch(address, "GET", "/actuator/health/readiness").await.0, 200, "consumers know it all the same");
    registry.fault().thaw();
}

#[tokio::test]
async fn what_cannot_be_served_says_why_and_registers_nothing() {
    let registry = registry().await;
    let (_taken, address) = listen().await;
    let error = provider(&registry).serve(app()).listen_on(address).start().await.unwrap_err();
    assert!(matches!(&error, ServeError::Bind { address: tried, .. } if *tried == address), "{error}");
    let error = provider(&registry).serve(app()).listen_on(FREE).operations_at("actuator").start().await.unwrap_err();
    assert!(matches!(error, ServeError::OperationsPath(_)), "{error}");
    let (listener, address) = listen().await;
    let serve = provider(&registry).serve(app()).listener(listener);
    let nameless = serve.registrar(|r| r.customize(|own| own.service = ServiceKey::new("", "not a name\u{7}")));
    let error = nameless.start().await.unwrap_err();
    assert!(matches!(error, ServeError::Register(_)), "{error}");
    eventually("nothing listens", async || tokio::net::TcpStream::connect(address).await.err()).await;
    assert!(listed(&registry, SERVICE).await.is_empty());
}
