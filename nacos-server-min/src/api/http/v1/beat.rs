use super::asked::{Asked, Outcome, refuse};
use super::refusal;
use crate::api::http::beat::{self, Beat, BeatError};
use crate::api::http::reply::filtered;
use crate::context::Context;

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
