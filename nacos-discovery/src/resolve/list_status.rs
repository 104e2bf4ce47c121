use tokio::time::Instant;

use super::ServiceList;

/// What is known of a list beside its instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListStatus {
    revision: u64,
    since: Instant,
    stale_since: Option<Instant>,
    protected: bool,
    held: usize,
}

impl ListStatus {
    pub(super) const fn new(list: &ServiceList, since: Instant) -> Self {
        Self {
            revision: list.revision(),
            since,
            stale_since: list.stale(),
            protected: list.is_protected(),
            held: list.held(),
        }
    }

    /// Its place in the order of lists.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Since when requests are spread over it.
    #[must_use]
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// Since when nobody keeps it up to date: the connection to the registry is lost, and this is the last list known.
    #[must_use]
    pub const fn stale_since(&self) -> Option<Instant> {
        self.stale_since
    }

    /// Whether the registry shows unhealthy instances as healthy, because too few are healthy.
    #[must_use]
    pub const fn is_protected(&self) -> bool {
        self.protected
    }

    /// How many instances take requests although the registry does not list them, because that is not believed yet.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }
}
