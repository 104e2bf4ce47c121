use std::mem;

use http::header::{Entry, HOST};
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Request, Uri};

use super::target::Form;
use crate::{Endpoints, ForwardedHeaders, HostHeader, Target};

const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Turns a request to a service into one to an instance: another scheme and authority, the same path and query byte for
/// byte, and the headers that the settings ask for.
pub(super) fn rewrite<B>(request: &mut Request<B>, form: Form, target: &Target, endpoints: &Endpoints) {
    let mut parts = mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(form.scheme(&target.scheme));
    parts.authority = Some(target.authority.clone());
    parts.path_and_query.get_or_insert_with(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from_parts(parts).expect("scheme, authority and path are all there");

    let rules = endpoints.settings().requests();
    // A name that no header can hold is left out.
    let name = || HeaderValue::from_str(endpoints.service().name()).ok();
    if rules.host_header == HostHeader::Service {
        add(request, HOST, name());
    }
    if rules.forwarded_headers == ForwardedHeaders::HostAndProto {
        add(request, FORWARDED_HOST, name());
        add(request, FORWARDED_PROTO, Some(HeaderValue::from_static(form.asked(&target.scheme))));
    }
}

/// Unless it is there already.
pub(super) fn add<B>(request: &mut Request<B>, name: HeaderName, value: Option<HeaderValue>) {
    if let (Entry::Vacant(vacant), Some(value)) = (request.headers_mut().entry(name), value) {
        vacant.insert(value);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::uri::{Authority, Scheme};
    use nacos_client::ServiceKey;

    use super::*;
    use crate::ServiceSettings;

    fn endpoints(settings: ServiceSettings) -> Endpoints {
        Endpoints::new(ServiceKey::new("", "Order_Service"), Arc::new(settings))
    }

    fn target(scheme: Scheme, authority: &str) -> Target {
        Target::new(scheme, authority.parse::<Authority>().unwrap())
    }

    fn sent(uri: &str, to: &Target, settings: ServiceSettings) -> Request<()> {
        let mut request = Request::get(uri).body(()).unwrap();
        let form = Form::of(request.uri()).unwrap();
        rewrite(&mut request, form, to, &endpoints(settings));
        request
    }

    #[test]
    fn sc20_path_and_query_stay_byte_for_byte_and_the_authority_is_the_instance() {
        let plain = target(Scheme::HTTP, "10.0.0.1:8080");
        let secure = target(Scheme::HTTPS, "[2001:db8::1]:8443");
        for (uri, to, expected) in [
            ("lb://Order_Service/a%20b//c/?q=%20&x=+&y", &plain, "http://10.0.0.1:8080/a%20b//c/?q=%20&x=+&y"),
            ("lb://Order_Service", &plain, "http://10.0.0.1:8080/"),
            ("lb://Order_Service?q=1", &plain, "http://10.0.0.1:8080/?q=1"),
            ("lb://Order_Service/?", &plain, "http://10.0.0.1:8080/?"),
            ("lb://Order_Service:99/%E8%AE%A2", &secure, "https://[2001:db8::1]:8443/%E8%AE%A2"),
            ("http://Order_Service/x", &secure, "https://[2001:db8::1]:8443/x"),
            ("/x?y", &plain, "http://10.0.0.1:8080/x?y"),
            ("ws://Order_Service/x", &plain, "ws://10.0.0.1:8080/x"),
            ("ws://Order_Service/x", &secure, "wss://[2001:db8::1]:8443/x"),
        ] {
            let request = sent(uri, to, ServiceSettings::default());
            assert_eq!(request.uri().to_string(), expected, "{uri}");
            assert!(request.headers().is_empty());
        }
        let star = sent("*", &plain, ServiceSettings::default());
        assert_eq!(star.uri().path_and_query().map(PathAndQuery::as_str), Some("*"));
    }

    #[test]
    fn headers_say_what_the_settings_want_and_those_that_are_there_stay() {
        let forwarded = ServiceSettings::default().with_forwarded_headers(ForwardedHeaders::HostAndProto);
        let both = forwarded.with_host_header(HostHeader::Service);
        let secure = target(Scheme::HTTPS, "10.0.0.1:1");
        for (uri, proto) in [("lb://Order_Service/", "https"), ("http://Order_Service/", "http"), ("ws://o/", "ws")] {
            let request = sent(uri, &secure, both.clone());
            let header = |name: HeaderName| request.headers()[name].to_str().unwrap();
            assert_eq!((header(HOST), header(FORWARDED_HOST)), ("Order_Service", "Order_Service"));
            assert_eq!(header(FORWARDED_PROTO), proto);
        }
        let mut request =
            Request::get("lb://x/").header(FORWARDED_HOST, "shop.example").header(HOST, "h").body(()).unwrap();
        rewrite(&mut request, Form::Any, &secure, &endpoints(both));
        assert_eq!(
            (&request.headers()[FORWARDED_HOST], &request.headers()[HOST]),
            (&"shop.example".parse().unwrap(), &"h".parse().unwrap())
        );
    }

    #[test]
    fn a_name_that_no_header_can_hold_is_left_out() {
        let settings = ServiceSettings::default().with_host_header(HostHeader::Service);
        let chinese = Endpoints::new(ServiceKey::new("", "a\nb"), Arc::new(settings));
        let mut request = Request::get("lb://x/").body(()).unwrap();
        rewrite(&mut request, Form::Any, &target(Scheme::HTTP, "h:1"), &chinese);
        assert!(request.headers().is_empty());
    }
}
