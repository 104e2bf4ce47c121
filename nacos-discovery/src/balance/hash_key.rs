use http::Request;

use crate::{HashOn, hash_key};

/// What consistent hashing chooses the instance by, as an extension of a request: requests with equal keys go to the same
/// instance while the list stays as it is. It counts more than [`HashOn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HashKey(u64);

impl HashKey {
    /// Of whatever bytes name the thing: a user, a session. By [`hash_key`], so the same in every process.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(hash_key(bytes))
    }

    /// A key that is spread over all 64 bits already.
    #[must_use]
    pub const fn new(key: u64) -> Self {
        Self(key)
    }

    /// The key.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The key of a request, if it has what the key is made of.
pub(super) fn of_request<B>(on: &HashOn, request: &Request<B>) -> Option<u64> {
    if let Some(key) = request.extensions().get::<HashKey>() {
        return Some(key.get());
    }
    match on {
        HashOn::Extension => None,
        HashOn::Header(name) => request.headers().get(name).map(|value| hash_key(value.as_bytes())),
        HashOn::Query(name) => {
            let pairs = request.uri().query()?.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
            pairs.into_iter().find(|(found, _)| found == name).map(|(_, value)| hash_key(value.as_bytes()))
        }
        HashOn::Path => Some(hash_key(request.uri().path())),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn request(uri: &str) -> Request<()> {
        Request::get(uri).header("x-user", "ada").header("x-user", "eve").body(()).unwrap()
    }

    #[test]
    fn the_key_is_made_of_what_the_settings_say() {
        let asked = request("lb://orders/a/b?id=7&user=ada&user=eve&flag");
        let of = |text: &str| Some(HashKey::of(text).get());
        assert_eq!(of_request(&HashOn::Header(HeaderName::from_static("x-user")), &asked), of("ada"));
        assert_eq!(of_request(&HashOn::query("user"), &asked), of("ada"));
        assert_eq!(of_request(&HashOn::query("flag"), &asked), of(""));
        assert_eq!(of_request(&HashOn::Path, &asked), of("/a/b"));
        for absent in [HashOn::Extension, HashOn::Header(HeaderName::from_static("x-none")), HashOn::query("us")] {
            assert_eq!(of_request(&absent, &asked), None, "{absent:?}");
        }
        assert_eq!(of_request(&HashOn::query("id"), &request("lb://orders")), None);
    }

    #[test]
    fn an_extension_counts_more_than_the_settings() {
        let mut asked = request("lb://orders/a");
        asked.extensions_mut().insert(HashKey::new(5));
        assert_eq!(of_request(&HashOn::Path, &asked), Some(5));
    }
}
