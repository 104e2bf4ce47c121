use std::net::{IpAddr, Ipv6Addr};

use crate::AddressFamily;

/// Which addresses this machine can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach {
    v4: Scope,
    v6: Scope,
}

/// How far addresses of one family lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    Nowhere,
    /// This machine itself.
    Loopback,
    /// The networks of one organisation: `fc00::/7` and `fec0::/10`.
    Site,
    Everywhere,
}

impl Reach {
    /// What the setting says, or what the machine's own addresses tell.
    pub(crate) fn new(family: AddressFamily, own: impl FnOnce() -> Option<Vec<IpAddr>>) -> Self {
        let (v4, v6) = match family {
            AddressFamily::Ipv4 => (Scope::Everywhere, Scope::Nowhere),
            AddressFamily::Ipv6 => (Scope::Nowhere, Scope::Everywhere),
            AddressFamily::Dual => (Scope::Everywhere, Scope::Everywhere),
            AddressFamily::Auto => return own().map_or(Self::DUAL, |own| Self::of_machine(&own)),
        };
        Self { v4, v6 }
    }

    const DUAL: Self = Self { v4: Scope::Everywhere, v6: Scope::Everywhere };

    /// A machine without any address beyond itself is taken for one that will have an IPv4 address.
    fn of_machine(own: &[IpAddr]) -> Self {
        let farthest = |v6: bool| {
            let scopes = own.iter().filter(|ip| ip.is_ipv6() == v6).filter_map(|ip| scope(*ip));
            scopes.max().unwrap_or(Scope::Nowhere)
        };
        let (v4, v6) = (farthest(false), farthest(true));
        Self { v4: if v6 <= Scope::Loopback { Scope::Everywhere } else { v4 }, v6 }
    }

    /// Whether an address can be used here; `None` if it stands for no machine.
    pub(super) fn has(self, ip: IpAddr) -> Option<bool> {
        let own = if ip.is_ipv4() { self.v4 } else { self.v6 };
        scope(ip).map(|needed| needed <= own)
    }

    /// What can be used, for people.
    pub(crate) const fn name(self) -> &'static str {
        match (self.v4, self.v6) {
            (Scope::Site | Scope::Everywhere, Scope::Everywhere) => "IPv4 and IPv6",
            (Scope::Site | Scope::Everywhere, Scope::Site) => "IPv4 and local IPv6",
            (Scope::Site | Scope::Everywhere, _) => "IPv4",
            (_, Scope::Everywhere) => "IPv6",
            (_, Scope::Site) => "local IPv6",
            _ => "loopback",
        }
    }

    /// Whether requests may leave by IPv6.
    pub(super) fn has_ipv6(self, ip: Ipv6Addr) -> bool {
        self.has(IpAddr::V6(ip)) == Some(true)
    }
}

/// `None` for addresses that stand for no machine.
fn scope(ip: IpAddr) -> Option<Scope> {
    if ip.is_unspecified() {
        return None;
    }
    if ip.is_loopback() {
        return Some(Scope::Loopback);
    }
    let IpAddr::V6(ip) = ip else { return Some(Scope::Everywhere) };
    match ip.segments()[0] {
        0xfe80..=0xfebf => None,
        0xfc00..=0xfdff | 0xfec0..=0xfeff => Some(Scope::Site),
        _ => Some(Scope::Everywhere),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn machine(own: &[&str]) -> Reach {
        Reach::new(AddressFamily::Auto, || Some(own.iter().map(|text| ip(text)).collect()))
    }

    /// Whether `10.0.0.1`, `2001:db8::1`, `fd00::1`, `127.0.0.1` and `::1` can be used.
    fn usable(reach: Reach) -> [bool; 5] {
        ["10.0.0.1", "2001:db8::1", "fd00::1", "127.0.0.1", "::1"].map(|text| reach.has(ip(text)).unwrap())
    }

    #[test]
    fn b16_the_family_is_that_of_the_interfaces_and_loopback_counts_for_itself() {
        for (own, expected) in [
            (&["127.0.0.1", "10.0.0.9"][..], [true, false, false, true, false]),
            (&["127.0.0.1", "::1", "10.0.0.9", "fe80::9"], [true, false, false, true, true]),
            (&["127.0.0.1", "::1", "10.0.0.9", "2001:db8::9"], [true, true, true, true, true]),
            (&["127.0.0.1", "::1", "10.0.0.9", "fd12::9"], [true, false, true, true, true]),
            (&["127.0.0.1", "::1", "2001:db8::9"], [false, true, true, true, true]),
            (&["::1", "2001:db8::9"], [false, true, true, false, true]),
            (&["127.0.0.1", "::1"], [true, false, false, true, true]),
            (&[], [true, false, false, true, false]),
        ] {
            assert_eq!(usable(machine(own)), expected, "{own:?}");
            assert_eq!(machine(own).name().contains("IPv4"), expected[0], "{own:?}");
            assert_eq!(machine(own).name().contains("IPv6"), expected[2], "{own:?}");
        }
        assert_eq!(usable(Reach::new(AddressFamily::Auto, || None)), [true; 5], "nothing is known, nothing is refused");
    }

    #[test]
    fn b16_a_family_that_is_set_counts_instead_of_the_interfaces() {
        let set = |family| Reach::new(family, || panic!("nobody looks"));
        assert_eq!(usable(set(AddressFamily::Ipv4)), [true, false, false, true, false]);
        assert_eq!(usable(set(AddressFamily::Ipv6)), [false, true, true, false, true]);
        assert_eq!(usable(set(AddressFamily::Dual)), [true; 5]);
    }

    #[test]
    fn addresses_of_no_machine_are_told_apart() {
        for none in ["0.0.0.0", "::", "fe80::1"] {
            assert_eq!(Reach::DUAL.has(ip(none)), None, "{none}");
        }
    }
}
