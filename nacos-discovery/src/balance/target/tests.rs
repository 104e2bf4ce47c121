use std::sync::Arc;

use http::{Method, Request, Uri};
use nacos_client::ServiceKey;
use proptest::prelude::*;

use super::*;
use crate::BadTarget;

fn named(addressing: &Addressing, uri: &str) -> Result<Option<(String, Form)>, BadTarget> {
    read(addressing, &Request::get(uri).body(()).unwrap())
}

fn read(addressing: &Addressing, request: &Request<()>) -> Result<Option<(String, Form)>, BadTarget> {
    Ok(match addressing.destination(request)? {
        Destination::Service(Named::Name(name), form) => Some((name.to_owned(), form)),
        Destination::Service(Named::Key(key), form) => Some((key.to_string(), form)),
        Destination::Elsewhere => None,
    })
}

fn service(name: &str, form: Form) -> Result<Option<(String, Form)>, BadTarget> {
    Ok(Some((name.to_owned(), form)))
}

fn hosts(names: &[&str]) -> Addressing {
    let mut addressing = Addressing::default();
    names.iter().for_each(|name| addressing.add_host(name));
    addressing
}

#[test]
fn sc20_lb_names_a_service_exactly_as_it_is_written() {
    let none = Addressing::default();
    for (uri, name) in [
        ("lb://order-service/orders/7", "order-service"),
        ("lb://Order_Service", "Order_Service"),
        ("LB://Order.Service.v2/", "Order.Service.v2"),
        ("lb://orders:8080/x", "orders"),
        ("lb://orders:/x", "orders"),
        ("lb://orders?q=%20", "orders"),
        ("lb://10.0.0.1/x", "10.0.0.1"),
    ] {
        assert_eq!(named(&none, uri), service(name, Form::Any), "{uri}");
    }
}

#[test]
fn http_names_a_service_only_if_its_host_is_known() {
    let known = hosts(&["orders", "Order_Service"]);
    for (uri, form) in [
        ("http://orders/x", Form::Http),
        ("https://orders:443/x", Form::Https),
        ("ws://orders/x", Form::Ws),
        ("wss://ORDERS/x", Form::Wss),
        ("HTTP://orders", Form::Http),
    ] {
        assert_eq!(named(&known, uri), service("orders", form), "{uri}");
    }
    // What `url::Url` makes of a name with capitals.
    assert_eq!(named(&known, "http://order_service/"), service("Order_Service", Form::Http));
    for elsewhere in
        ["http://orders.example.com/", "http://user:pw@example.com/", "ftp://example.com/", "http://[::1]/"]
    {
        assert_eq!(named(&known, elsewhere), Ok(None), "{elsewhere}");
        assert_eq!(named(&Addressing::default(), elsewhere), Ok(None), "{elsewhere}");
    }
}

#[test]
fn a_host_that_was_given_exactly_so_counts_more_than_one_in_other_letters() {
    let known = hosts(&["Orders", "orders"]);
    assert_eq!(named(&known, "http://orders/"), service("orders", Form::Http));
    assert_eq!(named(&known, "http://Orders/"), service("Orders", Form::Http));
    assert_eq!(named(&known, "http://ORDERS/"), service("Orders", Form::Http));
}

#[test]
fn a_predicate_is_asked_for_other_hosts_and_an_alias_counts_first() {
    let mut addressing = hosts(&["orders"]);
    addressing.set_predicate(Arc::new(|host: &str| host.ends_with(".svc")));
    addressing.add_alias("xn--jhq84e", "订单".into());
    addressing.add_alias("orders", ("G", "orders-v2").into());
    assert_eq!(named(&addressing, "http://stock.svc/"), service("stock.svc", Form::Http));
    assert_eq!(named(&addressing, "http://stock.example/"), Ok(None));
    assert_eq!(named(&addressing, "lb://xn--jhq84e/"), service("订单", Form::Any));
    assert_eq!(named(&addressing, "https://XN--JHQ84E/"), service("订单", Form::Https));
    assert_eq!(named(&addressing, "http://orders/"), service("G@@orders-v2", Form::Http));
}

#[test]
fn a_layer_of_one_service_takes_every_host_and_none() {
    let bound = Addressing::bound("orders".into());
    for (uri, form) in [
        ("/pkg.Orders/Get", Form::Any),
        ("http://[::]:50051/pkg.Orders/Get", Form::Http),
        ("http://example.com/", Form::Http),
        ("https://example.com/", Form::Https),
        ("*", Form::Any),
        ("example.com", Form::Any),
    ] {
        assert_eq!(named(&bound, uri), service("orders", form), "{uri}");
    }
    assert_eq!(named(&bound, "lb://stock/"), service("stock", Form::Any));
    let unnamed = Request::get("ftp://example.com/").body(()).unwrap();
    assert_eq!(read(&bound, &unnamed), Err(BadTarget::Scheme { scheme: "ftp".into() }));
}

#[test]
fn a_key_among_the_extensions_counts_more_than_any_uri() {
    let bound = Addressing::bound("orders".into());
    for (uri, form) in [("lb://a/", Form::Any), ("http://b:1/", Form::Http), ("/c", Form::Any)] {
        let request = Request::get(uri).extension(ServiceKey::new("G", "stock")).body(()).unwrap();
        assert_eq!(read(&bound, &request), service("G@@stock", form), "{uri}");
        assert_eq!(read(&Addressing::default(), &request), service("G@@stock", form), "{uri}");
    }
}

#[test]
fn what_names_no_service_or_more_than_a_service_is_refused_without_telling_secrets() {
    let known = hosts(&["orders"]);
    let refused = |uri: &str| named(&known, uri).unwrap_err();
    assert_eq!(refused("/orders/7?token=t"), BadTarget::NoService { uri: "/orders/7".into() });
    assert_eq!(refused("lb://:80/x?token=t"), BadTarget::NoService { uri: "lb://:80/x".into() });
    assert_eq!(refused("*"), BadTarget::NoService { uri: "*".into() });
    for uri in ["lb://ada:secret@orders/x?token=t", "http://ada:secret@orders/x?token=t", "lb://G@@orders/x"] {
        let Some(shown) = uri.split('@').next_back().map(|rest| rest.trim_end_matches("?token=t")) else { continue };
        let scheme = uri.split(':').next().unwrap_or_default();
        let error = refused(uri);
        assert_eq!(error, BadTarget::UserInfo { uri: format!("{scheme}://{shown}") });
        let told = error.to_string();
        assert!(!told.contains("secret") && !told.contains("token"), "{told}");
    }
    let bound = Addressing::bound("orders".into());
    assert!(matches!(named(&bound, "http://ada:secret@example.com/"), Err(BadTarget::UserInfo { .. })));
    let tunnel = Request::builder().method(Method::CONNECT).uri("orders:443").body(()).unwrap();
    assert_eq!(read(&known, &tunnel), Err(BadTarget::Connect));
    let tunnel = Request::builder().method(Method::CONNECT).uri("example.com:443").body(()).unwrap();
    assert_eq!(read(&known, &tunnel), Ok(None));
    let websocket = Request::builder().method(Method::CONNECT).uri("https://orders/chat").body(()).unwrap();
    assert_eq!(read(&known, &websocket), service("orders", Form::Https), "over HTTP/2 it is a request like others");
}

proptest! {
    #[test]
    fn any_uri_is_read_without_panic_and_lb_keeps_its_host(
        scheme in "lb|http|https|ws|wss|ftp|LB|grpc|",
        user in "([a-z@:]{1,8}@)?",
        host in "[A-Za-z0-9._~!$&'()*+,;=\\[\\]:-]{0,12}",
        port in "(:[0-9]{0,6})?",
        rest in "[/?#%a-zA-Z0-9*@:=&.-]{0,20}",
        connect in any::<bool>(),
        bind in any::<bool>(),
    ) {
        let separator = if scheme.is_empty() { "" } else { "://" };
        let text = format!("{scheme}{separator}{user}{host}{port}{rest}");
        let Ok(uri) = text.parse::<Uri>() else { return Ok(()) };
        let addressing = if bind { Addressing::bound("orders".into()) } else { hosts(&["a", "B"]) };
        let method = if connect { Method::CONNECT } else { Method::GET };
        let request = Request::builder().method(method).uri(uri.clone()).body(()).expect("valid parts");
        let destination = addressing.destination(&request);
        if let (Ok(Destination::Service(Named::Name(name), Form::Any)), Some("lb")) = (destination, uri.scheme_str()) {
            prop_assert_eq!(Some(name), uri.host());
        }
    }

    #[test]
    fn any_text_that_is_a_uri_is_read_without_panic(text in ".{0,40}") {
        let Ok(uri) = text.parse::<Uri>() else { return Ok(()) };
        let request = Request::get(uri).body(()).expect("a URI");
        let _ = hosts(&["a"]).destination(&request);
        let _ = Addressing::bound("orders".into()).destination(&request);
    }
}
