use std::sync::Arc;

use nacos_client::{Instance, ServiceKey};

use super::*;
use crate::ServiceInstance;

fn instance(port: u16, entries: &[(&str, &str)]) -> Instance {
    entries.iter().fold(Instance::new(("127.0.0.1", port)), |one, (key, value)| one.metadata(*key, *value))
}

fn instances() -> Vec<ServiceInstance> {
    let all = [
        instance(1, &[]),
        instance(2, &[("version", "v1")]),
        instance(3, &[("version", "v2")]),
        instance(4, &[("version", "v2")]).weight(0.0),
        instance(5, &[("tenant", "acme")]),
    ];
    all.into_iter().map(|one| ServiceInstance::new(ServiceKey::new("", "orders"), Arc::new(one))).collect()
}

fn document() -> RouteDocument {
    let rules = RouteRules::new()
        .with_baseline(version("v1"))
        .with_rule(Rule::new("testers").when_header("x-version", Test::exact("v2")).to(version("v2")).or_fail())
        .with_rule(Rule::new("v3").when_header("x-version", Test::exact("v3")).to(version("v3")).or_fail())
        .with_rule(
            Rule::new("tenant")
                .when_path(Test::prefix("/tenant"))
                .to(Destination::label_from("tenant", Subject::tag("t"))),
        )
        .with_rule(
            Rule::new("canary")
                .when_path(Test::prefix("/new"))
                .share(10.0, version("v4"))
                .share(90.0, Destination::Baseline)
                .sticky_by(Subject::cookie("user"))
                .or(Miss::Label(version("v2"))),
        );
    RouteDocument::new().with_service("orders", rules)
}

fn recorded(line: &str) -> RecordedRequest {
    RecordedRequest::from_json(line).expect("a recorded request")
}

#[test]
fn a_dry_run_tells_where_each_request_would_go() {
    let requests = [
        "{}",
        r#"{ "headers": { "X-Version": "v2" } }"#,
        r#"{ "headers": { "x-version": ["v1", "v3"] } }"#,
        r#"{ "uri": "http://orders/tenant/1?x=y", "tags": { "t": "acme" } }"#,
        r#"{ "method": "POST", "uri": "/tenant" }"#,
        r#"{ "uri": "/new" }"#,
        r#"{ "uri": "/new", "headers": { "cookie": "user=7" } }"#,
    ];
    let run = document().dry_run("orders", &requests.map(recorded), &instances()).expect("rules that can be used");
    let expected = "\
REQUEST        RULE     TO              INSTANCES  ELSE
GET /          -        baseline        2          fail
GET /          testers  version=v2      1          fail
GET /          v3       version=v3      0          fail
GET /tenant/1  tenant   tenant=acme     1          baseline (2)
POST /tenant   tenant   tenant=?        0          baseline (2)
GET /new       canary   10 % version=v4  0          version=v2 (1)
                        90 % baseline    2          version=v2 (1)
GET /new       canary   baseline        2          version=v2 (1)
";
    let squeezed =
        |text: &str| text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    assert_eq!(squeezed(&run.to_string()), squeezed(expected), "\n{run}");
    assert_eq!((run.instances, run.without_rule, run.may_fail()), (4, 1, 1));
    let counts: Vec<_> = run.rules.iter().map(|rule| (rule.rule.as_str(), rule.requests)).collect();
    assert_eq!(counts, [("testers", 1), ("v3", 1), ("tenant", 2), ("canary", 2)]);
    let json = serde_json::to_value(&run).expect("JSON");
    assert_eq!(
        json["requests"][5],
        serde_json::json!({
            "request": "GET /new",
            "rule": "canary",
            "to": [
                { "destination": "version=v4", "percent": 10.0, "instances": 0 },
                { "destination": "baseline", "percent": 90.0, "instances": 2 },
            ],
            "miss": "version=v2",
            "missInstances": 1,
        })
    );
}

#[test]
fn a_dry_run_says_what_routing_does() {
    let document = document();
    let router = Router::new(&document.services["orders"]).expect("rules that can be used");
    for n in 0..200 {
        let request = recorded(&format!(r#"{{ "uri": "/new", "headers": {{ "cookie": "user={n}" }} }}"#));
        let run = document.dry_run("orders", [&request], &instances()).expect("rules that can be used");
        let route = router.route(&request.head(), || unreachable!("it is sticky"));
        let expected = if route.goal == Goal::Baseline { "baseline" } else { "version=v4" };
        assert_eq!(run.requests[0].to.len(), 1);
        assert_eq!(run.requests[0].to[0].destination, expected, "{n}");
    }
}

#[test]
fn services_without_rules_have_the_baseline_only_and_bad_rules_are_refused() {
    let run = document().dry_run("others", &[recorded("{}")], &instances()).expect("no rules");
    assert_eq!((run.requests[0].to[0].destination.as_str(), run.requests[0].to[0].instances), ("baseline", 4));
    let bad = RouteDocument::new().with_service("a", RouteRules::new().with_rule(Rule::new("one")));
    let error = bad.dry_run("a", [], &[]).expect_err("rules that cannot be used");
    assert_eq!(error.path(), "services.a.routes[0].to");
}

#[test]
fn recorded_requests_are_read_and_written() {
    let line = r#"{"method":"PUT","uri":"/a?b=c","headers":{"cookie":["a=1","b=2"],"x-a":"größe"},"tags":{"t":"1"}}"#;
    assert_eq!(serde_json::to_string(&recorded(line)).expect("JSON"), line);
    let mut request = with(get("/orders?x=1"), "x-a", b"1");
    request.extensions_mut().insert(RequestTags::new().with("t", "2"));
    let written = serde_json::to_string(&RecordedRequest::from(&request)).expect("JSON");
    assert_eq!(written, r#"{"method":"GET","uri":"/orders?x=1","headers":{"x-a":"1"},"tags":{"t":"2"}}"#);
    for (line, expected) in [
        ("", "a request is a JSON object, such as {\"uri\": \"/orders\"}"),
        ("[]", "a request is a JSON object"),
        ("7", "a request is a JSON object"),
        (r#"{"headers":{"a":7}}"#, "the value of a header is a text or a list of texts"),
        (r#"{"method":"G T"}"#, "\"G T\" is no method"),
        (r#"{"uri":"a b"}"#, "\"a b\" is no URI: invalid uri character"),
        (r#"{"headers":{"a b":"c"}}"#, "\"a b\" cannot be the name of a header"),
        (r#"{"headers":{"a":"b\nc"}}"#, "the header a cannot be \"b\\nc\""),
        (r#"{"header":{}}"#, "unknown field `header`, expected one of `method`, `uri`, `headers`, `tags`"),
    ] {
        let error = RecordedRequest::from_json(line).expect_err(line).to_string();
        assert!(error.starts_with(expected), "{line}: {error}");
    }
}
