//! Instances that die without leaving the registry.

use futures_util::{FutureExt, StreamExt};
use http::Request;
use http_body_util::BodyExt;
use nacos_discovery::{BalanceLayer, Discovery, EjectionCause, EjectionEvent, EjectionKind};
use nacos_tests::wait::{in_time, wait_until};
use tower_layer::Layer;

use crate::calling::{hyper_client, send};
use crate::fault_server::{Behaviour, FaultServer};
use crate::support::*;

/// One request after the other, none of them repeated; how many failed.
async fn failures(consumer: &Discovery, requests: usize) -> usize {
    let mut http = BalanceLayer::new(consumer).layer(hyper_client::<String>());
    let mut failures = 0;
    for _ in 0..requests {
        let request = Request::get("lb://orders/7").body(String::new()).expect("a request");
        match send(&mut http, request).await {
            Ok(answer) => drop(answer.into_body().collect().await.expect("a whole body")),
            Err(_) => failures += 1,
        }
    }
    failures
}

#[tokio::test]
async fn b12_a_crashed_instance_costs_five_failures_and_its_probes_until_the_registry_notices() {
    let registry = registry().await;
    let mut servers = Vec::new();
    for _ in 0..5 {
        servers.push(FaultServer::start(Behaviour::Answer(200, b"ok".to_vec())).await);
    }
    // Beats go on after the crash: the registry notices nothing.
    let provider = provider(&registry);
    for server in &servers {
        provider.nacos().register_instance(SERVICE, server.instance()).await.expect("the registry is there");
    }
    let consumer = application(settings(&registry));
    let endpoints = consumer.directory().endpoints(&consumer.service_key(SERVICE)).expect("a name");
    wait_until("all are listed", || endpoints.all().len() == 5).await;
    let mut ejections = consumer.directory().ejections();
    assert_eq!(failures(&consumer, 50).await, 0);

    let dead = servers.remove(0);
    let instance = dead.instance();
    drop(dead);
    let failed = in_time("all calls", failures(&consumer, 500)).await;
    let told: Vec<EjectionEvent> = std::iter::from_fn(|| ejections.next().now_or_never().flatten()).collect();
    assert!(told.iter().all(|event| event.instance.port() == instance.port), "{told:?}");
    let cause = |event: &EjectionEvent| match event.kind {
        EjectionKind::Ejected { cause, .. } => Some(cause),
        _ => None,
    };
    assert_eq!(cause(&told[0]), Some(EjectionCause::ConsecutiveFailures { failures: 5 }));
    assert!(told[1..].iter().all(|event| cause(event) == Some(EjectionCause::ProbeFailed)), "{told:?}");
    assert_eq!(failed, 5 + told.len() - 1, "one for each probe");

    provider.nacos().deregister_instance(SERVICE, &instance).await.expect("the registry is there");
    wait_until("the registry tells", || endpoints.all().len() == 4).await;
    assert_eq!(failures(&consumer, 200).await, 0);
    assert!(ejections.next().now_or_never().is_none(), "its removal changes nothing else");
    let touched: Vec<_> = servers.iter().map(FaultServer::touched).collect();
    assert!(touched.iter().all(|requests| *requests > 50), "{touched:?}");
}
