//! Calls that fail: which are repeated, with what, and what the caller gets. Over real sockets.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use http::{HeaderName, Method, Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use nacos_discovery::{
    Balance, BalanceError, BalanceLayer, Directory, EjectSettings, EjectionState, Idempotent, ReplayBody, RetryNext,
    RetryNextLayer, RetrySettings, ServiceSettings, TransportFailure,
};
use nacos_tests::wait::{eventually, in_time};
use tokio::sync::oneshot;
use tower_layer::Layer;

use crate::calling::*;
use crate::fault_server::{Behaviour, FaultServer, Refusing};

type Stack<B> = RetryNext<Balance<Timed<Client<HttpConnector, ReplayBody<B>>>>>;

/// Short enough not to delay a test in which it passes, long enough for a call of this machine that is answered.
const ATTEMPT: Duration = Duration::from_millis(500);
const LIMIT: usize = 64 * 1024;

fn stack<B>(directory: &Directory) -> Stack<B>
where
    B: Body + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    ReplayBody<B>: Unpin,
{
    let balance = BalanceLayer::new(directory);
    RetryNextLayer::above(&balance).layer(balance.layer(Timed { inner: hyper_client(), limit: ATTEMPT }))
}

fn with(retry: RetrySettings) -> ServiceSettings {
    ServiceSettings::default().with_retry(retry)
}

fn request<B>(method: Method, body: B) -> Request<B> {
    let uri = format!("lb://{CALLED}/orders/7?a=%20b");
    Request::builder().method(method).uri(uri).header("x-tenant", "t1").body(body).expect("a request")
}

fn text(body: &'static str) -> Full<Bytes> {
    Full::new(Bytes::from_static(body.as_bytes()))
}

/// What a call ended with: the status and the whole body, or `None` for an error of either.
async fn outcome<R: Body>(result: Result<Response<R>, BalanceError>) -> Option<(StatusCode, Bytes)> {
    let response = result.ok()?;
    let status = response.status();
    let body = in_time("the body", response.into_body().collect()).await.ok()?;
    Some((status, body.to_bytes()))
}

fn ok(body: &str) -> Behaviour {
    Behaviour::Answer(200, body.into())
}

/// Every failure that comes after the first byte of a request and before the head of an answer is whole.
fn failures() -> Vec<Behaviour> {
    let statuses = [502, 503, 504].map(|status| Behaviour::Answer(status, b"failed".to_vec()));
    [Behaviour::Reset, Behaviour::Stall, Behaviour::CutHead].into_iter().chain(statuses).collect()
}

#[tokio::test]
async fn sc13_a_post_is_sent_at_most_once_after_its_first_byte() {
    for failure in failures().into_iter().chain([Behaviour::CutBody]) {
        let servers = [FaultServer::start(failure.clone()).await, FaultServer::start(failure.clone()).await];
        let directory = directory(servers.iter().map(FaultServer::instance), ServiceSettings::default());
        let mut client = stack(&directory);
        let result = in_time("the result", send(&mut client, request(Method::POST, text("once")))).await;
        let told = outcome(result).await;
        match failure {
            Behaviour::Answer(status, _) => assert_eq!(told.unwrap().0, status),
            _ => assert_eq!(told, None, "{failure:?}"),
        }
        assert_eq!(servers.iter().map(FaultServer::touched).sum::<usize>(), 1, "{failure:?}");
        assert_eq!(in_flight(&directory), 0, "{failure:?}");
    }
}

#[tokio::test]
async fn sc13_a_post_whose_connection_is_refused_is_sent_to_another_instance() {
    let refusing = Refusing::new();
    let good = FaultServer::start(ok("stored")).await;
    let directory = directory([preferred(refusing.instance()), spare(good.instance())], ServiceSettings::default());
    let mut client = stack(&directory);
    let result = in_time("the result", send(&mut client, request(Method::POST, text("once")))).await;
    assert_eq!(outcome(result).await.unwrap(), (StatusCode::OK, "stored".into()));
    let received = good.received();
    assert_eq!((received.len(), &received[0].method, &received[0].body[..]), (1, &Method::POST, &b"once"[..]));
    assert_eq!(received[0].headers["x-tenant"], "t1");
    assert_eq!(received[0].headers["host"], good.address().to_string());
}

/// A call to a service whose preferred instance fails so.
async fn with_a_spare(failure: &Behaviour, retry: RetrySettings, method: Method) -> (StatusCode, FaultServer) {
    let bad = FaultServer::start(failure.clone()).await;
    let good = FaultServer::start(ok("here")).await;
    let directory = directory([preferred(bad.instance()), spare(good.instance())], with(retry));
    let mut client = stack(&directory);
    let result = in_time("the result", send(&mut client, request(method, text("again")))).await;
    assert_eq!(bad.touched(), 1, "{failure:?}");
    (result.map_or(StatusCode::IM_A_TEAPOT, |response| response.status()), good)
}

#[tokio::test]
async fn sc13_a_get_is_repeated_on_another_instance() {
    for failure in failures() {
        let (status, good) = with_a_spare(&failure, RetrySettings::default(), Method::GET).await;
        let received = good.received();
        assert_eq!((status, received.len()), (StatusCode::OK, 1), "{failure:?}");
        assert_eq!((&received[0].method, &received[0].body[..]), (&Method::GET, &b"again"[..]));
    }
}

#[tokio::test]
async fn sc13_with_all_methods_a_post_is_repeated_with_its_whole_body() {
    for failure in failures() {
        let (status, good) = with_a_spare(&failure, RetrySettings::default().all_methods(), Method::POST).await;
        let received = good.received();
        assert_eq!((status, received.len()), (StatusCode::OK, 1), "{failure:?}");
        assert_eq!((&received[0].method, &received[0].body[..]), (&Method::POST, &b"again"[..]));
    }
}

#[tokio::test]
async fn put_and_delete_are_repeated_where_they_are_said_to_do_no_harm() {
    for (method, repeated) in [(Method::PUT, true), (Method::DELETE, true), (Method::POST, false)] {
        let (status, _good) =
            with_a_spare(&Behaviour::Answer(503, vec![]), RetrySettings::default().idempotent(), method.clone()).await;
        assert_eq!(status == StatusCode::OK, repeated, "{method}");
    }
}

#[tokio::test]
async fn a_request_says_of_itself_that_it_may_be_repeated() {
    let key = HeaderName::from_static("idempotency-key");
    let told = RetrySettings::default().with_idempotency_header(key.clone());
    for (settings, header, extension, repeated) in [
        (RetrySettings::default(), false, true, true),
        (told.clone(), true, false, true),
        (told, false, false, false),
        (RetrySettings::default(), true, false, false),
    ] {
        let bad = FaultServer::start(Behaviour::Answer(503, vec![])).await;
        let good = FaultServer::start(ok("here")).await;
        let directory = directory([preferred(bad.instance()), spare(good.instance())], with(settings));
        let mut request = request(Method::POST, text("again"));
        if header {
            request.headers_mut().insert(key.clone(), "8e03978e".parse().unwrap());
        }
        if extension {
            request.extensions_mut().insert(Idempotent::new());
        }
        let response = in_time("the result", send(&mut stack(&directory), request)).await.unwrap();
        assert_eq!(response.status() == StatusCode::OK, repeated, "header {header}, extension {extension}");
    }
}

#[tokio::test]
async fn sc13_a_response_that_was_handed_out_is_never_repeated() {
    let bad = FaultServer::start(Behaviour::CutBody).await;
    let good = FaultServer::start(ok("here")).await;
    let settings = with(RetrySettings::default().all_methods());
    let directory = directory([preferred(bad.instance()), spare(good.instance())], settings);
    let response = in_time("the head", send(&mut stack(&directory), request(Method::GET, text("")))).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(in_time("the body", response.into_body().collect()).await.is_err());
    assert_eq!((bad.touched(), good.touched()), (1, 0));
}

/// A body that comes in pieces and does not say how long it is.
fn streaming(size: usize) -> impl Body<Data = Bytes, Error = io::Error> + Send + Unpin + 'static {
    let all = Bytes::from((0..size).map(|at| at as u8).collect::<Vec<_>>());
    let pieces = (0..size).step_by(4096).map(move |at| all.slice(at..size.min(at + 4096)));
    StreamBody::new(stream::iter(pieces).map(|piece| Ok::<_, io::Error>(Frame::data(piece))))
}

#[tokio::test]
async fn sc13_an_upload_is_repeated_up_to_64_kib_and_sent_once_beyond() {
    for (size, repeated) in [(0, true), (4096, true), (LIMIT, true), (LIMIT + 1, false), (20 * LIMIT, false)] {
        let bad = FaultServer::start(Behaviour::Answer(503, b"no".to_vec())).await;
        let good = FaultServer::start(ok("stored")).await;
        let settings = with(RetrySettings::default().idempotent());
        let directory = directory([preferred(bad.instance()), spare(good.instance())], settings);
        let result = in_time("the result", send(&mut stack(&directory), request(Method::PUT, streaming(size)))).await;
        let status = outcome(result).await.unwrap().0;
        assert_eq!(status == StatusCode::OK, repeated, "{size}");
        let expected: Vec<u8> = (0..size).map(|at| at as u8).collect();
        assert_eq!((bad.touched(), good.touched()), (1, usize::from(repeated)), "{size}");
        assert!(bad.received().iter().chain(&good.received()).all(|received| received.body == expected), "{size}");
    }
}

#[tokio::test]
async fn sc13_an_upload_of_which_nothing_was_read_goes_elsewhere_whatever_its_size() {
    let refusing = Refusing::new();
    let good = FaultServer::start(ok("stored")).await;
    let directory = directory([preferred(refusing.instance()), spare(good.instance())], ServiceSettings::default());
    let upload = request(Method::POST, streaming(20 * LIMIT));
    let result = in_time("the result", send(&mut stack(&directory), upload)).await;
    assert_eq!(outcome(result).await.unwrap().0, StatusCode::OK);
    assert_eq!(good.received()[0].body.len(), 20 * LIMIT);
}

#[tokio::test]
async fn an_upload_that_is_answered_before_its_end_goes_on_at_the_next_instance() {
    let bad = FaultServer::start(Behaviour::Early(503)).await;
    let good = FaultServer::start(ok("stored")).await;
    let settings = with(RetrySettings::default().idempotent());
    let directory = directory([preferred(bad.instance()), spare(good.instance())], settings);
    let (rest, later) = oneshot::channel();
    let rest_of_it = stream::once(async move { later.await.expect("the rest is sent") });
    let pieces = stream::iter([Bytes::from_static(b"first, ")]).chain(rest_of_it);
    let body = StreamBody::new(Box::pin(pieces.map(|piece| Ok::<_, io::Error>(Frame::data(piece)))));
    let mut client = stack(&directory);
    let call = tokio::spawn(async move { send(&mut client, request(Method::PUT, body)).await.map(|r| r.status()) });
    nacos_tests::wait::wait_until("the second attempt", || good.touched() == 1).await;
    rest.send(Bytes::from_static(b"and last")).expect("the body is still there");
    assert_eq!(in_time("the result", call).await.unwrap().unwrap(), StatusCode::OK);
    assert_eq!(good.received()[0].body, b"first, and last");
}

#[tokio::test]
async fn a_body_in_memory_is_repeated_whatever_its_size() {
    let bad = FaultServer::start(Behaviour::Answer(503, vec![])).await;
    let good = FaultServer::start(ok("stored")).await;
    let settings = with(RetrySettings::default().idempotent());
    let directory = directory([preferred(bad.instance()), spare(good.instance())], settings);
    let whole = Full::new(Bytes::from(vec![7; 20 * LIMIT]));
    let result = in_time("the result", send(&mut stack(&directory), request(Method::PUT, whole))).await;
    assert_eq!(outcome(result).await.unwrap().0, StatusCode::OK);
    assert_eq!(good.received()[0].body, vec![7; 20 * LIMIT]);
    assert_eq!(good.received()[0].headers["content-length"], (20 * LIMIT).to_string());
}

#[tokio::test]
async fn the_last_response_is_handed_out_untouched() {
    let large: Vec<u8> = (0..3 * LIMIT).map(|at| at as u8).collect();
    let first = FaultServer::start(Behaviour::Answer(503, b"first".to_vec())).await;
    let last = FaultServer::start(Behaviour::Answer(503, large.clone())).await;
    let directory = directory([preferred(first.instance()), spare(last.instance())], ServiceSettings::default());
    let response = in_time("the result", send(&mut stack(&directory), request(Method::GET, text("")))).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(response.headers()["x-from"], last.address().to_string());
    let body = in_time("the body", response.into_body().collect()).await.unwrap().to_bytes();
    assert_eq!(body, large);
    assert_eq!((first.touched(), last.touched(), in_flight(&directory)), (1, 1, 0));
}

#[tokio::test]
async fn the_last_error_is_the_balancers_own() {
    let refusing = [Refusing::new(), Refusing::new()];
    let directory = directory(refusing.iter().map(Refusing::instance), ServiceSettings::default());
    let error = in_time("the result", send(&mut stack(&directory), request(Method::POST, text("")))).await.unwrap_err();
    assert_eq!(error.failure(), Some(TransportFailure::Connect), "{error:?}");
}

#[tokio::test]
async fn sc14_with_one_instance_its_answer_is_handed_out_untouched() {
    let only = FaultServer::start(Behaviour::Answer(503, b"busy".to_vec())).await;
    let directory = directory([only.instance()], ServiceSettings::default());
    let result = in_time("the result", send(&mut stack(&directory), request(Method::GET, text("")))).await;
    assert_eq!(outcome(result).await.unwrap(), (StatusCode::SERVICE_UNAVAILABLE, "busy".into()));
    assert_eq!((only.touched(), in_flight(&directory)), (1, 0));
}

#[tokio::test]
async fn an_answer_that_nobody_wants_leaves_its_connection_usable_if_it_is_short() {
    for (size, connections) in [(1024, 1), (40 * LIMIT, 2)] {
        let bad = FaultServer::start(Behaviour::Answer(503, vec![b'x'; size])).await;
        let good = FaultServer::start(ok("here")).await;
        let directory = directory([preferred(bad.instance()), spare(good.instance())], ServiceSettings::default());
        let mut client = stack(&directory);
        for call in 1..=2 {
            let result = in_time("the result", send(&mut client, request(Method::GET, text("")))).await;
            assert_eq!(outcome(result).await.unwrap().0, StatusCode::OK);
            assert_eq!(bad.touched(), call);
            eventually("nothing is in flight", async || (in_flight(&directory) == 0).then_some(())).await;
        }
        assert_eq!(bad.connections(), connections, "{size}");
    }
}

#[tokio::test]
async fn an_answer_that_nobody_reads_counts_against_its_instance_all_the_same() {
    for retry in [RetrySettings::off(), RetrySettings::default()] {
        // Too large to be read for nothing.
        let bad = FaultServer::start(Behaviour::Answer(503, vec![b'x'; 40 * LIMIT])).await;
        let good = FaultServer::start(ok("here")).await;
        let settings = with(retry).with_ejection(Some(EjectSettings::default().with_consecutive_failures(1)));
        let directory = directory([preferred(bad.instance()), spare(good.instance())], settings);
        drop(in_time("the result", send(&mut stack(&directory), request(Method::GET, text("")))).await.unwrap());
        assert_eq!(bad.touched(), 1);
        eventually("it is ejected", async || {
            let all = called(&directory).all();
            all.iter().any(|endpoint| matches!(endpoint.ejection(), EjectionState::Ejected { .. })).then_some(())
        })
        .await;
    }
}

/// One of three instances refuses connections and one never answers: the calls of eight callers succeed all the same.
#[tokio::test]
async fn b07_dead_instances_cost_no_call() {
    let good = FaultServer::start(ok("here")).await;
    let refusing = Refusing::new();
    let silent = FaultServer::start(Behaviour::Stall).await;
    let settings = with(RetrySettings::default().with_attempts(3))
        .with_ejection(Some(EjectSettings::default().with_max_share(0.7)));
    let directory = directory([good.instance(), refusing.instance(), silent.instance()], settings);
    let client = stack(&directory);
    let callers = (0..8).map(|_| {
        let mut client = client.clone();
        async move {
            let mut failed = 0;
            for _ in 0..250 {
                let result = send(&mut client, request(Method::GET, text(""))).await;
                failed += u32::from(outcome(result).await.is_none_or(|(status, _)| status != StatusCode::OK));
            }
            failed
        }
    });
    let failed: u32 = in_time("all calls", join_all(callers)).await.into_iter().sum();
    assert!(failed < 2, "{failed} of 2000 calls failed");
    assert_eq!((good.received().len() as u32, in_flight(&directory)), (2000 - failed, 0));
    assert!(silent.touched() < 40, "{} calls went to the silent one", silent.touched());
}

#[tokio::test]
async fn b07_an_instance_that_fails_at_once_does_not_look_fast() {
    let refusing = Refusing::new();
    let good = FaultServer::start(ok("here")).await;
    let directory = directory([preferred(refusing.instance()), spare(good.instance())], ServiceSettings::default());
    let result = in_time("the result", send(&mut stack(&directory), request(Method::GET, text("")))).await;
    assert_eq!(outcome(result).await.unwrap().0, StatusCode::OK);
    let latency = |address: SocketAddr| {
        let all = called(&directory).all();
        let endpoint = all.iter().find(|endpoint| endpoint.instance().port() == address.port()).expect("it is listed");
        endpoint.latency().expect("it was called")
    };
    assert!(latency(refusing.address()) > latency(good.address()));
}

#[tokio::test]
async fn what_goes_to_no_service_is_sent_once() {
    let bad = FaultServer::start(Behaviour::Answer(503, vec![])).await;
    let directory = directory([], ServiceSettings::default());
    let uri = format!("http://{}/", bad.address());
    let request = Request::get(uri).body(text("")).unwrap();
    let response = in_time("the result", send(&mut stack(&directory), request)).await.unwrap();
    assert_eq!((response.status(), bad.touched()), (StatusCode::SERVICE_UNAVAILABLE, 1));
    let nobody = in_time("the result", send(&mut stack(&directory), self::request(Method::GET, text("")))).await;
    assert!(matches!(nobody, Err(BalanceError::NoInstance(_))), "{nobody:?}");
}
