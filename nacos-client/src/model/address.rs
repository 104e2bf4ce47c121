//! Where an instance listens: host and port, with IPv6 in and out of brackets.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// Host and port of an instance. The host is an IP address or a host name, IPv6 without brackets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceAddr {
    host: String,
    port: u16,
}

impl InstanceAddr {
    /// `host` may be an IP address, an IPv6 address in brackets, or a host name.
    #[must_use]
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        let host = host.into();
        match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(bare) => Self { host: bare.to_owned(), port },
            None => Self { host, port },
        }
    }

    /// The host, IPv6 without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn into_parts(self) -> (String, u16) {
        (self.host, self.port)
    }
}

/// Writes `host:port`, with brackets where the host has colons.
pub(crate) fn write_host_port(f: &mut impl fmt::Write, host: &str, port: u16) -> fmt::Result {
    if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
}

impl fmt::Display for InstanceAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_host_port(f, &self.host, self.port)
    }
}

/// Why a text is not the address of an instance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// There is no port: an IPv6 address with a port needs brackets.
    #[error("{0:?} has no port (write IPv6 as [address]:port)")]
    NoPort(String),
    /// The port is not a number from 0 to 65535.
    #[error("{0:?} has a port that is not a number from 0 to 65535")]
    Port(String),
    /// The host is empty or its brackets do not match.
    #[error("{0:?} has no valid host")]
    Host(String),
}

impl FromStr for InstanceAddr {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, after) = rest.split_once(']').ok_or_else(|| AddressError::Host(text.to_owned()))?;
                (host, after.strip_prefix(':').ok_or_else(|| AddressError::NoPort(text.to_owned()))?)
            }
            None => {
                let (host, port) = text.rsplit_once(':').ok_or_else(|| AddressError::NoPort(text.to_owned()))?;
                if host.contains(':') {
                    return Err(AddressError::NoPort(text.to_owned()));
                }
                (host, port)
            }
        };
        if host.is_empty() || host.contains(['[', ']']) {
            return Err(AddressError::Host(text.to_owned()));
        }
        // `u16::from_str` also takes a leading plus sign.
        if !port.bytes().all(|b| b.is_ascii_digit()) {
            return Err(AddressError::Port(text.to_owned()));
        }
        let port = port.parse().map_err(|_| AddressError::Port(text.to_owned()))?;
        Ok(Self { host: host.to_owned(), port })
    }
}

impl From<SocketAddr> for InstanceAddr {
    fn from(addr: SocketAddr) -> Self {
        // A scope id means something on this machine only, so only the address itself is published.
        Self { host: addr.ip().to_string(), port: addr.port() }
    }
}

impl From<(IpAddr, u16)> for InstanceAddr {
    fn from((ip, port): (IpAddr, u16)) -> Self {
        Self { host: ip.to_string(), port }
    }
}

impl From<(&str, u16)> for InstanceAddr {
    fn from((host, port): (&str, u16)) -> Self {
        Self::new(host, port)
    }
}

impl From<(String, u16)> for InstanceAddr {
    fn from((host, port): (String, u16)) -> Self {
        Self::new(host, port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_read() {
        for (text, host, port) in [
            ("10.0.0.1:8080", "10.0.0.1", 8080),
            ("[::1]:80", "::1", 80),
            ("[fe80::1%eth0]:80", "fe80::1%eth0", 80),
            ("orders.internal:65535", "orders.internal", 65535),
        ] {
            assert_eq!(text.parse(), Ok(InstanceAddr::new(host, port)), "{text}");
        }
    }

    #[test]
    fn bad_addresses_are_refused_by_kind() {
        let parse = |text: &str| text.parse::<InstanceAddr>().unwrap_err();
        assert!(matches!(parse("::1"), AddressError::NoPort(_)));
        assert!(matches!(parse("2001:db8::5"), AddressError::NoPort(_)));
        assert!(matches!(parse("[::1]"), AddressError::NoPort(_)));
        assert!(matches!(parse("host"), AddressError::NoPort(_)));
        for bad in ["host:65536", "host:-1", "host:+1", "host:", "host:a"] {
            assert!(matches!(parse(bad), AddressError::Port(_)), "{bad}");
        }
        assert!(matches!(parse(":80"), AddressError::Host(_)));
        assert!(matches!(parse("[::1"), AddressError::Host(_)));
    }

    proptest! {
        #[test]
        fn g13_an_address_survives_being_written_and_read(ip: IpAddr, port: u16) {
            let addr = InstanceAddr::from(SocketAddr::new(ip, port));
            prop_assert_eq!(addr.to_string().parse::<InstanceAddr>(), Ok(addr));
        }

        #[test]
        fn any_text_parses_or_is_refused(text: String) {
            if let Ok(addr) = text.parse::<InstanceAddr>() {
                prop_assert_eq!(addr.to_string().parse::<InstanceAddr>(), Ok(addr));
            }
        }
    }
}
