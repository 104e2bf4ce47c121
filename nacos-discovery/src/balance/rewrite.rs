use std::mem;

use http::header::{Entry, HOST};
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Request, Uri};

use super::target::Form;
use crate::{Endpoints, ForwardedHeaders, HostHeader, Target};

const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Turns a request to a service into one to an instance: another scheme and authority, the same path and query byte for
/// byte, and the headers that the settings ask for.
pub(super) fn rewrite<B>(request: &mut Request<B>, form: Form, target: &Target, endpoints: &Endpoints) {
    let mut parts = mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(form.scheme(&target.scheme));
    parts.authority = Some(target.authority.clone());
    parts.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from_parts(parts).expect("scheme, authority and path are all there");

    let rules = endpoints.settings().requests();
    // A name that no header can hold is left out.
    let name = || HeaderValue::from_str(endpoints.service().name()).ok();
    if rules.host_header == HostHeader::Service {
        add(request, HOST, name());
    }
    if rules.forwarded_headers == ForwardedHeaders::HostAndProto {
        add(request, FORWARDED_HOST, name());
        add(request, FORWARDED_PROTO, Some(HeaderValue::from_static(form.asked(&target.scheme))));
    }
}

/// Unless it is there already.
fn add<B>(request: &mut Request<B>, name: HeaderName, value: Option<HeaderValue>) {
    if let (Entry::Vacant(vacant), Some(value)) = (request.headers_mut().entry(name), value) {
        vacant.insert(value);
    }
}
