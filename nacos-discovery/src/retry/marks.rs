use std::num::NonZeroU32;

/// Which attempt of a call this is, as an extension of the request that [`crate::RetryNext`] sends: for hooks and for the
/// services below. Whoever finds it on a request that it should send does not repeat the call: somebody above does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attempt(NonZeroU32);

impl Attempt {
    pub(super) const FIRST: Self = Self(NonZeroU32::MIN);

    /// The one after it.
    pub(super) const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// 1 for the first one.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0.get()
    }
}

/// Says of a request, as an extension, that it may be sent more than once, whatever its method is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Idempotent;

impl Idempotent {
    /// The mark.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}
