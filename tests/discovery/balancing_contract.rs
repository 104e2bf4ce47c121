//! What `tower_service::Service` promises, and when a call waits.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use nacos_client::{NamingService, ServiceKey};
use nacos_discovery::{
    BadTarget, BalanceError, BalanceLayer, BalanceSettings, Directory, NoInstanceReason, ServiceSettings,
};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use crate::balancing_support::*;

type Answer = std::io::Result<Response<String>>;

async fn fine(_: Request<String>) -> Answer {
    Ok(Response::new(String::new()))
}

fn reason(error: &BalanceError) -> &NoInstanceReason {
    let BalanceError::NoInstance(none) = error else { panic!("{error}") };
    &none.reason
}

#[tokio::test(start_paused = true)]
async fn sc08_before_the_first_list_a_call_waits_no_longer_than_the_settings_say() {
    let wait = Duration::from_secs(3);
    let directory = silent(ServiceSettings::default().with_first_list_wait(wait));
    let client = Strict::new(1, fine);
    let service = BalanceLayer::new(&directory).layer(client.clone());

    let begin = Instant::now();
    let mut call = Box::pin(send(&service, get("/")));
    assert!(call.as_mut().now_or_never().is_none());
    tokio::time::advance(wait - Duration::from_millis(1)).await;
    assert!(call.as_mut().now_or_never().is_none(), "not before its time");
    let error = call.await.unwrap_err();
    assert_eq!(reason(&error), &NoInstanceReason::Unknown { waited: wait });
    assert_eq!((begin.elapsed().as_secs(), error.status()), (3, StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!((client.calls(), client.free()), (0, 1), "nobody was called, and the slot is free");

    // One that waits goes as soon as the list is there.
    let waiting = tokio::spawn({
        let service = service.clone();
        async move { send(&service, get("/")).await.map(|response| response.status()) }
    });
    tokio::task::yield_now().await;
    orders(&directory).apply(&list(1, at([1000])));
    assert_eq!(waiting.await.unwrap().unwrap(), StatusCode::OK);
    assert_eq!(begin.elapsed().as_secs(), 3);
}

#[tokio::test]
async fn sc08_after_it_a_call_that_nobody_can_take_fails_at_once_and_the_client_is_not_called() {
    let directory = listing(ServiceSettings::default(), []);
    let client = Strict::new(1, fine);
    let service = BalanceLayer::new(&directory).layer(client.clone());
    let error = send(&service, get("/")).now_or_never().expect("on its first poll").unwrap_err();
    assert_eq!(reason(&error), &NoInstanceReason::NoneRegistered);

    orders(&directory).apply(&list(2, at([1000]).map(|instance| instance.weight(0.0))));
    let error = send(&service, get("/")).now_or_never().expect("on its first poll").unwrap_err();
    assert_eq!((reason(&error), client.calls()), (&NoInstanceReason::AllDrained { count: 1 }, 0));
}

/// A slot that readiness reserved and no call uses would be lost to the others, as long as the service lives.
#[tokio::test]
async fn readiness_that_is_not_used_is_given_back() {
    let directory = listing(ServiceSettings::default(), []);
    let client = Strict::new(1, fine);
    let mut cx = Context::from_waker(Waker::noop());
    for uri in ["lb://Order_Service/", "lb://unwatchable/", "/no-name"] {
        let mut service = BalanceLayer::new(&directory).layer(client.clone());
        assert!(service.poll_ready(&mut cx).is_ready());
        assert_eq!(client.free(), 0);
        let failed = service.call(Request::get(uri).body(String::new()).unwrap()).now_or_never();
        assert!(failed.expect("it fails at once").is_err(), "{uri}");
        assert_eq!(client.free(), 1, "{uri}: though the service still lives");
        drop(service);
    }
    let mut service = BalanceLayer::new(&directory).layer(client.clone());
    assert!(service.poll_ready(&mut cx).is_ready());
    drop(service);
    assert_eq!(client.free(), 1);
}

/// What was ready goes with the request that waits; the client that stays has to become ready by itself.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_takes_its_own_slot_along() {
    let directory = silent(ServiceSettings::default());
    let client = Strict::new(2, fine);
    let mut service = BalanceLayer::new(&directory).layer(client.clone());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_ready());
    let first = service.call(get("/"));
    assert!(service.poll_ready(&mut cx).is_ready());
    let second = service.call(get("/"));
    assert!(matches!(service.poll_ready(&mut cx), Poll::Pending), "both slots are with calls that wait");
    drop(first);
    assert!(service.poll_ready(&mut cx).is_ready(), "one was given up");
    orders(&directory).apply(&list(1, at([1000])));
    assert_eq!(second.await.unwrap().status(), StatusCode::OK);
}

#[tokio::test]
async fn a_client_that_is_never_ready_again_says_so_and_no_instance_is_blamed() {
    #[derive(Clone)]
    struct Dead;

    impl Service<Request<String>> for Dead {
        type Response = Response<String>;
        type Error = std::io::Error;
        type Future = std::future::Ready<Answer>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
            Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into()))
        }

        fn call(&mut self, _: Request<String>) -> Self::Future {
            unreachable!("it is never ready")
        }
    }

    let directory = listing(ServiceSettings::default(), at([1000]));
    let error = send(&BalanceLayer::new(&directory).layer(Dead), get("/")).await.unwrap_err();
    assert!(matches!(error, BalanceError::Inner { instance: None, .. }), "{error:?}");
    let source = std::error::Error::source(&error).expect("the client's own error");
    assert_eq!(source.downcast_ref::<std::io::Error>().unwrap().kind(), std::io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn each_error_says_what_a_proxy_answers() {
    let directory = listing(ServiceSettings::default(), []);
    let service = BalanceLayer::new(&directory).layer(Strict::new(1, fine));
    let error = async |uri: &str| send(&service, Request::get(uri).body(String::new()).unwrap()).await.unwrap_err();
    let nobody = error("lb://Order_Service/x?token=t").await;
    assert_eq!(nobody.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        nobody.to_string(),
        "no instance of DEFAULT_GROUP@@Order_Service can take the request: none is registered"
    );
    let unnamed = error("/x?token=t").await;
    assert!(matches!(unnamed, BalanceError::BadTarget(BadTarget::NoService { .. })), "{unnamed}");
    assert_eq!((unnamed.status(), unnamed.failure()), (StatusCode::BAD_REQUEST, None));
    assert!(unnamed.to_string().contains("lb://") && !unnamed.to_string().contains("token"), "{unnamed}");
    let nacos = NamingService::builder().servers(["127.0.0.1:1"]).build().unwrap();
    let real =
        BalanceLayer::new(Directory::new(Arc::new(nacos), BalanceSettings::default())).layer(Strict::new(1, fine));
    let mut unnameable = Request::get("/").body(String::new()).unwrap();
    unnameable.extensions_mut().insert(ServiceKey::new("", ""));
    let invalid = send(&real, unnameable).await.unwrap_err();
    assert!(matches!(invalid, BalanceError::Discovery(_)) && invalid.status() == StatusCode::BAD_REQUEST, "{invalid}");
    let unwatched = error("lb://unwatchable/").await;
    assert!(matches!(unwatched, BalanceError::Discovery(_)) && unwatched.status() == StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn who_calls_a_service_as_if_it_were_a_host_is_told_what_makes_it_one() {
    let kinds = |uri: &str| match uri.ends_with("/late") {
        true => std::io::ErrorKind::TimedOut,
        false => std::io::ErrorKind::ConnectionRefused,
    };
    let refusing = move |request: Request<String>| std::future::ready(Answer::Err(kinds(request.uri().path()).into()));
    let directory = listing(ServiceSettings::default(), []);
    let service = BalanceLayer::new(&directory).layer(Strict::new(1, refusing));
    for (uri, meant) in [
        ("http://order-service/x?token=t", Some("order-service")),
        ("https://Order_Service:8443/", Some("Order_Service")),
        ("http://order-service/late", None),
        ("http://localhost/", None),
        ("http://127.0.0.1:1/", None),
        ("http://[::1]:1/", None),
        ("http://orders.example.org/", None),
    ] {
        let answer = send(&service, Request::get(uri).body(String::new()).unwrap()).await;
        let error = answer.map(|_: Response<_>| ()).unwrap_err();
        let BalanceError::Inner { host, instance: None, .. } = &error else { panic!("{uri}: {error:?}") };
        assert_eq!(host.as_deref(), meant, "{uri}");
        let hint = meant.map(|host| format!("if {host} is a service, write lb://{host}/"));
        let text = error.to_string();
        assert_eq!(text.contains("lb://"), hint.is_some(), "{text}");
        assert!(hint.is_none_or(|hint| text.contains(&hint)) && !text.contains("token"), "{text}");
    }
}
