//! Query parameters, as HTML forms write them.

use std::borrow::Cow;

use memchr::memchr2;
use percent_encoding::percent_decode;

use super::parts::{parted, parts};

/// The values of the parameter of this name. A parameter without `=` has an empty one.
pub(super) fn values<'a>(query: &'a str, name: &str) -> impl Iterator<Item = Cow<'a, [u8]>> {
    parts(query.as_bytes(), b'&').filter_map(move |pair| {
        // Nothing is longer when it is decoded.
        if pair.len() < name.len() {
            return None;
        }
        let (raw, value) = parted(pair, b'=');
        (*decoded(raw) == *name.as_bytes()).then(|| decoded(value.unwrap_or_default()))
    })
}

/// What stands for itself is borrowed.
fn decoded(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr2(b'%', b'+', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    // A % without two digits stands for itself.
    let spaced: Vec<u8> = raw.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Cow::Owned(percent_decode(&spaced).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_where_they_need_it_and_borrowed_where_not() {
        let all = |query: &str, name: &str| {
            let values = values(query, name).map(|value| String::from_utf8_lossy(&value).into_owned());
            values.collect::<Vec<_>>()
        };
        assert_eq!(all("a=1&b=2&a=3", "a"), ["1", "3"]);
        assert_eq!(all("a=x+y%20z%2B", "a"), ["x y z+"]);
        assert_eq!(all("a%20b=1&a+b=2&a b=3", "a b"), ["1", "2", "3"]);
        assert_eq!(all("a&b=&=c", "a"), [""]);
        assert_eq!(all("a=b=c", "a"), ["b=c"]);
        assert_eq!(all("a=%&a=%4&a=%zz&a=%41", "a"), ["%", "%4", "%zz", "A"]);
        assert_eq!(all("A=1", "a"), [""; 0]);
        assert_eq!(all("", "a"), [""; 0]);
        assert!(values("a=%ff", "a").all(|value| *value == [0xff]));
        assert!(values("a=plain", "a").all(|value| matches!(value, Cow::Borrowed(_))));
    }
}
