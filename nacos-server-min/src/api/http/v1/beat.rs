use axum::http::{Method, Request};
use axum::response::Response;

use super::asked::{Asked, Outcome, refuse};
use super::{gate, refusal};
use crate::api::http::beat::{self, Beat, BeatError};
use crate::api::http::negotiate::Wanted;
use crate::api::http::reply::{self, filtered};
use crate::context::Context;

/// The answer to a beat that says everything in its query, as light ones do; `None` for every other request. It is the same as the router's, and
/// found without it: beats are what a server of 1.x clients does most, and the way through the layers of a router costs more than the beat.
pub(in crate::api::http) fn at_once<B: http_body::Body>(context: &Context, request: &Request<B>) -> Option<Response> {
    if request.uri().path() != PATH || request.method() != Method::PUT || !request.body().is_end_stream() {
        return None;
    }
    context.counters.http_requests.add();
    let answer =
        gate::refused(context, request).unwrap_or_else(|| reply::settle(take(context, &Asked::without_body(request))));
    Some(Wanted::of(request.headers()).shape(answer))
}

const PATH: &str = "/nacos/v1/ns/instance/beat";

/// `PUT /v1/ns/instance/beat`
pub(super) fn take(context: &Context, asked: &Asked) -> Outcome {
    let service = asked.service()?;
    let (ip, port) = asked.optional_address()?;
    let cluster = asked.cluster(&["clusterName"])?;
    let json = asked.get("beat").unwrap_or_default();
    beat::take(context, &service, &Beat { ip, port, cluster, json }).map_err(|error| match error {
        BeatError::Unreadable => refuse(beat::UNREADABLE),
        BeatError::Param(error) => filtered(&error),
        BeatError::Op(error, kind) => refusal::of(&error, &service, kind),
    })
}
