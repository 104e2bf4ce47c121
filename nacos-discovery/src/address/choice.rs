use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tracing::field::display;

use super::AddressChoiceError;
use super::local::LocalAddress;
use crate::{AddressRules, IpType};

/// What the choice depends on besides the rules.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    /// What the listener is bound to.
    pub(super) bound: IpAddr,
    pub(super) local: Vec<LocalAddress>,
    /// Own addresses by which the registry is reached.
    pub(super) route: Vec<IpAddr>,
}

/// The address to register, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Advertised {
    /// An IP address, IPv6 without brackets and zone, or a host name.
    pub(crate) host: String,
    /// An IPv6 address of the same process, to be told in the metadata.
    pub(crate) ipv6: Option<Ipv6Addr>,
    reason: &'static str,
    /// Something a person should look at.
    doubt: Option<&'static str>,
    passed_over: Vec<String>,
}

impl Advertised {
    pub(crate) fn new(host: impl Into<String>, reason: &'static str) -> Self {
        Self { host: host.into(), ipv6: None, reason, doubt: None, passed_over: Vec::new() }
    }

    pub(super) fn log(&self) {
        let passed_over = Some(self.passed_over.join(", ")).filter(|names| !names.is_empty()).map(display);
        match self.doubt {
            Some(doubt) => tracing::warn!(address = %self.host, reason = self.reason, passed_over, "{doubt}"),
            None => tracing::info!(address = %self.host, reason = self.reason, passed_over, "address chosen"),
        }
    }
}

/// Applies the rules.
pub(super) fn choose(rules: &AddressRules, around: &Surroundings) -> Result<Advertised, AddressChoiceError> {
    if let Some(ip) = &rules.ip {
        return Ok(Advertised::new(ip, "it is configured"));
    }
    if !around.bound.is_unspecified() {
        return Ok(Advertised::new(around.bound.to_canonical().to_string(), "the listener is bound to it"));
    }
    if let Some(name) = &rules.network_interface {
        let ip = address_of(name, &around.local)?;
        return Ok(Advertised::new(ip.to_string(), "its interface is configured"));
    }
    Ok(Scan::new(rules, around).result())
}

/// The first address of an interface that means something to others; loopback only where it is the interface's IPv4 one.
fn address_of(name: &str, local: &[LocalAddress]) -> Result<IpAddr, AddressChoiceError> {
    let mut there = local.iter().filter(|address| address.interface == name).peekable();
    if there.peek().is_none() {
        let mut names: Vec<&str> = local.iter().map(|address| address.interface.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        return Err(AddressChoiceError::NoInterface { name: name.to_owned(), present: names.join(", ") });
    }
    let mut addresses = there.map(|address| address.ip);
    let found = addresses.find(|ip| match ip {
        IpAddr::V4(_) => true,
        // A link-local address says nothing without its zone.
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local(),
    });
    found.ok_or_else(|| AddressChoiceError::NoAddress { name: name.to_owned() })
}

/// A scan over all interfaces.
struct Scan<'a> {
    rules: &'a AddressRules,
    around: &'a Surroundings,
    candidates: Vec<&'a LocalAddress>,
    passed_over: Vec<String>,
}

impl<'a> Scan<'a> {
    fn new(rules: &'a AddressRules, around: &'a Surroundings) -> Self {
        let mut scan = Self { rules, around, candidates: Vec::new(), passed_over: Vec::new() };
        for address in &around.local {
            match rejection(rules, address) {
                Some(why) => scan.passed_over.push(format!("{} on {} ({why})", address.ip, address.interface)),
                None => scan.candidates.push(address),
            }
        }
        scan.candidates.sort_by_key(|address| address.index);
        scan
    }

    fn result(mut self) -> Advertised {
        let ipv4 = self.ipv4();
        let ipv6 = self.ipv6();
        let (found, doubt) = match (self.rules.ip_type, ipv4, ipv6) {
            (Some(IpType::V6), _, Some(ip)) => (Some(IpAddr::V6(ip)), None),
            (Some(IpType::V6), Some(ip), None) => {
                (Some(IpAddr::V4(ip)), Some("no IPv6 address to register, IPv4 instead"))
            }
            (_, ip, _) => (ip.map(IpAddr::V4), None),
        };
        let mut chosen = match found {
            Some(ip) if self.around.route.contains(&ip) => Advertised::new(ip.to_string(), "it leads to the registry"),
            Some(ip) => Advertised::new(ip.to_string(), "its interface comes first"),
            None => Advertised::new(self.rules.default_ip.to_string(), "no interface has a usable one"),
        };
        chosen.doubt =
            doubt.or_else(|| found.is_none().then_some("no address found, so the default one is registered"));
        // Told only if somebody listens there: consumers may prefer it.
        if self.rules.ip_type.is_none() && found.is_some() && self.around.bound.is_ipv6() {
            chosen.ipv6 = ipv6;
        }
        let others = self.candidates.iter().map(|address| (address.ip, &address.interface));
        let others = others.filter(|(ip, _)| Some(*ip) != found && Some(*ip) != chosen.ipv6.map(IpAddr::V6));
        self.passed_over.extend(others.map(|(ip, interface)| format!("{ip} on {interface}")));
        chosen.passed_over = self.passed_over;
        chosen
    }

    /// The one that leads to the registry, else the last of the first interface that has one.
    fn ipv4(&self) -> Option<Ipv4Addr> {
        let candidates = || {
            self.candidates.iter().filter_map(|address| match address.ip {
                IpAddr::V4(ip) => Some((address.index, ip)),
                IpAddr::V6(_) => None,
            })
        };
        let leading = candidates().find(|(_, ip)| self.around.route.contains(&IpAddr::V4(*ip)));
        let first = candidates().next().map(|(index, _)| index);
        let last_of_first = candidates().rfind(|(index, _)| Some(*index) == first);
        leading.or(last_of_first).map(|(_, ip)| ip)
    }

    /// The one that leads to the registry, else the first.
    fn ipv6(&self) -> Option<Ipv6Addr> {
        let candidates = || {
            self.candidates.iter().filter_map(|address| match address.ip {
                IpAddr::V6(ip) => Some(ip),
                IpAddr::V4(_) => None,
            })
        };
        let leading = candidates().find(|ip| self.around.route.contains(&IpAddr::V6(*ip)));
        leading.or_else(|| candidates().next())
    }
}

/// Why an address is out of the question.
fn rejection(rules: &AddressRules, address: &LocalAddress) -> Option<&'static str> {
    let text = address.ip.to_string();
    let preferred = |pattern: &crate::Pattern| pattern.matches(&text) || text.starts_with(pattern.as_str());
    if !address.up {
        Some("down")
    } else if rules.ignored_interfaces.iter().any(|pattern| pattern.matches(&address.interface)) {
        Some("ignored")
    } else if address.ip.is_loopback() {
        Some("loopback")
    } else if !rules.preferred_networks.is_empty() && !rules.preferred_networks.iter().any(preferred) {
        Some("not in a preferred network")
    } else {
        match address.ip {
            IpAddr::V4(ip) => (rules.only_site_local && !ip.is_private()).then_some("not private"),
            IpAddr::V6(ip) => (!reaches_beyond_its_site(ip)).then_some("not for others"),
        }
    }
}

/// Neither unspecified nor of link (`fe80::/10`), site (`fec0::/10`) or organisation (`fd00::/8`).
const fn reaches_beyond_its_site(ip: Ipv6Addr) -> bool {
    let [first, second, ..] = ip.octets();
    !(ip.is_unspecified() || (first == 0xfe && second >= 0x80) || first == 0xfd)
}

#[cfg(test)]
mod tests;
