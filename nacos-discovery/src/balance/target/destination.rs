use http::Uri;
use nacos_client::ServiceKey;

use super::Form;

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::balance) enum Destination<'a> {
    /// To an instance of a service.
    Service(Named<'a>, Form),
    /// It has nothing to do with a service, and goes where it says.
    Elsewhere,
}

/// The service that is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::balance) enum Named<'a> {
    /// In the group of the layer.
    Name(&'a str),
    Key(&'a ServiceKey),
}

/// The URI without user info and query, which may hold secrets.
pub(in crate::balance) fn shown(uri: &Uri) -> String {
    let scheme = uri.scheme_str().map(|scheme| format!("{scheme}://")).unwrap_or_default();
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    format!("{scheme}{place}{}", uri.path())
}

/// The host of a URI if it is one that services have rather than machines elsewhere: without a dot, and no address.
pub(in crate::balance) fn bare_host(uri: &Uri) -> Option<&str> {
    uri.host().filter(|host| !host.contains(['.', '[']) && !host.eq_ignore_ascii_case("localhost"))
}
