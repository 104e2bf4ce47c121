use std::net::{IpAddr, Ipv6Addr};

use http::uri::{Authority, Scheme};

use super::{NoAddress, Reach};
use crate::{Ports, ServiceInstance, Target};

/// Where requests to an instance go from here.
///
/// An address that this machine's IPv6 can use counts more than the IPv4 address of the same instance, as in
/// `NacosLoadBalancer`; unlike there, a host name is never refused.
///
/// # Errors
/// Why there is no such place.
pub(crate) fn target(instance: &ServiceInstance, reach: Reach, ports: &Ports) -> Result<Target, NoAddress> {
    let host = host(instance, reach)?;
    let (scheme, default_port) = if instance.secure() { (Scheme::HTTPS, 443) } else { (Scheme::HTTP, 80) };
    let port = match port(instance, ports)? {
        0 => default_port,
        port => port,
    };
    let authority = match host {
        Host::Ip(IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
        Host::Ip(IpAddr::V4(ip)) => format!("{ip}:{port}"),
        Host::Name(name) => format!("{name}:{port}"),
    };
    // Takes the text over: a list may have ten thousand of them.
    let authority = Authority::try_from(authority).map_err(|_| NoAddress::NoHost)?;
    Ok(Target::new(scheme, authority))
}

enum Host<'a> {
    Ip(IpAddr),
    Name(&'a str),
}

fn host(instance: &ServiceInstance, reach: Reach) -> Result<Host<'_>, NoAddress> {
    let listed = instance.host();
    // Some register IPv6 in brackets.
    let bare = listed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(listed);
    let Ok(ip) = bare.parse::<IpAddr>() else { return name(listed) };
    let ip = ip.to_canonical();
    if let Some(other) = beside(ip, instance).filter(|other| reach.has_ipv6(*other)) {
        return Ok(Host::Ip(IpAddr::V6(other)));
    }
    match reach.has(ip) {
        Some(true) => Ok(Host::Ip(ip)),
        Some(false) => Err(NoAddress::Family),
        None => Err(NoAddress::Unspecific),
    }
}

/// The IPv6 address in the metadata of an instance that is registered with an IPv4 one.
fn beside(ip: IpAddr, instance: &ServiceInstance) -> Option<Ipv6Addr> {
    ip.is_ipv4().then(|| instance.ipv6_beside()).flatten()
}

fn name(host: &str) -> Result<Host<'_>, NoAddress> {
    // A colon would begin a port, and what is before an `@` is no host.
    if host.is_empty() || host.contains([':', '@']) { Err(NoAddress::NoHost) } else { Ok(Host::Name(host)) }
}

fn port(instance: &ServiceInstance, ports: &Ports) -> Result<u16, NoAddress> {
    let Ports::Metadata(key) = ports else { return Ok(instance.port()) };
    match instance.registered_metadata().get(key) {
        None => Ok(instance.port()),
        Some(port) => port.trim().parse().ok().filter(|port| *port != 0).ok_or(NoAddress::NoPort),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AddressFamily;
    use nacos_client::{Instance, ServiceKey};
    use std::sync::Arc;

    fn of(instance: Instance) -> ServiceInstance {
        ServiceInstance::new(ServiceKey::new("", "orders"), Arc::new(instance))
    }

    fn uri(instance: Instance, family: AddressFamily) -> Result<String, NoAddress> {
        let reach = Reach::new(family, || unreachable!("the family is set"));
        let target = target(&of(instance), reach, &Ports::Registered)?;
        Ok(format!("{}://{}", target.scheme, target.authority))
    }

    #[test]
    fn sc10_the_address_is_one_that_can_be_used_and_ipv6_is_bracketed_once() {
        use AddressFamily::{Dual, Ipv4, Ipv6};
        let v4 = || Instance::new(("10.0.0.1", 8080));
        let v6 = || Instance::new(("2001:db8::1", 8080));
        // As no constructor makes it, but a registry may list it.
        let bracketed = || {
            let mut instance = v6();
            instance.ip = String::from("[2001:db8::1]");
            instance
        };
        let both = || v4().metadata("IPv6", "[2001:db8::5]");
        let bare = || v4().metadata("IPv6", "2001:db8::5");
        let named = || Instance::new(("orders.internal", 8080)).metadata("IPv6", "[2001:db8::5]");
        for (instance, family, expected) in [
            (v4(), Ipv4, Ok("http://10.0.0.1:8080")),
            (v4(), Dual, Ok("http://10.0.0.1:8080")),
            (v4(), Ipv6, Err(NoAddress::Family)),
            (v6(), Ipv4, Err(NoAddress::Family)),
            (v6(), Dual, Ok("http://[2001:db8::1]:8080")),
            (both(), Ipv4, Ok("http://10.0.0.1:8080")),
            (both(), Dual, Ok("http://[2001:db8::5]:8080")),
            (bare(), Dual, Ok("http://[2001:db8::5]:8080")),
            (both(), Ipv6, Ok("http://[2001:db8::5]:8080")),
            (v4().metadata("IPv6", "null"), Dual, Ok("http://10.0.0.1:8080")),
            (named(), Ipv4, Ok("http://orders.internal:8080")),
            (named(), Ipv6, Ok("http://orders.internal:8080")),
            (Instance::new(("::ffff:10.0.0.1", 1)), Ipv4, Ok("http://10.0.0.1:1")),
            (bracketed(), Dual, Ok("http://[2001:db8::1]:8080")),
            (bracketed(), Ipv4, Err(NoAddress::Family)),
        ] {
            assert_eq!(
                uri(instance.clone(), family).as_deref(),
                expected.as_ref().map(|uri| *uri),
                "{instance} {family:?}"
            );
        }
    }

    #[test]
    fn hosts_that_no_uri_can_have_are_refused() {
        for (host, why) in [
            ("", NoAddress::NoHost),
            ("two words", NoAddress::NoHost),
            ("user@10.0.0.1", NoAddress::NoHost),
            ("fe80::1%eth0", NoAddress::NoHost),
            ("orders/admin", NoAddress::NoHost),
            ("orders?a", NoAddress::NoHost),
            ("orders#a", NoAddress::NoHost),
            ("orders%20a", NoAddress::NoHost),
            ("orders\r\nx", NoAddress::NoHost),
            ("örders", NoAddress::NoHost),
            ("orders:80", NoAddress::NoHost),
            ("[::1", NoAddress::NoHost),
            ("fe80::1", NoAddress::Unspecific),
            ("0.0.0.0", NoAddress::Unspecific),
        ] {
            assert_eq!(uri(Instance::new((host, 80)), AddressFamily::Dual), Err(why), "{host}");
        }
    }

    #[test]
    fn the_port_is_the_registered_one_or_that_of_a_protocol() {
        let reach = Reach::new(AddressFamily::Dual, || None);
        let port = |instance: Instance, ports: &Ports| {
            target(&of(instance), reach, ports).map(|target| target.authority.port_u16().unwrap())
        };
        let grpc = Ports::metadata("gRPC_port");
        let with = |value: &str| Instance::new(("10.0.0.1", 8080)).metadata("gRPC_port", value);
        assert_eq!(port(with("9090"), &Ports::Registered), Ok(8080));
        assert_eq!(port(with("9090"), &grpc), Ok(9090));
        assert_eq!(port(with(" 9090 "), &grpc), Ok(9090));
        assert_eq!(port(Instance::new(("10.0.0.1", 8080)), &grpc), Ok(8080));
        for none in ["", "http", "0", "70000", "-1"] {
            assert_eq!(port(with(none), &grpc), Err(NoAddress::NoPort), "{none:?}");
        }
        assert_eq!(port(Instance::new(("h", 0)).metadata("secure", "true"), &Ports::Registered), Ok(443));
        assert_eq!(port(Instance::new(("h", 0)), &Ports::Registered), Ok(80));
    }
}
