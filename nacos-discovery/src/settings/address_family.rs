/// Which addresses of instances can be used. Host names always can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AddressFamily {
    /// Those of the families that this machine's interfaces have an address of when a service is first used. Loopback
    /// addresses count for themselves: `::1` can be used where the machine has it, whatever its network has.
    #[default]
    Auto,
    /// IPv4 addresses.
    Ipv4,
    /// IPv6 addresses, also those that an instance has in its metadata only.
    Ipv6,
    /// Both. Of an instance that has both, the IPv6 address is called.
    Dual,
}
