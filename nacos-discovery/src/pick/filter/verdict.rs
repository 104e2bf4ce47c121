use std::sync::Arc;

/// Whether requests go to an instance of a list, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// They do; nothing speaks against it.
    Eligible {
        /// The first tier that has it: 0 is the one that is used while one of its instances takes requests.
        tier: usize,
    },
    /// It is in another zone than the own one.
    OtherZone {
        /// The first tier that has it; 0 if the own zone has none.
        tier: usize,
    },
    /// It is in another cluster than the own one.
    OtherCluster {
        /// The first tier that has it; 0 if the own cluster has none, or while a share of the requests leaves it.
        tier: usize,
    },
    /// It is registered, but not enabled.
    Disabled,
    /// Its weight is 0, or no number.
    Drained,
    /// The registry takes it for unhealthy.
    Unhealthy,
    /// It has no address that can be used here.
    NoUsableAddress(NoAddress),
    /// Other processes of this application call it.
    OutsideSubset,
    /// No rule of the routes leads there, and it is not of their baseline.
    Unrouted,
    /// A filter of the application does not keep it.
    Filtered {
        /// What the filter calls itself.
        filter: Arc<str>,
    },
}

/// Why an instance has no address that can be used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoAddress {
    /// This machine has no address of its family, IPv4 or IPv6.
    Family,
    /// The address stands for no machine: unspecified, or of a link and without its interface.
    Unspecific,
    /// The host is neither an address nor a name that a URI can have.
    NoHost,
    /// The metadata entry that holds the port holds no port.
    NoPort,
}

impl Verdict {
    /// The first tier that has the instance; `None` if no request goes there at all.
    #[must_use]
    pub const fn tier(&self) -> Option<usize> {
        match self {
            Self::Eligible { tier } | Self::OtherZone { tier } | Self::OtherCluster { tier } => Some(*tier),
            _ => None,
        }
    }

    /// Whether requests can go there.
    #[must_use]
    pub const fn is_eligible(&self) -> bool {
        self.tier().is_some()
    }
}
