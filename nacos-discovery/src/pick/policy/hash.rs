/// The key of a request for [`crate::ConsistentHash`], from whatever requests belong together by: a user's name, a
/// session, a path. It is the same in every process, on every machine and in every version of this crate: FNV-1a, and
/// the finaliser of MurmurHash3 over it.
///
/// # Examples
///
/// ```
/// use nacos_discovery::{PickContext, hash_key};
///
/// let cx = PickContext::new().hashed_by(hash_key("user-4711"));
/// assert_eq!(cx.hash_key(), Some(hash_key(b"user-4711")));
/// ```
#[must_use]
pub fn hash_key(key: impl AsRef<[u8]>) -> u64 {
    mix(fnv(FNV_BASIS, key.as_ref()))
}

/// What FNV-1a begins with.
pub(crate) const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, from what it had before these bytes.
pub(crate) fn fnv(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Every bit of `x` changes half of all bits.
#[inline]
pub(crate) const fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published values: FNV-1a of "" and "foobar" are its offset basis and 0x85944171f73967e8.
    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(hash_key(""), mix(0xcbf2_9ce4_8422_2325));
        assert_eq!(hash_key("foobar"), mix(0x8594_4171_f739_67e8));
        assert_eq!(mix(0), 0);
        assert_eq!(mix(1), 0xb456_bcfc_34c2_cb2c);
    }
}
