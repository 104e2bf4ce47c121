//! Which address a process registers.
//!
//! Spring Cloud takes the first interface that has an address; on machines with several networks that is a matter of luck.
//! Here it is: what is set, else what the listener is bound to, else the interface named, else a scan over all interfaces.
//! If the scan leaves several, the one by which this machine reaches the registry counts more than the first.
//! Each choice is logged with what was passed over.

mod choice;
mod error;
mod local;
mod route;

pub(crate) use choice::Advertised;
pub use error::AddressChoiceError;

use std::net::{IpAddr, SocketAddr};

use crate::DiscoveryConfig;
use choice::{Surroundings, choose};

/// The address to register for a listener bound to `bound`.
///
/// # Errors
/// If the rules name an interface that is not there or has no address.
///
/// # Cancel safety
/// Nothing is changed.
pub(crate) async fn advertised(config: &DiscoveryConfig, bound: SocketAddr) -> Result<Advertised, AddressChoiceError> {
    let rules = config.address();
    let look = rules.ip.is_none() && bound.ip().is_unspecified();
    let local = if look { local::addresses()? } else { Vec::new() };
    // The route costs a look-up of the registry's name, so it is found only where it counts.
    let route = if look && rules.network_interface.is_none() {
        route::towards(config.servers(), rules.timeout).await
    } else {
        Vec::new()
    };
    let chosen = choose(rules, &Surroundings { bound: bound.ip(), local, route })?;
    chosen.log();
    Ok(chosen)
}

/// The addresses of this machine's interfaces that are up; `None` if the system does not tell them.
pub(crate) fn own_addresses() -> Option<Vec<IpAddr>> {
    match local::addresses() {
        Ok(addresses) => Some(addresses.into_iter().filter(|address| address.up).map(|address| address.ip).collect()),
        Err(error) => {
            tracing::warn!(%error, "instances of every address family are taken for usable");
            None
        }
    }
}
