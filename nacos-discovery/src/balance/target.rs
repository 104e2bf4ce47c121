use http::Uri;

use super::BadTarget;

/// Which service a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Destination<'a> {
    /// A service of the configured group.
    Named(&'a str),
    /// Nothing of ours: it goes where it says.
    Elsewhere,
}

/// What the URI says.
pub(super) fn destination(uri: &Uri) -> Result<Destination<'_>, BadTarget> {
    if uri.scheme_str() != Some("lb") {
        return Ok(Destination::Elsewhere);
    }
    match uri.host() {
        Some(name) if !name.is_empty() => Ok(Destination::Named(name)),
        _ => Err(BadTarget::NoService { uri: without_query(uri) }),
    }
}

/// The URI without its query, which may hold secrets.
pub(super) fn without_query(uri: &Uri) -> String {
    let text = uri.to_string();
    text.split('?').next().unwrap_or_default().to_owned()
}
