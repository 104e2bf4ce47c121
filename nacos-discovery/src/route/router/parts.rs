use memchr::memchr;

/// What separators part, as `split` does it.
pub(super) fn parts(whole: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(whole);
    std::iter::from_fn(move || {
        let (part, after) = parted(rest?, separator);
        rest = after;
        Some(part)
    })
}

/// What is before the first separator, and what after it if there is one.
pub(super) fn parted(whole: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    match memchr(separator, whole) {
        Some(at) => (&whole[..at], Some(&whole[at + 1..])),
        None => (whole, None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parts_are_those_of_split(whole in "[a;]{0,8}") {
            let split: Vec<_> = whole.as_bytes().split(|byte| *byte == b';').collect();
            prop_assert_eq!(parts(whole.as_bytes(), b';').collect::<Vec<_>>(), split);
        }
    }
}
