use axum::extract::{FromRequest, Request};
use axum::http::header;
use axum::response::Response;
use http_body_util::{BodyExt, Limited};

/// A form body beyond this size is not looked at, and its parameters count as missing.
const MAX_FORM: usize = 2 * 1024 * 1024;

/// The parameters of a request, of its query and of its form body alike, whatever its method.
#[derive(Debug, Default)]
pub(super) struct Params {
    pairs: Vec<(String, String)>,
}

impl Params {
    fn add(&mut self, encoded: &str) {
        for pair in encoded.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            self.pairs.push((decode(name), decode(value)));
        }
    }

    /// The first value of that name, as sent; blank counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        found.filter(|value| !value.trim().is_empty())
    }

    /// As [`Params::get`], also when it is blank.
    pub(super) fn raw(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl<S: Sync> FromRequest<S> for Params {
    type Rejection = Response;

    async fn from_request(request: Request, _state: &S) -> Result<Self, Response> {
        let mut params = Self::default();
        params.add(request.uri().query().unwrap_or_default());
        let content_type = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
        if content_type.starts_with(b"application/x-www-form-urlencoded") {
            // A body that is too large or cut off has no parameters.
            if let Ok(body) = Limited::new(request.into_body(), MAX_FORM).collect().await {
                params.add(&String::from_utf8_lossy(&body.to_bytes()));
            }
        }
        Ok(params)
    }
}

/// Takes `+` and `%20` for a blank. Text that is not properly encoded is taken as it stands: some clients do not encode at all.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|b| char::from(b).to_digit(16));
                let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else { return text.to_owned() };
                bytes.push(u8::try_from(high * 16 + low).unwrap_or_default());
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_once_and_tolerantly() {
        let mut params = Params::default();
        params.add("?&a=b&c=1%202+3&empty=&json={\"a\":\"100%\"}&nothing&a=second");
        assert_eq!(params.get("a"), Some("b"));
        assert_eq!(params.get("c"), Some("1 2 3"));
        assert_eq!(params.get("empty"), None);
        assert_eq!(params.raw("empty"), Some(""));
        assert_eq!(params.get("json"), Some("{\"a\":\"100%\"}"));
        assert_eq!((params.raw("nothing"), params.raw("absent")), (Some(""), None));
    }
}
