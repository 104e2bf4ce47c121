use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> ServerAddress {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn g12_each_form_of_an_entry_has_one_meaning() {
    let name = |host: &str, port, grpc| ServerAddress { host: Host::Name(host.to_owned()), port, path: None, grpc };
    let below = |path: &str, address| ServerAddress { path: Some(path.parse().unwrap()), ..address };
    for (text, want) in [
        ("nacos", name("nacos", 8848, GrpcPort::Default)),
        ("nacos.", name("nacos.", 8848, GrpcPort::Default)),
        (" nacos:80 ", name("nacos", 80, GrpcPort::Default)),
        ("http://nacos", name("nacos", 8848, GrpcPort::Default)),
        ("HTTP://nacos:80/", name("nacos", 80, GrpcPort::Default)),
        ("nacos:8848?grpc_port=9999", name("nacos", 8848, GrpcPort::Fixed(9999))),
        ("http://nacos/?grpc_offset=2000", name("nacos", 8848, GrpcPort::Offset(2000))),
        ("nacos:65535?grpc_port=1", name("nacos", 65535, GrpcPort::Fixed(1))),
        ("a_b-c.d1", name("a_b-c.d1", 8848, GrpcPort::Default)),
        ("http://nacos:80/nacos", below("nacos", name("nacos", 80, GrpcPort::Default))),
        ("nacos/a/b/?grpc_port=7", below("/a/b", name("nacos", 8848, GrpcPort::Fixed(7)))),
        ("nacos//", below("", name("nacos", 8848, GrpcPort::Default))),
    ] {
        assert_eq!(parse(text), want, "{text}");
    }
    assert_eq!(parse("nacos:80").grpc_port(1000), Ok(1080));
    assert_eq!(parse("nacos:80?grpc_port=7").grpc_port(1000), Ok(7));
    assert_eq!(parse("nacos:80?grpc_offset=5").grpc_port(1000), Ok(85));
}

#[test]
fn g13_ipv6_is_split_at_the_right_colon() {
    let v6 = |ip: &str, zone: Option<&str>, port| ServerAddress {
        host: Host::V6(ip.parse().unwrap(), zone.map(str::to_owned)),
        port,
        path: None,
        grpc: GrpcPort::Default,
    };
    for (text, want) in [
        ("::1", v6("::1", None, 8848)),
        ("[::1]", v6("::1", None, 8848)),
        ("[::1]:80", v6("::1", None, 80)),
        ("http://[::1]:80", v6("::1", None, 80)),
        ("2001:db8::5", v6("2001:db8::5", None, 8848)),
        ("::ffff:10.0.0.1", v6("::ffff:10.0.0.1", None, 8848)),
        ("fe80::1%eth0", v6("fe80::1", Some("eth0"), 8848)),
        ("[fe80::1%eth0.5]:8849", v6("fe80::1", Some("eth0.5"), 8849)),
    ] {
        assert_eq!(parse(text), want, "{text}");
    }
    let zoned = parse("[fe80::1%eth0]:8849");
    assert_eq!(zoned.host.to_string(), "fe80::1%eth0");
    assert_eq!(zoned.host.authority(9849), "[fe80::1]:9849");
    assert_eq!(zoned.to_string(), "[fe80::1%eth0]:8849");
}

#[test]
fn every_ill_form_names_field_and_reason() {
    use AddressField as F;
    use AddressReason as R;
    let long = "a".repeat(64);
    for (text, field, reason) in [
        ("", F::Host, R::Empty),
        ("  ", F::Host, R::Empty),
        (":8848", F::Host, R::Empty),
        ("http://", F::Host, R::Empty),
        ("://a", F::Scheme, R::Empty),
        ("https://a", F::Scheme, R::Unsupported),
        ("grpc://a", F::Scheme, R::Unsupported),
        ("a:", F::Port, R::Empty),
        ("a:0", F::Port, R::NotAPort),
        ("a:65536", F::Port, R::NotAPort),
        ("a:+80", F::Port, R::NotAPort),
        ("a:-1", F::Port, R::NotAPort),
        ("a:8 0", F::Port, R::NotAPort),
        ("a:80x", F::Port, R::NotAPort),
        ("a b", F::Host, R::Character(' ')),
        ("user@a", F::Host, R::Character('@')),
        ("host,other", F::Host, R::Character(',')),
        ("bücher.example", F::Host, R::Character('ü')),
        ("a..b", F::Host, R::Length),
        (".", F::Host, R::Length),
        (long.as_str(), F::Host, R::Length),
        ("256.1.1.1", F::Host, R::BadIpv4),
        ("1.2.3", F::Host, R::BadIpv4),
        ("0x7f.0x1", F::Host, R::BadIpv4),
        ("8848", F::Host, R::BadIpv4),
        ("[::1", F::Host, R::Brackets),
        ("::1]", F::Host, R::Brackets),
        ("[::1]80", F::Host, R::Brackets),
        ("a[::1]", F::Host, R::Brackets),
        ("[]", F::Host, R::BadIpv6),
        ("[nacos]:80", F::Host, R::BadIpv6),
        ("1:2:3", F::Host, R::BadIpv6),
        ("::1::2", F::Host, R::BadIpv6),
        ("[::1]:", F::Port, R::Empty),
        ("[::1%]:80", F::Zone, R::Empty),
        ("fe80::1%a b", F::Zone, R::Character(' ')),
        ("a:80/na cos", F::Path, R::Character(' ')),
        ("a:80/nacos/../x", F::Path, R::Length),
        ("a?", F::Query, R::Empty),
        ("a?x=1", F::Query, R::Unexpected),
        ("a?grpc_port", F::GrpcPort, R::Empty),
        ("a?grpc_port=0", F::GrpcPort, R::NotAPort),
        ("a?grpc_port=70000", F::GrpcPort, R::NotAPort),
        ("a?grpc_port=1&grpc_port=2", F::GrpcPort, R::Twice),
        ("a?grpc_port=1&grpc_offset=2", F::GrpcPort, R::Twice),
        ("a:65000?grpc_offset=1000", F::GrpcPort, R::Overflow),
    ] {
        let want = ServerAddressError { text: text.to_owned(), field, reason };
        assert_eq!(text.parse::<ServerAddress>(), Err(want), "{text:?}");
    }
}

#[test]
fn an_error_reads_as_a_sentence() {
    let error = "a:65536".parse::<ServerAddress>().unwrap_err();
    assert_eq!(error.to_string(), r#"server address "a:65536": the port is no number from 1 to 65535"#);
}

#[test]
fn a_derived_grpc_port_may_not_overflow() {
    let error = parse("a:65000").grpc_port(1000).unwrap_err();
    assert_eq!((error.field, error.reason), (AddressField::GrpcPort, AddressReason::Overflow));
}

fn any_host() -> impl Strategy<Value = Host> {
    prop_oneof![
        "[a-z][a-z0-9_-]{0,20}(\\.[a-z][a-z0-9-]{0,20}){0,3}\\.?".prop_map(Host::Name),
        any::<u32>().prop_map(|bits| Host::V4(Ipv4Addr::from_bits(bits))),
        (any::<u128>(), proptest::option::of("[a-z0-9_.-]{1,12}"))
            .prop_map(|(bits, zone)| Host::V6(Ipv6Addr::from_bits(bits), zone)),
    ]
}

fn any_grpc() -> impl Strategy<Value = GrpcPort> {
    prop_oneof![Just(GrpcPort::Default), (1u16..).prop_map(GrpcPort::Fixed), (1u16..2000).prop_map(GrpcPort::Offset),]
}

fn any_path() -> impl Strategy<Value = Option<ContextPath>> {
    proptest::option::of("(/[a-z0-9_-]{1,9}){0,3}".prop_map(|path| path.parse().unwrap()))
}

proptest! {
    #[test]
    fn g13_parse_of_format_is_identity(host in any_host(), port in 1u16..60000, path in any_path(), grpc in any_grpc()) {
        let address = ServerAddress { host, port, path, grpc };
        prop_assert_eq!(address.to_string().parse::<ServerAddress>(), Ok(address.clone()));
        prop_assert_eq!(format!("http://{address}").parse::<ServerAddress>(), Ok(address));
    }

    #[test]
    fn no_text_panics_and_what_parses_formats_stably(text in "\\PC{0,40}|[a-f0-9:.%\\[\\]/?=_a-z]{0,40}") {
        if let Ok(address) = text.parse::<ServerAddress>() {
            prop_assert_eq!(address.to_string().parse::<ServerAddress>(), Ok(address));
        }
    }
}
