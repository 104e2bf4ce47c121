use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use proptest::prelude::*;
use tower_layer::Layer;
use tower_service::Service;

use super::*;

fn labels() -> Propagation {
    Propagation::headers(["X-Version", "x-tenant"]).unwrap()
}

fn request(headers: &[(&'static str, &'static str)]) -> Request<()> {
    let mut request = Request::new(());
    for (name, value) in headers {
        request.headers_mut().append(*name, HeaderValue::from_static(value));
    }
    request
}

fn texts(headers: &HeaderMap, name: &str) -> Vec<String> {
    headers.get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect()
}

/// A handler that answers with the version it knows when it is called, and when its body is read.
#[derive(Clone)]
struct Handler;

impl Service<Request<()>> for Handler {
    type Response = Response<Told>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Told>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        let own = request.extensions().get::<Propagated>().cloned();
        assert_eq!(own, Some(Propagated::current()), "the extension and the task say the same");
        ready(Ok(Response::new(Told { called: version() })))
    }
}

struct Told {
    called: Option<String>,
}

impl Body for Told {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        assert_eq!(version(), self.called, "the body is made for the same request");
        Poll::Ready(None)
    }
}

fn version() -> Option<String> {
    Propagated::current().get("x-version").map(|value| value.to_str().unwrap().to_owned())
}

#[test]
fn only_headers_that_mean_the_same_elsewhere_are_taken() {
    let named = |name: &str| Propagation::headers([name]).map(|_| ()).unwrap_err();
    for name in
        ["host", "Connection", "keep-alive", "transfer-encoding", "TE", "upgrade", "trailer", "proxy-authorization"]
    {
        let error = PropagationError::Connection { name: name.parse().unwrap() };
        assert_eq!(named(name), error);
        assert_eq!(labels().with_credentials([name]).unwrap_err(), error, "not as a credential either");
    }
    for name in ["content-length", "Content-Type", "expect", "range", "if-match", "accept-encoding", "grpc-timeout"] {
        assert_eq!(named(name), PropagationError::Message { name: name.parse().unwrap() });
    }
    for name in ["", "x version", "x-ä", ":authority", "a\nb"] {
        assert_eq!(named(name), PropagationError::Name { name: name.to_owned() });
    }
    for name in ["authorization", "Cookie"] {
        assert_eq!(named(name), PropagationError::Credentials { name: name.parse().unwrap() });
        assert!(labels().with_credentials([name]).is_ok());
    }
    for name in ["x-version", "traceparent", "baggage", "X-B3-TraceId", "accept-language"] {
        assert!(Propagation::headers([name]).is_ok(), "{name}");
    }
}

#[test]
fn credentials_are_passed_on_and_shown_to_nobody() {
    let propagation = labels().with_credentials(["authorization"]).unwrap();
    let incoming = request(&[("authorization", "Bearer secret"), ("x-version", "v2")]);
    let propagated = propagation.of(incoming.headers());
    assert!(!format!("{propagated:?}").contains("secret"));
    assert!(format!("{propagated:?}").contains("v2"));
    let mut outgoing = request(&[]);
    outgoing.extensions_mut().insert(propagated);
    propagation.add_to(&mut outgoing);
    assert_eq!(outgoing.headers()["authorization"], "Bearer secret");
    assert!(outgoing.headers()["authorization"].is_sensitive());
    assert!(labels().of(incoming.headers()).get("authorization").is_none());
}

#[test]
fn a_header_is_passed_on_whole_or_not_at_all_and_what_is_not_is_counted() {
    let propagation = labels();
    let clone = propagation.clone();
    let mut headers = HeaderMap::new();
    headers.append("x-version", HeaderValue::from_str(&"v".repeat(256)).unwrap());
    headers.append("x-version", HeaderValue::from_static("v 2\t"));
    headers.append("x-tenant", HeaderValue::from_static("acme"));
    headers.append("x-tenant", HeaderValue::from_str(&"t".repeat(257)).unwrap());
    let kept = propagation.of(&headers);
    assert_eq!(kept.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["x-version"; 2]);
    assert_eq!(kept.get("X-Version").map(HeaderValue::len), Some(256));
    assert_eq!(propagation.dropped(), 1);

    headers.insert("x-version", HeaderValue::from_bytes("vé".as_bytes()).unwrap());
    headers.insert("x-tenant", HeaderValue::from_static(""));
    let kept = propagation.of(&headers);
    assert_eq!((kept.get("x-version"), kept.get("x-tenant")), (None, Some(&HeaderValue::from_static(""))));
    assert_eq!(clone.dropped(), 2, "clones count together");

    let short = labels().with_max_bytes(1);
    assert!(short.of(request(&[("x-version", "v2")]).headers()).is_empty());
    assert_eq!(short.dropped(), 1);
}

#[test]
fn what_a_request_says_itself_stays_and_its_extension_counts_more_than_the_task() {
    let propagation = labels();
    let of_task = propagation.of(request(&[("x-version", "task"), ("x-tenant", "task")]).headers());
    let own = propagation.of(request(&[("x-version", "a"), ("x-version", "b")]).headers());
    current::during(&of_task, || {
        let mut said = request(&[("x-version", "said")]);
        propagation.add_to(&mut said);
        assert_eq!(texts(said.headers(), "x-version"), ["said"]);
        assert_eq!(texts(said.headers(), "x-tenant"), ["task"]);

        let mut extended = request(&[]);
        extended.extensions_mut().insert(own.clone());
        propagation.add_to(&mut extended);
        assert_eq!(texts(extended.headers(), "x-version"), ["a", "b"]);
        assert!(texts(extended.headers(), "x-tenant").is_empty(), "one source, not two");

        let mut other = request(&[]);
        Propagation::headers(["x-tenant"]).unwrap().add_to(&mut other);
        assert_eq!(other.headers().len(), 1, "only the names of who adds");
    });
    let mut outside = request(&[]);
    propagation.add_to(&mut outside);
    assert!(outside.headers().is_empty() && Propagated::current().is_empty());
}

#[tokio::test]
async fn a_handler_and_the_body_of_its_answer_know_their_own_request() {
    let mut server = labels().incoming().layer(Handler);
    let outside = labels().of(request(&[("x-version", "outside")]).headers());
    let work = async {
        for (incoming, expected) in [(request(&[("x-version", "v2")]), Some("v2")), (request(&[]), None)] {
            let response = server.call(incoming).await.unwrap();
            assert_eq!(response.body().size_hint().lower(), 0);
            let mut body = Box::pin(response.into_body());
            assert!(poll_fn(|cx| body.as_mut().poll_frame(cx)).await.is_none());
            let Told { called } = Pin::into_inner(body).into_inner();
            assert_eq!(called.as_deref(), expected);
            assert_eq!(version().as_deref(), Some("outside"), "and afterwards the task is as it was");
        }
    };
    outside.scope(work).await;
}

#[tokio::test]
async fn what_is_spawned_takes_them_along_if_it_is_told_to() {
    let propagated = labels().of(request(&[("x-version", "v2")]).headers());
    let (scoped, bare) = propagated
        .scope(async {
            let scoped = tokio::spawn(Propagated::current().scope(async { version() }));
            (scoped.await.unwrap(), tokio::spawn(async { version() }).await.unwrap())
        })
        .await;
    assert_eq!((scoped.as_deref(), bare), (Some("v2"), None));
}

proptest! {
    #[test]
    fn no_name_and_no_value_of_a_stranger_is_a_panic(name in "[a-z-]{1,9}|.{0,40}", value in prop::collection::vec(any::<u8>(), 0..600)) {
        let Ok(propagation) = Propagation::headers([&name]).and_then(|p| p.with_credentials([&name])) else {
            return Ok(());
        };
        let Ok(value) = HeaderValue::from_bytes(&value) else { return Ok(()) };
        let mut headers = HeaderMap::new();
        headers.insert(http::HeaderName::try_from(&name).unwrap(), value.clone());
        let kept = propagation.of(&headers);
        let fits = value.len() <= 256 && value.to_str().is_ok();
        prop_assert_eq!(kept.get(&name).is_some(), fits);
        prop_assert_eq!(propagation.dropped(), u64::from(!fits));
    }
}
