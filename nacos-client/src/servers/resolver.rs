//! From host names to addresses, anew for every attempt to connect.

use std::{fmt, io, net::SocketAddr};

use futures_util::future::BoxFuture;

/// Finds the addresses of a host.
///
/// Called before each attempt to connect, so an implementation should not remember answers for longer than DNS allows.
/// The future may be dropped at any time.
pub(crate) trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// All addresses of `host` (a name, or an address with an optional zone), with `port`.
    fn resolve(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: String, port: u16) -> BoxFuture<'static, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host.as_str(), port)).await?.collect()) })
    }
}

/// Each address once, families taking turns, beginning with the family the resolver put first.
pub(super) fn interleave(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let mut distinct: Vec<SocketAddr> = Vec::with_capacity(addresses.len());
    for address in addresses {
        if !distinct.contains(&address) {
            distinct.push(address);
        }
    }
    let v6_first = distinct.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = distinct.into_iter().partition(|address| address.is_ipv6() == v6_first);
    let mut second = second.into_iter();
    let mut mixed: Vec<SocketAddr> = first.into_iter().flat_map(|one| [Some(one), second.next()]).flatten().collect();
    mixed.extend(second);
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns_and_addresses_are_distinct() {
        let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<SocketAddr>>();
        let mixed = interleave(parse(&["[::1]:1", "[::2]:1", "[::1]:1", "[::3]:1", "1.1.1.1:1", "2.2.2.2:1"]));
        assert_eq!(mixed, parse(&["[::1]:1", "1.1.1.1:1", "[::2]:1", "2.2.2.2:1", "[::3]:1"]));
        let mixed = interleave(parse(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]));
        assert_eq!(mixed, parse(&["1.1.1.1:1", "[::1]:1", "[::2]:1"]));
        assert!(interleave(Vec::new()).is_empty());
    }
}
