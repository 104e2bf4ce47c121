use std::net::IpAddr;

use if_addrs::{IfOperStatus, get_if_addrs};

use super::AddressChoiceError;

/// An address of one of this machine's interfaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalAddress {
    pub(super) interface: String,
    pub(super) index: u32,
    pub(super) up: bool,
    pub(super) ip: IpAddr,
}

/// All of them, in the system's order.
pub(super) fn addresses() -> Result<Vec<LocalAddress>, AddressChoiceError> {
    let addresses = get_if_addrs().map_err(|e| AddressChoiceError::Interfaces { reason: e.to_string() })?;
    let address = |address: if_addrs::Interface| LocalAddress {
        ip: address.ip(),
        // Loopback and tunnels often do not tell.
        up: matches!(address.oper_status, IfOperStatus::Up | IfOperStatus::Unknown),
        index: address.index.unwrap_or(u32::MAX),
        interface: address.name,
    };
    Ok(addresses.into_iter().map(address).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_loopback_address() {
        let addresses = addresses().unwrap();
        assert!(addresses.iter().any(|address| address.ip.is_loopback() && address.up), "{addresses:?}");
    }
}
