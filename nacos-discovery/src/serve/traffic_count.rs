use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};

use crate::{InFlight, Traffic};

/// The same application, counting the requests under way: from the head of a request to the last byte of its answer.
pub fn counted(app: Router, traffic: Traffic) -> Router {
    app.layer(from_fn_with_state(traffic, count))
}

async fn count(State(traffic): State<Traffic>, request: Request, next: Next) -> Response {
    let in_flight = traffic.arrived();
    next.run(request).await.map(|body| Body::new(Counted { body, _in_flight: in_flight }))
}

/// A body whose request is under way until it is dropped.
struct Counted {
    body: Body,
    _in_flight: InFlight,
}

impl HttpBody for Counted {
    type Data = <Body as HttpBody>::Data;
    type Error = <Body as HttpBody>::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
