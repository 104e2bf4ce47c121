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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tower_service::Service;

    #[tokio::test]
    async fn a_request_is_under_way_until_its_body_is_sent_or_given_up() {
        let traffic = Traffic::new();
        let mut app = counted(Router::new().route("/", get(|| async { "here" })), traffic.clone());
        for whole in [true, false] {
            let answer = app.call(Request::new(Body::empty())).await.unwrap();
            assert_eq!(traffic.under_way(), 1, "its body is still to be sent");
            let body = answer.into_body();
            if whole {
                assert_eq!(axum::body::to_bytes(body, 10).await.unwrap(), "here");
            } else {
                drop(body);
            }
            assert_eq!(traffic.under_way(), 0);
        }
    }
}
