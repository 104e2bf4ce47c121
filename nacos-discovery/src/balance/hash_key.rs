use http::Request;

use crate::HashOn;

/// What consistent hashing chooses the instance by, as an extension of a request: requests with equal keys go to the same
/// instance while the list stays as it is. It counts more than [`HashOn`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HashKey(u64);

impl HashKey {
    /// Of whatever bytes name the thing: a user, a session. The same in every process and on every machine.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(hash(bytes.as_ref()))
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
        HashOn::Header(name) => request.headers().get(name).map(|value| hash(value.as_bytes())),
        HashOn::Query(name) => {
            let pairs = request.uri().query()?.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
            pairs.into_iter().find(|(found, _)| found == name).map(|(_, value)| hash(value.as_bytes()))
        }
        HashOn::Path => Some(hash(request.uri().path().as_bytes())),
    }
}

/// FNV-1a, with its bits spread by the last steps of `SplitMix64`: alone it hardly changes the high bits of short keys.
fn hash(bytes: &[u8]) -> u64 {
    let fnv = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
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

    #[test]
    fn keys_that_differ_in_their_last_digit_are_spread_over_all_bits() {
        let keys = (0..1000).map(|n| HashKey::of(format!("user-{n}")).get());
        let mut high = [0_u32; 16];
        for key in keys {
            high[(key >> 60) as usize] += 1;
        }
        // 62.5 expected; 5 sigma are 38.3.
        assert!(high.iter().all(|count| (25..=100).contains(count)), "{high:?}");
    }
}
