use http::Method;
use proptest::prelude::*;

use super::*;

#[test]
fn each_test_holds_for_what_it_says_and_none_for_what_is_not_there() {
    let header = |value: &[u8]| with(get("/"), "x-version", value);
    let table: &[(Test, &[&str], &[&str])] = &[
        (Test::exact("v2"), &["v2"], &["V2", "v", "v22", ""]),
        (Test::exact(""), &[""], &["v"]),
        (Test::any(["v3", "v1", "v2"]), &["v1", "v2", "v3"], &["v4", "v", "v1,v2", ""]),
        (Test::prefix("v2"), &["v2", "v2.1"], &["v1", "xv2", ""]),
        (Test::regex("v[0-9]+"), &["v1", "v23"], &["xv1", "v1x", "v", "v1\u{a0}", ""]),
        (Test::regex("a|b"), &["a", "b"], &["ab", "ax", "xb"]),
        (Test::regex("(?i)V2"), &["v2", "V2"], &["v3"]),
        (Test::regex(".*"), &["", "x"], &[]),
        (Test::Present, &["", "x"], &[]),
    ];
    for (test, yes, no) in table {
        for value in *yes {
            assert!(holds(Subject::header("X-Version"), test.clone(), &header(value.as_bytes())), "{test}: {value:?}");
        }
        for value in *no {
            assert!(!holds(Subject::header("X-Version"), test.clone(), &header(value.as_bytes())), "{test}: {value:?}");
        }
        assert!(!holds(Subject::header("x-version"), test.clone(), &get("/")), "{test}: nothing is there");
    }
}

#[test]
fn one_of_several_values_is_enough() {
    let request = with(with(get("/?a=1&a=2"), "x-a", b"1"), "x-a", b"2");
    let request = with(with(request, "cookie", b"b=0; a=1"), "cookie", b"a=2");
    for subject in [Subject::header("x-a"), Subject::query("a"), Subject::cookie("a")] {
        for value in ["1", "2"] {
            assert!(holds(subject.clone(), Test::exact(value), &request), "{subject} {value}");
        }
        assert!(!holds(subject.clone(), Test::exact("1,2"), &request), "{subject}");
    }
}

#[test]
fn values_that_are_no_text_are_there_and_nothing_else() {
    let request = with(with(get("/?a=v%ff"), "x-a", b"v\xff"), "cookie", b"a=v\xff");
    for subject in [Subject::header("x-a"), Subject::query("a"), Subject::cookie("a")] {
        assert!(holds(subject.clone(), Test::Present, &request), "{subject}");
        for test in [Test::prefix("v"), Test::regex(".*"), Test::regex("(?s-u:.*)|v.*"), Test::exact("v\u{fffd}")] {
            assert!(!holds(subject.clone(), test.clone(), &request), "{subject} {test}");
        }
    }
    let text = with(get("/"), "x-a", "größe".as_bytes());
    assert!(holds(Subject::header("x-a"), Test::exact("größe"), &text), "UTF-8 is text");
}

#[test]
fn values_of_more_than_256_bytes_are_not_there() {
    for (length, is_there) in [(256, true), (257, false), (8000, false)] {
        let long = "v".repeat(length);
        let mut request = with(get(&format!("/?a={long}")), "x-a", long.as_bytes());
        request = with(request, "cookie", format!("a={long}").as_bytes());
        request.extensions_mut().insert(RequestTags::new().with("a", &long));
        for subject in [Subject::header("x-a"), Subject::query("a"), Subject::cookie("a"), Subject::tag("a")] {
            for test in [Test::Present, Test::prefix("v"), Test::regex("v*")] {
                assert_eq!(holds(subject.clone(), test.clone(), &request), is_there, "{subject} {test} {length}");
            }
        }
    }
    let decoded = get(&format!("/?a={}", "%41".repeat(256)));
    assert!(holds(Subject::query("a"), Test::prefix("AAA"), &decoded), "what counts is the value, not how it is sent");
}

#[test]
fn paths_are_compared_as_sent_and_up_to_4096_bytes() {
    let request = get("http://orders:80/orders/a%20b?x=/users");
    assert!(holds(Subject::Path, Test::prefix("/orders"), &request));
    assert!(holds(Subject::Path, Test::exact("/orders/a%20b"), &request));
    assert!(holds(Subject::Path, Test::regex("/orders/[^/]+"), &request));
    assert!(!holds(Subject::Path, Test::any(["/users", "/"]), &request));
    assert!(holds(Subject::Path, Test::exact("/"), &get("http://orders")), "no path is the root");
    for (length, is_there) in [(4096, true), (4097, false)] {
        let long = get(&format!("/{}", "a".repeat(length - 1)));
        assert_eq!(holds(Subject::Path, Test::prefix("/a"), &long), is_there, "{length}");
    }
}

#[test]
fn methods_of_any_name_are_compared() {
    let request = |method: &str| {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        Request::builder().method(method).uri("/").body(()).expect("a request")
    };
    assert!(holds(Subject::Method, Test::any(["GET", "HEAD"]), &request("HEAD")));
    assert!(holds(Subject::Method, Test::exact("PURGE"), &request("PURGE")));
    assert!(holds(Subject::Method, Test::regex("P.*"), &request("POST")));
    assert!(!holds(Subject::Method, Test::exact("GET"), &request("get")), "methods are case-sensitive");
    assert!(!holds(Subject::Method, Test::prefix("P"), &request("GET")));
}

#[test]
fn tags_are_the_applications_own() {
    let mut request = with(get("/?tenant=a"), "tenant", b"a");
    assert!(!holds(Subject::tag("tenant"), Test::Present, &request));
    request.extensions_mut().insert(RequestTags::new().with("tenant", "acme"));
    assert!(holds(Subject::tag("tenant"), Test::exact("acme"), &request));
    assert!(!holds(Subject::tag("Tenant"), Test::Present, &request));
}

#[test]
fn all_conditions_of_a_rule_must_hold() {
    let rule = Rule::new("one").when_header("x-a", Test::exact("1")).when_query("b", Test::exact("2"));
    let router = router([rule.to(Destination::Baseline)]);
    let applies = |request: Request<()>| router.route(&RequestHead::from(&request), || 0).rule.is_some();
    assert!(applies(with(get("/?b=2"), "x-a", b"1")));
    assert!(!applies(with(get("/"), "x-a", b"1")));
    assert!(!applies(get("/?b=2")));
}

proptest! {
    /// Whatever a request has, asking it neither fails nor finds what is not there.
    #[test]
    fn a_query_is_read_as_forms_are_written(
        pairs in prop::collection::vec(("[ab+&=%é ]{0,3}", "\\PC{0,12}"), 0..6),
        name in "[ab+&=%é ]{1,3}",
        wanted in "\\PC{0,12}",
    ) {
        let coded = |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
        let query: Vec<String> = pairs.iter().map(|(key, value)| format!("{}={}", coded(key), coded(value))).collect();
        let request = get(&format!("/?{}", query.join("&")));
        let has = pairs.iter().any(|(key, value)| *key == name && *value == wanted);
        prop_assert_eq!(holds(Subject::query(name), Test::exact(wanted), &request), has);
    }

    #[test]
    fn no_header_is_too_odd(value in prop::collection::vec(0x20_u8..=0xff, 0..300), name in "[a-z]{1,3}") {
        let Ok(value) = http::HeaderValue::from_bytes(&value) else { return Ok(()) };
        let mut request = get("/");
        request.headers_mut().append("cookie", value.clone());
        request.headers_mut().append("a", value);
        for subject in [Subject::header("a"), Subject::cookie(name)] {
            for test in [Test::exact("a"), Test::any(["a", "b"]), Test::prefix("a"), Test::regex("a+"), Test::Present] {
                let _ = holds(subject.clone(), test, &request);
            }
        }
    }
}
