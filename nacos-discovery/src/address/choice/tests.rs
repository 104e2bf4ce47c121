use std::net::SocketAddr;

use super::*;
use crate::{DiscoveryConfig, Pattern};

/// Docker, a tunnel, and an Ethernet interface with all kinds of addresses.
const MACHINE: &[(&str, u32, &str)] = &[
    ("lo", 1, "127.0.0.1"),
    ("lo", 1, "::1"),
    ("docker0", 2, "172.17.0.1"),
    ("eth0", 3, "192.168.1.5"),
    ("eth0", 3, "192.168.1.6"),
    ("eth0", 3, "fe80::1"),
    ("eth0", 3, "fd00::5"),
    ("eth0", 3, "2001:db8::5"),
    ("tun0", 4, "10.8.0.2"),
];

fn around(bound: &str, route: &[&str]) -> Surroundings {
    let local = MACHINE.iter().map(|(interface, index, ip)| LocalAddress {
        interface: (*interface).to_owned(),
        index: *index,
        up: true,
        ip: ip.parse().unwrap(),
    });
    Surroundings {
        bound: bound.parse().unwrap(),
        local: local.collect(),
        route: route.iter().map(|ip| ip.parse().unwrap()).collect(),
    }
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::new(text).unwrap()).collect()
}

fn chosen(rules: &AddressRules, around: &Surroundings) -> String {
    choose(rules, around).unwrap().host
}

#[test]
fn b16_each_rule_counts_more_than_those_after_it() {
    let everything = AddressRules {
        ip: Some("orders.example".to_owned()),
        network_interface: Some("tun0".to_owned()),
        ..AddressRules::default()
    };
    assert_eq!(chosen(&everything, &around("10.9.9.9", &[])), "orders.example");
    let interface = AddressRules { ip: None, ..everything };
    assert_eq!(chosen(&interface, &around("10.9.9.9", &[])), "10.9.9.9");
    assert_eq!(chosen(&interface, &around("0.0.0.0", &["192.168.1.5"])), "10.8.0.2");
    let scan = AddressRules { network_interface: None, ..interface };
    assert_eq!(chosen(&scan, &around("0.0.0.0", &["192.168.1.5"])), "192.168.1.5");
    // Without anything else, like Spring: the first interface.
    assert_eq!(chosen(&scan, &around("0.0.0.0", &[])), "172.17.0.1");
}

#[test]
fn b16_a_scan_leaves_out_what_it_is_told_to_and_tells_it() {
    let rules = |ignored: &[&str], preferred: &[&str]| AddressRules {
        ignored_interfaces: patterns(ignored),
        preferred_networks: patterns(preferred),
        ..AddressRules::default()
    };
    let all = around("0.0.0.0", &[]);
    // Within an interface the last counts, as in Spring.
    assert_eq!(chosen(&rules(&["docker.*"], &[]), &all), "192.168.1.6");
    assert_eq!(chosen(&rules(&["docker"], &[]), &all), "172.17.0.1", "a pattern is for the whole name");
    assert_eq!(chosen(&rules(&[], &["10."]), &all), "10.8.0.2");
    assert_eq!(chosen(&rules(&[], &[r"192\.168\.\d+\.5"]), &all), "192.168.1.5");
    assert_eq!(chosen(&rules(&["docker0", "eth0"], &[]), &all), "10.8.0.2");
    // The route to the registry may only lead to what is left.
    assert_eq!(chosen(&rules(&[], &["192.168"]), &around("0.0.0.0", &["10.8.0.2"])), "192.168.1.6");

    let told = choose(&rules(&["docker0"], &[]), &all).unwrap().passed_over;
    for part in
        ["172.17.0.1 on docker0 (ignored)", "127.0.0.1 on lo (loopback)", "10.8.0.2 on tun0", "fe80::1 on eth0 (not"]
    {
        assert!(told.iter().any(|line| line.starts_with(part)), "{part} is not in {told:?}");
    }

    let mut down = all;
    down.local.iter_mut().filter(|address| address.interface == "docker0").for_each(|address| address.up = false);
    assert_eq!(chosen(&rules(&[], &[]), &down), "192.168.1.6");
    down.local[3].ip = "8.8.8.8".parse().unwrap();
    down.local[4].ip = "9.9.9.9".parse().unwrap();
    assert_eq!(chosen(&AddressRules { only_site_local: true, ..rules(&[], &[]) }, &down), "10.8.0.2");
}

#[test]
fn nothing_usable_leaves_the_default_and_a_warning() {
    let none = AddressRules { preferred_networks: patterns(&["11."]), ..AddressRules::default() };
    let chosen = choose(&none, &around("::", &[])).unwrap();
    assert_eq!((&*chosen.host, chosen.ipv6), ("127.0.0.1", None));
    assert!(chosen.doubt.is_some());
}

#[test]
fn ipv6_is_registered_if_asked_for_and_told_if_listened_on() {
    let rules =
        |ip_type| AddressRules { ip_type, ignored_interfaces: patterns(&["docker0"]), ..AddressRules::default() };
    let ipv6 = "2001:db8::5";
    let both = choose(&rules(None), &around("::", &[])).unwrap();
    assert_eq!((&*both.host, both.ipv6), ("192.168.1.6", ipv6.parse().ok()));
    assert_eq!(choose(&rules(None), &around("0.0.0.0", &[])).unwrap().ipv6, None);
    let alone = choose(&rules(Some(IpType::V4)), &around("::", &[])).unwrap();
    assert_eq!((&*alone.host, alone.ipv6), ("192.168.1.6", None));
    let sixth = choose(&rules(Some(IpType::V6)), &around("::", &[])).unwrap();
    assert_eq!((&*sixth.host, sixth.ipv6, sixth.doubt), (ipv6, None, None));

    let mut without = around("::", &[]);
    without.local.retain(|address| address.ip.is_ipv4() || address.ip.to_string() != ipv6);
    let instead = choose(&rules(Some(IpType::V6)), &without).unwrap();
    assert_eq!((&*instead.host, instead.doubt.is_some()), ("192.168.1.6", true));
}

#[test]
fn an_interface_must_be_there_and_have_an_address() {
    let rules = |name: &str| AddressRules { network_interface: Some(name.to_owned()), ..AddressRules::default() };
    let mut machine = around("0.0.0.0", &[]);
    machine.local.retain(|address| address.interface != "eth0" || address.ip.is_ipv6());
    assert_eq!(chosen(&rules("eth0"), &machine), "fd00::5");
    machine.local.retain(|address| !address.ip.to_string().starts_with("fd00"));
    assert_eq!(chosen(&rules("eth0"), &machine), "2001:db8::5");
    machine.local.retain(|address| !address.ip.to_string().starts_with("2001"));
    let error = choose(&rules("eth0"), &machine).unwrap_err();
    assert_eq!(error, AddressChoiceError::NoAddress { name: "eth0".to_owned() });
    let error = choose(&rules("eth1"), &machine).unwrap_err();
    let present = "docker0, eth0, lo, tun0".to_owned();
    assert_eq!(error, AddressChoiceError::NoInterface { name: "eth1".to_owned(), present });
}

#[test]
fn a_bound_address_loses_its_zone_and_its_mapping() {
    let bound = |text: &str| {
        let bound: SocketAddr = text.parse().unwrap();
        Surroundings { bound: bound.ip(), local: Vec::new(), route: Vec::new() }
    };
    let rules = AddressRules::default();
    assert_eq!(chosen(&rules, &bound("[fe80::1%3]:80")), "fe80::1");
    assert_eq!(chosen(&rules, &bound("[::ffff:10.0.0.1]:80")), "10.0.0.1");
    assert_eq!(chosen(&rules, &bound("[2001:db8::1]:80")), "2001:db8::1");
}

#[tokio::test]
async fn this_machine_has_some_address() {
    let config = DiscoveryConfig::builder().build().unwrap();
    let chosen = super::super::advertised(&config, "0.0.0.0:80".parse().unwrap()).await.unwrap();
    assert!(chosen.host.parse::<IpAddr>().is_ok(), "{chosen:?}");
}
