use super::*;

const WHOLE: &str = "
# All that can be said.
services:
  order-service:
    baseline: { version: v1 }
    routes:
      - name: testers
        when:
          - header: { name: X-Version, exact: v2 }
          - query: { name: a b, any: [x, 'y'] }
          - cookie: { name: c, regex: 'v[0-9]+' }
          - tag: { name: t, present: true }
          - path: { prefix: /orders }
          - method: { any: [GET, HEAD] }
        to: [ { label: { version: v2, stage: \"1.10\" } } ]
        miss: fail
      - name: by-header
        when: [ { header: { name: x-version, present: true } } ]
        to: [ { label-from: { key: version, header: x-version } } ]
        miss: baseline
      - name: canary
        to:
          - { label: { version: v2 }, percent: 10 }
          - { baseline: true, percent: 89.99 }
          - { label: { version: v3 }, percent: 1e-2 }
        sticky: { cookie: user }
        miss: { label: { version: v1 } }
  shop@@empty: {}
";

fn whole() -> RouteDocument {
    let testers = Rule::new("testers")
        .when_header("X-Version", Test::exact("v2"))
        .when_query("a b", Test::any(["x", "y"]))
        .when_cookie("c", Test::regex("v[0-9]+"))
        .when_tag("t", Test::Present)
        .when_path(Test::prefix("/orders"))
        .when_method(Test::any(["GET", "HEAD"]));
    let by_header = Rule::new("by-header").when_header("x-version", Test::Present);
    let canary = Rule::new("canary").share(10.0, version("v2")).share(89.99, Destination::Baseline);
    let rules = RouteRules::new()
        .with_baseline(version("v1"))
        .with_rule(testers.to(version("v2").and("stage", "1.10")).or_fail())
        .with_rule(by_header.to(Destination::label_from("version", Subject::header("x-version"))))
        .with_rule(canary.share(0.01, version("v3")).sticky_by(Subject::cookie("user")).or(Miss::Label(version("v1"))));
    RouteDocument::new().with_service("order-service", rules).with_service("shop@@empty", RouteRules::new())
}

#[test]
fn documents_say_what_the_builders_say() {
    assert_eq!(RouteDocument::from_yaml(WHOLE), Ok(whole()));
    let json = serde_json::to_string_pretty(&whole()).expect("JSON");
    assert_eq!(RouteDocument::from_json(&json), Ok(whole()));
    assert_eq!(RouteDocument::from_yaml(&json), Ok(whole()), "JSON is YAML");
    assert_eq!(serde_json::from_str::<RouteDocument>(&json).expect("a document"), whole());
    assert_eq!(RouteDocument::from_yaml(&format!("\u{feff}--- # one\n{WHOLE}\n...\n")), Ok(whole()));
    assert_eq!(RouteDocument::from_json(&format!("\u{feff}{json}")), Ok(whole()));
}

#[test]
fn what_is_written_has_the_form_of_documents() {
    let rules = RouteRules::new()
        .with_rule(Rule::new("one").when_header("a", Test::Present).to(version("v2")).sticky_by(Subject::tag("t")))
        .with_rule(Rule::new("two").share(0.5, version("v2")).share(99.5, Destination::Baseline).or_fail());
    let written = serde_json::to_value(RouteDocument::new().with_service("orders", rules)).expect("JSON");
    let expected = serde_json::json!({ "services": { "orders": { "routes": [
        {
            "name": "one",
            "when": [{ "header": { "name": "a", "present": true } }],
            "to": [{ "label": { "version": "v2" }, "percent": 100 }],
            "sticky": { "tag": "t" },
            "miss": "baseline",
        },
        {
            "name": "two",
            "to": [{ "label": { "version": "v2" }, "percent": 0.5 }, { "baseline": true, "percent": 99.5 }],
            "miss": "fail",
        },
    ] } } });
    assert_eq!(written, expected);
}

#[test]
fn anchors_stand_for_what_they_name() {
    let document = RouteDocument::from_yaml(
        "services:\n  a: &a\n    routes:\n    - name: one\n      to: [{ label: &v2 { version: v2 } }]\n      miss: { label: *v2 }\n  b: *a\n",
    );
    let document = document.expect("a document");
    assert_eq!(document.services["a"], document.services["b"]);
    assert_eq!(document.services["a"].routes[0].miss, Miss::Label(version("v2")));
}

/// What is said of a text.
fn refused(text: &str) -> String {
    RouteDocument::from_yaml(text).expect_err(text).to_string()
}

/// What is said of a rule, whose keys stand in the fifth column of the fifth line and below.
fn refused_rule(rule: &str) -> String {
    refused(&format!("services:\n  orders:\n    routes:\n    - name: one\n      {}\n", rule.replace('\n', "\n      ")))
}

#[test]
fn what_is_wrong_is_told_with_line_column_and_path() {
    let to = "to: [{ baseline: true }]";
    let table = [
        ("too: []", "5:7: services.orders.routes[0].too: unknown key \"too\", did you mean to?"),
        ("sparkle: 1", "5:7: services.orders.routes[0].sparkle: unknown key \"sparkle\""),
        (
            &format!("Sticky: {{}}\n{to}"),
            "5:7: services.orders.routes[0].Sticky: unknown key \"Sticky\", did you mean sticky?",
        ),
        ("miss: fail", "4:7: services.orders.routes[0]: the key to is missing"),
        ("to: {}", "5:7: services.orders.routes[0].to: is a block of keys and values, but must be a list"),
        ("to:", "5:7: services.orders.routes[0].to: is nothing, but must be a list"),
        (
            "to: []",
            "5:7: services.orders.routes[0].to: a rule needs a destination, such as { baseline: true } or { label: { version: v2 } }",
        ),
        (
            "to: [{ percent: 100 }]",
            "5:12: services.orders.routes[0].to[0]: needs one of the keys baseline, label, label-from",
        ),
        (
            "to: [{ baseline: true, label: { a: b } }]",
            "5:12: services.orders.routes[0].to[0]: needs one of the keys baseline, label, label-from",
        ),
        (
            "to:\n- { label: { version: v2 }, percent: 10 }\n- { baseline: true, percent: 80 }",
            "5:7: services.orders.routes[0].to: the percentages are 90 together, but must be 100",
        ),
        (
            "to:\n- { label: { version: v2 }, percent: 10.005 }\n- { baseline: true }",
            "7:9: services.orders.routes[0].to[1]: the key percent is missing",
        ),
        (
            "to:\n- { label: { version: v2 }, percent: 10.005 }\n- { baseline: true, percent: 89.995 }",
            "6:35: services.orders.routes[0].to[0].percent: 10.005 must be a number from 0 to 100 with at most two decimals",
        ),
        (
            "to: [{ baseline: true, percent: ten }]",
            "5:30: services.orders.routes[0].to[0].percent: is the text \"ten\", but must be a number",
        ),
        (
            "to: [{ baseline: true, percent: .nan }]",
            "5:30: services.orders.routes[0].to[0].percent: NaN must be a number from 0 to 100 with at most two decimals",
        ),
        (
            "to: [{ baseline: false }]",
            "5:14: services.orders.routes[0].to[0].baseline: is false, but must be true; leave the key out where it is not",
        ),
        (
            "to: [{ label: { version: 1.10 } }]",
            "5:23: services.orders.routes[0].to[0].label.version: must be a text: write \"1.10\" with the quotes",
        ),
        (
            "to: [{ label: {} }]",
            "5:14: services.orders.routes[0].to[0].label: a label needs an entry, such as version: v2",
        ),
        (
            "to: [{ label-from: { key: version } }]",
            "5:14: services.orders.routes[0].to[0].label-from: needs one of the keys header, query, cookie, tag",
        ),
        (
            "to: [{ label-from: { key: version, path: x } }]",
            "5:42: services.orders.routes[0].to[0].label-from.path: unknown key \"path\"",
        ),
        (
            &format!("{to}\nwhen:\n- header: {{ exact: a }}"),
            "7:9: services.orders.routes[0].when[0].header: the key name is missing",
        ),
        (
            &format!("{to}\nwhen:\n- header: {{ name: a, equals: a }}"),
            "7:28: services.orders.routes[0].when[0].header.equals: unknown key \"equals\"",
        ),
        (
            &format!("{to}\nwhen:\n- header: {{ name: a }}"),
            "7:9: services.orders.routes[0].when[0].header: needs one of the keys exact, any, prefix, regex, present",
        ),
        (
            &format!("{to}\nwhen:\n- path: {{ name: a, exact: /a }}"),
            "7:17: services.orders.routes[0].when[0].path.name: unknown key \"name\"",
        ),
        (
            &format!("{to}\nwhen:\n- tag: {{ name: a, regex: '(' }}"),
            "7:25: services.orders.routes[0].when[0].tag.regex: \"(\" is no regular expression: found open group without closing ')'",
        ),
        (
            &format!("{to}\nmiss: baselin"),
            "6:7: services.orders.routes[0].miss: must be baseline, fail or { label: { version: v1 } }",
        ),
        (
            &format!("{to}\nmiss: true"),
            "6:7: services.orders.routes[0].miss: must be baseline, fail or { label: { version: v1 } }",
        ),
        (&format!("{to}\n{to}"), "6:7: services.orders.routes[0]: the key \"to\" stands twice in one block"),
        (&format!("{to}\nsticky: {{ path: a }}"), "6:17: services.orders.routes[0].sticky.path: unknown key \"path\""),
    ];
    for (rule, expected) in table {
        assert_eq!(refused_rule(rule), expected, "{rule}");
    }
}

#[test]
fn texts_that_are_no_documents_are_refused() {
    let table = [
        ("", "1:1: there is nothing"),
        ("# nothing", "1:1: there is nothing"),
        ("---", "2:1: is nothing, but must be a block of keys and values"),
        ("[]", "1:1: is a list, but must be a block of keys and values"),
        ("{}", "1:1: the key services is missing"),
        ("services:", "1:1: services: is nothing, but must be a block of keys and values"),
        ("servcies: {}", "1:1: servcies: unknown key \"servcies\", did you mean services?"),
        ("services: {}\n---\nservices: {}", "2:1: another document begins here; write all services into one"),
        ("services: { a: *a }", "1:16: while parsing node, found unknown anchor"),
        ("services: &a { b: *a }", "1:19: an alias stands within the node it names, or before it"),
        ("services: { ? [a] : {} }", "1:15: a list or block stands where a key should"),
        ("services: !include x", "1:11: the tag !include means nothing here"),
        ("services: {}\n\0junk", "2:1: the character U+0000"),
        (
            "services:\n  a@@b@@c: {}",
            "2:3: services.a@@b@@c: a service is named like order-service or group@@order-service",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn json_is_read_as_json() {
    let said = |text: &str| RouteDocument::from_json(text).expect_err(text).to_string();
    assert_eq!(said("services: {}"), "1:1: expected value");
    assert_eq!(said("{\"services\": {},}"), "1:17: key must be a string");
    assert_eq!(said("{\"services\": {}} x"), "1:18: trailing characters");
    assert_eq!(said("{\"services\": {}, \"services\": {}}"), "1:18: the key \"services\" stands twice in one block");
    assert_eq!(
        said(
            "{\"services\": {\"a\": {\"routes\": [\n  {\"name\": \"\\\"\\\\\", \"to\": [{\"label\": {\"größe\": 1}}]}\n]}}}"
        ),
        "2:38: services.a.routes[0].to[0].label.größe: must be a text: write \"1\" with the quotes"
    );
    let smile =
        "{\"services\": {\"a\": {\"routes\": [{\"name\": \"\\ud83d\\ude00\\/\", \"to\": [{\"baseline\": true}]}]}}}";
    assert_eq!(RouteDocument::from_json(smile).expect("a document").services["a"].routes[0].name, "😀/");
}

#[test]
fn files_are_read_by_their_ending_and_named_in_errors() {
    let folder = std::env::temp_dir().join(format!("nacos-routes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, content).expect("a file");
        path
    };
    let yaml = file("routes.yaml", WHOLE.as_bytes());
    assert_eq!(RouteDocument::from_file(&yaml), Ok(whole()));
    let json = file("routes.JSON", serde_json::to_string(&whole()).expect("JSON").as_bytes());
    assert_eq!(RouteDocument::from_file(&json), Ok(whole()));
    let said = |path: std::path::PathBuf| {
        let error = RouteDocument::from_file(&path).expect_err("a file that cannot be used");
        assert_eq!(error.file(), path.to_str());
        error.to_string().replace(path.to_str().expect("a text"), "FILE")
    };
    assert_eq!(
        said(file("bad.yml", b"services:\n  a: { rotues: [] }")),
        "FILE:2:8: services.a.rotues: unknown key \"rotues\", did you mean routes?"
    );
    assert_eq!(said(file("yaml.json", WHOLE.as_bytes())), "FILE:2:1: expected value");
    assert!(
        said(file("latin.yml", b"services: { gr\xf6\xdfe: {} }")).starts_with("FILE: cannot be read: invalid utf-8")
    );
    assert!(said(folder.join("missing.yml")).starts_with("FILE: cannot be read: "));
    assert!(said(folder.clone()).starts_with("FILE: cannot be read: "));
    assert_eq!(said(file("large.yml", &vec![0xff; 2_000_000])), "FILE: longer than 1048576 bytes");
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}
