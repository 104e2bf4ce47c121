//! Cookies of a request, as RFC 6265 writes them.

use super::parts::parts;

/// The values of the cookie of this name in a `Cookie` header, without quotes around them.
pub(super) fn values<'a>(line: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    parts(line, b';').filter_map(move |pair| {
        // No name has whitespace or a `=`.
        let after = pair.trim_ascii_start().strip_prefix(name.as_bytes())?.trim_ascii_start().strip_prefix(b"=")?;
        Some(unquoted(after.trim_ascii()))
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
    use super::*;

    fn all(line: &str, name: &str) -> Vec<String> {
        values(line.as_bytes(), name).map(|value| String::from_utf8_lossy(value).into_owned()).collect()
    }

    #[test]
    fn cookies_are_found_by_their_whole_name() {
        assert_eq!(all("a=1; b=2; a=3", "a"), ["1", "3"]);
        assert_eq!(all("aa=1; a=2;a=3 ; A=4", "a"), ["2", "3"]);
        assert_eq!(all("a=\"x y\"; a=\"; a=\"\"; a=", "a"), ["x y", "\"", "", ""]);
        assert_eq!(all("a=b=c; a; ;=; a=%20", "a"), ["b=c", "%20"]);
        assert_eq!(all("a = 1", "a"), ["1"]);
        assert_eq!(all("", "a"), [""; 0]);
    }
}
