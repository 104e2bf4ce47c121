use std::borrow::Cow;

use http::HeaderName;

use super::{cookies, limits, query};
use crate::route::{RequestHead, RequestTags};

/// Finds a part of requests. What is longer than its limit is not there.
#[derive(Debug)]
pub(super) enum Reader {
    Header(HeaderName),
    Query(String),
    Cookie(String),
    Tag(String),
    Path,
    Method,
}

impl Reader {
    /// Whether this holds for one of its values.
    pub(super) fn any(&self, head: &RequestHead<'_>, mut holds: impl FnMut(&[u8]) -> bool) -> bool {
        self.values(head, |value| holds(&value).then_some(())).is_some()
    }

    /// The first of its values that is a text, and not empty.
    pub(super) fn first<'a>(&self, head: &RequestHead<'a>) -> Option<Cow<'a, str>> {
        self.values(head, |value| text(value).filter(|text| !text.is_empty()))
    }

    /// The first of its values that `find` finds something in.
    fn values<'a, R>(&self, head: &RequestHead<'a>, mut find: impl FnMut(Cow<'a, [u8]>) -> Option<R>) -> Option<R> {
        let mut short = |value: Cow<'a, [u8]>| if value.len() > limits::VALUE { None } else { find(value) };
        match self {
            Self::Header(name) => {
                head.headers.get_all(name).iter().find_map(|value| short(Cow::Borrowed(value.as_bytes())))
            }
            Self::Query(name) => query::values(head.uri.query()?, name).find_map(short),
            Self::Cookie(name) => cookies::values(head.headers, name).map(Cow::Borrowed).find_map(short),
            Self::Tag(name) => short(Cow::Borrowed(head.extensions.get::<RequestTags>()?.get(name)?.as_bytes())),
            Self::Path => Some(head.uri.path())
                .filter(|path| path.len() <= limits::PATH)
                .and_then(|path| find(path.as_bytes().into())),
            Self::Method => short(Cow::Borrowed(head.method.as_str().as_bytes())),
        }
    }
}

fn text(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}
