use std::borrow::Cow;

use super::sight::Sight;
use super::watched_headers::WatchedHeader;
use super::{cookies, limits, query};
use crate::route::RequestTags;

/// Finds a part of requests. What is longer than its limit is not there.
#[derive(Debug)]
pub(super) enum Reader {
    Header(WatchedHeader),
    Query(String),
    Cookie { lines: WatchedHeader, name: String },
    Tag(String),
    Path,
    Method,
}

impl Reader {
    /// Whether this holds for one of its values.
    pub(super) fn any(&self, sight: &Sight<'_>, mut holds: impl FnMut(&[u8]) -> bool) -> bool {
        self.values(sight, |value| holds(&value).then_some(())).is_some()
    }

    /// The first of its values that is a text, and not empty.
    pub(super) fn first<'a>(&self, sight: &Sight<'a>) -> Option<Cow<'a, str>> {
        self.values(sight, |value| text(value).filter(|text| !text.is_empty()))
    }

    /// The first of its values that `find` finds something in.
    fn values<'a, R>(&self, sight: &Sight<'a>, mut find: impl FnMut(Cow<'a, [u8]>) -> Option<R>) -> Option<R> {
        let mut short = |value: Cow<'a, [u8]>| if value.len() > limits::VALUE { None } else { find(value) };
        match self {
            Self::Header(header) => sight.in_header(header, |value| short(Cow::Borrowed(value))),
            Self::Query(name) => query::values(sight.head.uri.query()?, name).find_map(short),
            Self::Cookie { lines, name } => {
                sight.in_header(lines, |line| cookies::values(line, name).map(Cow::Borrowed).find_map(&mut short))
            }
            Self::Tag(name) => short(Cow::Borrowed(sight.head.extensions.get::<RequestTags>()?.get(name)?.as_bytes())),
            Self::Path => Some(sight.head.uri.path())
                .filter(|path| path.len() <= limits::PATH)
                .and_then(|path| find(path.as_bytes().into())),
            Self::Method => short(Cow::Borrowed(sight.head.method.as_str().as_bytes())),
        }
    }
}

fn text(bytes: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match bytes {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}
