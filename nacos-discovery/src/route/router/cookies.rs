//! Cookies of a request, as RFC 6265 writes them.

use http::{HeaderMap, header};

/// The values of the cookie of this name, without quotes around them, over all `Cookie` headers.
pub(super) fn values<'a>(headers: &'a HeaderMap, name: &str) -> impl Iterator<Item = &'a [u8]> {
    let pairs = headers.get_all(header::COOKIE).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b';'));
    pairs.filter_map(move |pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (before, after) = pair.split_at(at);
        (before.trim_ascii() == name.as_bytes()).then(|| unquoted(after[1..].trim_ascii()))
    })
}

fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn all(lines: &[&'static str], name: &str) -> Vec<String> {
        let lines = lines.iter().map(|line| (header::COOKIE, HeaderValue::from_static(line)));
        let headers = lines.fold(HeaderMap::new(), |mut headers, (name, value)| {
            headers.append(name, value);
            headers
        });
        values(&headers, name).map(|value| String::from_utf8_lossy(value).into_owned()).collect()
    }

    #[test]
    fn cookies_of_all_lines_are_found_by_their_whole_name() {
        assert_eq!(all(&["a=1; b=2", "a=3"], "a"), ["1", "3"]);
        assert_eq!(all(&["aa=1; a=2;a=3 ; A=4"], "a"), ["2", "3"]);
        assert_eq!(all(&["a=\"x y\"; a=\"; a=\"\"; a="], "a"), ["x y", "\"", "", ""]);
        assert_eq!(all(&["a=b=c; a; ;=; a=%20"], "a"), ["b=c", "%20"]);
        assert_eq!(all(&["a = 1"], "a"), ["1"]);
        assert_eq!(all(&[], "a"), [""; 0]);
    }
}
