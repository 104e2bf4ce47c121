use std::net::IpAddr;
use std::time::Duration;

use regex_lite::Regex;

/// The kind of address that is registered; `ip-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IpType {
    /// IPv4 alone.
    V4,
    /// IPv6, or IPv4 if the machine has no IPv6 address that others can reach.
    V6,
}

/// How the address is found that is registered: as set, else as listened on, else of the interface named, else by a scan.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AddressRules {
    /// The address or host name itself; `ip`.
    pub ip: Option<String>,
    /// The kind of address looked for; `ip-type`. Unset: IPv4, with an IPv6 address told in the metadata.
    pub ip_type: Option<IpType>,
    /// The interface whose address is taken; `network-interface`.
    pub network_interface: Option<String>,
    /// Interfaces that are passed over, by the whole name; `spring.cloud.inetutils.ignored-interfaces`.
    pub ignored_interfaces: Vec<Pattern>,
    /// If not empty, addresses must match one or begin with it; `spring.cloud.inetutils.preferred-networks`.
    pub preferred_networks: Vec<Pattern>,
    /// Whether only private addresses count; `spring.cloud.inetutils.use-only-site-local-interfaces`, default false.
    pub only_site_local: bool,
    /// What is taken when no interface has a usable address; `spring.cloud.inetutils.default-ip-address`, default 127.0.0.1.
    pub default_ip: IpAddr,
    /// How long finding out may take; `spring.cloud.inetutils.timeout-seconds`, default 1 s.
    pub timeout: Duration,
}

impl Default for AddressRules {
    fn default() -> Self {
        Self {
            ip: None,
            ip_type: None,
            network_interface: None,
            ignored_interfaces: Vec::new(),
            preferred_networks: Vec::new(),
            only_site_local: false,
            default_ip: IpAddr::from([127, 0, 0, 1]),
            timeout: Duration::from_secs(1),
        }
    }
}

/// A regular expression that a whole text must match.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    whole: Regex,
}

impl Pattern {
    /// `None` if `text` is no regular expression. Those of Java that look around or back are none here.
    pub(crate) fn new(text: &str) -> Option<Self> {
        // Alone first: a closing bracket too many must not close the group around it.
        Regex::new(text).ok()?;
        let whole = Regex::new(&format!("^(?:{text})$")).ok()?;
        Some(Self { text: text.to_owned(), whole })
    }

    /// Whether the whole of `text` matches.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.whole.is_match(text)
    }

    /// The expression.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
