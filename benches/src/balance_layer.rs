//! What the layers add to a call of a service that does nothing.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response, Uri};
use http_body_util::{Empty, Full};
use nacos_client::Instance;
use nacos_discovery::{BalanceLayer, BalanceSettings, Directory, InMemoryDiscovery, RetryNextLayer};
use tokio::runtime::Runtime;
use tower::balance::p2c;
use tower::discover::Change;
use tower::load::{CompleteOnResponse, PeakEwma};
use tower_layer::Layer;
use tower_service::Service;

use super::balance_matrix::Matrix;
use super::pick::{allocations, nanoseconds};
use super::{Failure, Scale};

const SERVICE: &str = "orders";
const INSTANCES: u16 = 10;

/// Time and allocations that the layers add to a call that is answered at once.
pub(crate) fn around_nothing(runtime: &Runtime, scale: Scale) -> Result<Matrix, Failure> {
    let columns = ["ns", "added ns", "allocations", "added allocations"];
    let mut matrix = Matrix::new("A call of a service that does nothing, through the layers", columns);
    let _entered = runtime.enter();
    let layer = runtime.block_on(known(1..=INSTANCES))?;
    let retry = RetryNextLayer::above(&layer);
    let bare = measure(scale, Nothing, empty);
    let balanced = measure(scale, layer.layer(Nothing), empty);
    let repeating = measure(scale, retry.layer(layer.layer(Nothing)), empty);
    let tower = measure(scale, tower_balance(), empty);
    let bare_body = measure(scale, Nothing, full);
    let balanced_body = measure(scale, layer.layer(Nothing), full);
    let repeating_body = measure(scale, retry.layer(layer.layer(Nothing)), full);
    for (name, seen, base, target) in [
        ("GET, bare", bare, bare, "–"),
        ("GET, `BalanceLayer`", balanced, bare, "≤ 1 000 ns added"),
        ("GET, `RetryNextLayer` on `BalanceLayer`", repeating, bare, "–"),
        ("… what `RetryNextLayer` adds to `BalanceLayer`", repeating, balanced, "–"),
        ("GET, `p2c::Balance` of tower 0.5.3 with `PeakEwma`", tower, bare, "–"),
        ("PUT of 64 bytes, bare", bare_body, bare_body, "–"),
        ("PUT, `BalanceLayer`", balanced_body, bare_body, "≤ 1 000 ns added"),
        ("PUT, `RetryNextLayer` on `BalanceLayer`", repeating_body, bare_body, "–"),
    ] {
        matrix.push(name, [seen.0, seen.0 - base.0, seen.1, seen.1 - base.1], target);
    }
    Ok(matrix)
}

/// A layer whose only service has instances on these ports, which are known already.
pub(crate) async fn known(ports: impl IntoIterator<Item = u16>) -> Result<BalanceLayer, Failure> {
    let instances = ports.into_iter().map(|port| Instance::new(("127.0.0.1", port)));
    let source = InMemoryDiscovery::new().with(SERVICE, instances);
    let directory = Directory::new(Arc::new(source), BalanceSettings::default());
    directory.endpoints_named("", SERVICE)?.ready().await?;
    Ok(BalanceLayer::new(directory))
}

/// Answers at once.
#[derive(Debug, Clone, Copy)]
struct Nothing;

impl<B> Service<Request<B>> for Nothing {
    type Response = Response<Empty<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        ready(Ok(Response::new(Empty::new())))
    }
}

pub(crate) fn empty(uri: Uri) -> Request<Empty<Bytes>> {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = uri;
    request
}

fn full(uri: Uri) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(Bytes::from_static(&[b'x'; 64])));
    *request.method_mut() = http::Method::PUT;
    *request.uri_mut() = uri;
    request
}

/// Nanoseconds and allocations of a call, the making of its request included.
fn measure<S, B>(scale: Scale, service: S, request: fn(Uri) -> Request<B>) -> (f64, f64)
where
    S: Service<Request<B>>,
{
    let uri = Uri::from_static("lb://orders/v1/orders/7?full=true");
    let service = RefCell::new(service);
    let call = || {
        let mut service = service.borrow_mut();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(matches!(service.poll_ready(&mut cx), Poll::Ready(Ok(()))), "nothing is waited for");
        let answer = pin!(service.call(request(uri.clone()))).poll(&mut cx);
        assert!(matches!(answer, Poll::Ready(Ok(_))), "every call is answered at once");
    };
    (nanoseconds(scale, call), allocations(call))
}

/// The peer over as many services; nothing queues before it.
fn tower_balance() -> impl Service<Request<Empty<Bytes>>> {
    let make = |number| {
        let service = PeakEwma::new(Nothing, Duration::from_millis(1), 10e9, CompleteOnResponse::default());
        Ok::<_, Infallible>(Change::Insert(number, service))
    };
    p2c::Balance::new(stream::iter((1..=INSTANCES).map(make)))
}
