/// Names and values of the plain fields of a `multipart/form-data` body; files and what cannot be read are left out.
pub(super) fn fields<'a>(content_type: &str, body: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
    let boundary = attribute(content_type, "boundary").filter(|text| !text.is_empty());
    let separator = boundary.map(|boundary| format!("--{boundary}"));
    let mut rest = body;
    std::iter::from_fn(move || {
        let separator = separator.as_ref()?;
        loop {
            let (_, part) = rest.split_once(separator.as_str())?;
            let end = part.find(separator.as_str())?;
            rest = part.get(end..).unwrap_or_default();
            if let Some(field) = part.get(..end).and_then(field) {
                return Some(field);
            }
        }
    })
}

fn field(part: &str) -> Option<(String, String)> {
    let (headers, value) = part.strip_prefix("\r\n")?.split_once("\r\n\r\n")?;
    let value = value.strip_suffix("\r\n")?;
    let disposition = headers.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-disposition").then_some(value)
    })?;
    if attribute(disposition, "filename").is_some() {
        return None;
    }
    Some((attribute(disposition, "name")?.to_owned(), value.to_owned()))
}

/// The value of `name=value` or `name="value"` in a header.
fn attribute<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    header.split(';').skip(1).find_map(|attribute| {
        let (found, value) = attribute.trim().split_once('=')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=\"x\"";

    #[test]
    fn plain_fields_are_read() {
        let body = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x\r\n\
                    content-disposition: form-data; name=\"f\"; filename=\"f.txt\"\r\n\r\nfile\r\n--x\r\n\
                    Content-Disposition: form-data; name=\"b\"\r\nContent-Type: text/plain\r\n\r\n\r\n--x--\r\n";
        let read: Vec<(String, String)> = fields(TYPE, body).collect();
        assert_eq!(read, [("a".to_owned(), "1".to_owned()), ("b".to_owned(), String::new())]);
    }

    #[test]
    fn nonsense_has_no_fields() {
        for (content_type, body) in
            [(TYPE, ""), (TYPE, "--x--x--x"), (TYPE, "--x\r\n\r\n--x"), ("multipart/form-data", "--")]
        {
            assert_eq!(fields(content_type, body).count(), 0, "{body}");
        }
    }
}
