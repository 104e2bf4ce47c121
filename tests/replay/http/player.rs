//! A server that plays the recording, and can be told to get one answer wrong: it shows that what is there to see is seen.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use nacos_tests::compare::Kind;
use nacos_tests::vectors::{self, Exchange};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// What is replaced by what in the answer of a call.
type Fault = (&'static str, fn(Response<String>) -> Response<String>);

struct Play {
    address: SocketAddr,
    calls: Vec<Exchange>,
    next: AtomicUsize,
    fault: Option<Fault>,
}

impl Play {
    /// Checks that the call is the recorded one, and answers it as recorded.
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let call = self.calls.get(self.next.fetch_add(1, Ordering::Relaxed)).expect("no call is made twice");
        assert_eq!(request.method().as_str(), call.method, "{}", call.call);
        assert_eq!(request.uri().path(), call.path, "{}", call.call);
        assert_eq!(request.uri().query().unwrap_or_default(), call.query, "{}", call.call);
        for (name, value) in &call.headers {
            assert_eq!(request.headers().get(name).expect("the header").as_bytes(), value.as_bytes(), "{}", call.call);
        }
        let is_form = request
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().ends_with(b"form-urlencoded"));
        assert_eq!(is_form, call.form.is_some(), "{}", call.call);
        let body = request.into_body().collect().await.expect("a body").to_bytes();
        let sent = call.form.as_ref().or(call.body.as_ref()).map(String::as_str).unwrap_or_default();
        assert_eq!(body, sent, "{}", call.call);
        let reply = call.reply().at(self.address);
        let mut response = Response::builder().status(reply.status);
        if let Some(content_type) = &reply.content_type {
            response = response.header(header::CONTENT_TYPE, content_type);
        }
        let response = response.body(reply.body).expect("recorded headers are valid");
        let wrong = self.fault.filter(|(name, _)| *name == call.call);
        wrong.map_or_else(|| response.clone(), |(_, fault)| fault(response.clone())).map(|body| Full::new(body.into()))
    }

    /// Plays until dropped.
    async fn run(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        while let Ok((tcp, _)) = listener.accept().await {
            let play = Arc::clone(&self);
            connections.spawn(async move {
                let service = service_fn(|request| async { Ok::<_, Infallible>(play.answer(request).await) });
                // The caller leaves after one answer.
                drop(http1::Builder::new().serve_connection(TokioIo::new(tcp), service).await);
            });
        }
    }
}

/// What is found at which calls, and how many there were. With a fault, only its group is played.
async fn play(fault: Option<Fault>) -> (Vec<(String, Kind)>, usize) {
    // The page of a status below 200 is no answer in HTTP.
    let mut calls: Vec<Exchange> = vectors::http_2_5_1().into_iter().filter(|call| call.status >= 200).collect();
    if let Some((name, _)) = fault {
        calls.retain(|call| name.starts_with(&format!("{}/", call.group())));
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address: SocketAddr = listener.local_addr().expect("a bound socket has an address");
    let play = Arc::new(Play { address, calls: calls.clone(), next: AtomicUsize::new(0), fault });
    let mut playing = JoinSet::new();
    playing.spawn(play.run(listener));
    let verdicts = super::hold(address, &calls).await;
    let total = verdicts.len();
    let found = verdicts.into_iter().flat_map(|(call, all)| all.into_iter().map(move |d| (call.clone(), d.kind)));
    (found.collect(), total)
}

#[tokio::test]
async fn calls_are_made_as_recorded_and_what_was_answered_is_equal_to_itself() {
    let (found, total) = play(None).await;
    assert!(found.is_empty(), "{found:?}");
    assert!(total > 560, "{total}");
}

#[tokio::test]
async fn one_wrong_answer_is_the_one_that_is_found() {
    fn body(response: Response<String>, from: &str, to: &str) -> Response<String> {
        let wrong = response.map(|body| (body.replace(from, to), body));
        assert_ne!(wrong.body().0, wrong.body().1, "the fault is one");
        wrong.map(|(body, _)| body)
    }
    let faults: [(Fault, Kind); 7] = [
        (("register/minimal-list", |r| body(r, "\"ip\":\"10.1.2.3\"", "\"ip\":\"10.1.2.4\"")), Kind::Value),
        (("register/minimal-list", |r| body(r, "\"weight\":1.0,", "")), Kind::MissingKey),
        (("register/minimal-list", |r| body(r, "\"port\":8080", "\"port\":\"8080\"")), Kind::JsonType),
        (("v2/list", |r| body(r, "\"code\":0", "\"code\":30000")), Kind::Value),
        (("register/minimal", |r| body(r, "ok", "OK")), Kind::Value),
        (
            ("register/minimal", |mut r| {
                r.headers_mut().remove(header::CONTENT_TYPE);
                r
            }),
            Kind::ContentType,
        ),
        (
            ("register/detail-wrong-ip", |mut r| {
                *r.status_mut() = http::StatusCode::BAD_REQUEST;
                r
            }),
            Kind::Status,
        ),
    ];
    for (fault, kind) in faults {
        let (found, _) = play(Some(fault)).await;
        assert_eq!(found, [(fault.0.to_owned(), kind)]);
    }
}
