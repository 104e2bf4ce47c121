use http::Uri;
use http::uri::PathAndQuery;

use super::BadTarget;
use super::target::without_query;
use crate::Target;

/// The same path and query at another place.
pub(super) fn rewrite(uri: &Uri, target: &Target) -> Result<Uri, BadTarget> {
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(target.scheme.clone());
    parts.authority = Some(target.authority.clone());
    parts.path_and_query = Some(uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/")));
    Uri::from_parts(parts).map_err(|_| BadTarget::Unfit { uri: without_query(uri) })
}
