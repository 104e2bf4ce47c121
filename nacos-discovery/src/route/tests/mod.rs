//! Rules and requests, without instances.

mod any_document;
mod conditions;
mod documents;
mod dry_run;
mod goals;
mod hostile;
mod refusals;
mod round_trip;
mod schema;
mod shares;
mod warnings;

use http::Request;

use super::*;

/// A request without a body.
pub(super) fn get(uri: &str) -> Request<()> {
    Request::get(uri).body(()).expect("a request")
}

/// The same with another header.
pub(super) fn with(mut request: Request<()>, name: &'static str, value: &[u8]) -> Request<()> {
    request.headers_mut().append(name, http::HeaderValue::from_bytes(value).expect("a header"));
    request
}

/// The router of these rules.
pub(super) fn router(rules: impl IntoIterator<Item = Rule>) -> Router {
    let rules = rules.into_iter().fold(RouteRules::new(), RouteRules::with_rule);
    Router::new(&rules).expect("rules that can be used")
}

/// A label of one version.
pub(super) fn version(value: &str) -> Label {
    Label::new("version", value)
}

/// Whether a rule with this condition applies to the request.
pub(super) fn holds(subject: Subject, test: Test, request: &Request<()>) -> bool {
    let router = router([Rule::new("one").when(subject, test).to(version("v2"))]);
    router.route(&RequestHead::from(request), || unreachable!("nothing is drawn")).rule.is_some()
}
