use std::fmt;

/// The name of a property as it was written: elements split by dots, an element in brackets taken as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PropertyName(Vec<String>);

impl PropertyName {
    pub(crate) fn parse(text: &str) -> Self {
        Self::default().child(text)
    }

    /// The name with more elements.
    pub(crate) fn child(&self, text: &str) -> Self {
        let mut elements = self.0.clone();
        let mut rest = text;
        while !rest.is_empty() {
            let bracketed = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
            if let Some((inner, after)) = bracketed {
                elements.push(inner.to_owned());
                rest = after.strip_prefix('.').unwrap_or(after);
                continue;
            }
            // A bracket at the very beginning is not closed here, so it belongs to the element.
            let end =
                rest.char_indices().skip(1).find(|(_, c)| matches!(c, '.' | '[')).map_or(rest.len(), |(at, _)| at);
            let (element, after) = if rest.starts_with('.') { ("", rest) } else { rest.split_at(end) };
            if !element.is_empty() {
                elements.push(element.trim().to_owned());
            }
            rest = after.strip_prefix('.').unwrap_or(after);
        }
        Self(elements)
    }

    /// The name with one more element, whatever characters it has.
    pub(crate) fn entry(&self, element: &str) -> Self {
        let mut elements = self.0.clone();
        elements.push(element.to_owned());
        Self(elements)
    }

    /// What follows `key` in this name: nothing if they are the same, `None` if the name is not below `key`.
    pub(crate) fn after(&self, key: &str) -> Option<String> {
        let mut elements = self.0.iter();
        for expected in key.split('.') {
            if !same(elements.next()?, expected) {
                return None;
            }
        }
        let rest: Vec<&str> = elements.map(String::as_str).collect();
        Some(rest.join("."))
    }
}

impl fmt::Display for PropertyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// `server-addr`, `serverAddr`, `server_addr` and `SERVERADDR` are one name.
fn same(left: &str, right: &str) -> bool {
    fn uniform(text: &str) -> impl Iterator<Item = char> {
        text.chars().filter(|c| !matches!(c, '-' | '_')).map(|c| c.to_ascii_lowercase())
    }
    uniform(left).eq(uniform(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relaxed_spellings_are_one_name() {
        for text in
            ["a.server-addr", "a.serverAddr", "a.server_addr", "A.SERVERADDR", "a[server-addr]", "[a].serverAddr"]
        {
            assert_eq!(PropertyName::parse(text).after("a.server-addr").as_deref(), Some(""), "{text}");
        }
        assert_eq!(PropertyName::parse("a.server").after("a.server-addr"), None);
        assert_eq!(PropertyName::parse("a").after("a.server-addr"), None);
    }

    #[test]
    fn keys_of_a_map_stay_as_they_are_written() {
        for (text, key) in [
            ("m.gitCommit", "gitCommit"),
            ("m[a.b/c]", "a.b/c"),
            ("m.a.b", "a.b"),
            ("m.my_key", "my_key"),
            ("m.[x", "[x"),
            ("m[0]", "0"),
        ] {
            assert_eq!(PropertyName::parse(text).after("m").as_deref(), Some(key), "{text}");
        }
        assert_eq!(PropertyName::parse("m").entry("a.[b").after("m").as_deref(), Some("a.[b"));
    }
}
