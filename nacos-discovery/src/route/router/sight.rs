use http::HeaderValue;

use super::watched_headers::{WatchedHeader, WatchedHeaders};
use crate::route::RequestHead;

/// What rules see of one request.
#[derive(Debug)]
pub(super) struct Sight<'a> {
    pub(super) head: RequestHead<'a>,
    /// For each place of the watched headers.
    seen: [Seen<'a>; WatchedHeaders::LIMIT],
}

/// How many times a request has a header.
#[derive(Debug, Clone, Copy)]
enum Seen<'a> {
    Never,
    Once(&'a HeaderValue),
    Often,
}

impl<'a> Sight<'a> {
    #[inline]
    pub(super) fn new(head: &RequestHead<'a>, watched: &WatchedHeaders) -> Self {
        let mut seen = [Seen::Never; WatchedHeaders::LIMIT];
        if !watched.is_empty() {
            for (name, value) in head.headers {
                if let Some(seen) = watched.place(name).and_then(|place| seen.get_mut(place)) {
                    *seen = match seen {
                        Seen::Never => Seen::Once(value),
                        Seen::Once(_) | Seen::Often => Seen::Often,
                    };
                }
            }
        }
        Self { head: *head, seen }
    }

    /// The first value of a header that `find` finds something in.
    #[inline]
    pub(super) fn in_header<R>(
        &self,
        header: &WatchedHeader,
        mut find: impl FnMut(&'a [u8]) -> Option<R>,
    ) -> Option<R> {
        match header.place.and_then(|place| self.seen.get(place)) {
            Some(Seen::Never) => None,
            Some(Seen::Once(value)) => find(value.as_bytes()),
            Some(Seen::Often) | None => {
                self.head.headers.get_all(&header.name).iter().find_map(|value| find(value.as_bytes()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, Request};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn headers_are_seen_as_they_are_looked_up(
            watched in prop::collection::vec("[ab]{1,4}", 0..24),
            sent in prop::collection::vec("[abc]{1,4}", 0..12),
        ) {
            let mut watching = WatchedHeaders::default();
            let name = |text: &String| HeaderName::from_bytes(text.as_bytes()).expect("a name");
            let watched: Vec<_> = watched.iter().map(|text| watching.watch(name(text))).collect();
            let mut request = Request::new(());
            for (value, text) in sent.iter().enumerate() {
                request.headers_mut().append(name(text), HeaderValue::from(value));
            }
            let sight = Sight::new(&RequestHead::from(&request), &watching);
            for header in &watched {
                let mut seen = Vec::new();
                let found = sight.in_header(header, |value| {
                    seen.push(value);
                    None::<()>
                });
                prop_assert_eq!(found, None);
                let expected: Vec<_> = request.headers().get_all(&header.name).iter().map(HeaderValue::as_bytes).collect();
                prop_assert_eq!(seen, expected);
            }
        }
    }
}
