use super::*;

/// What is said of a rule, as the only one.
fn refused(rule: Rule) -> String {
    Router::new(&RouteRules::new().with_rule(rule)).expect_err("a rule that cannot be used").to_string()
}

fn rule() -> Rule {
    Rule::new("one").to(Destination::Baseline)
}

#[test]
fn conditions_that_cannot_be_are_refused_with_their_place() {
    let table = [
        (
            rule().when_header("x y", Test::Present),
            "routes[0].when[0].header.name: \"x y\" cannot be the name of a header",
        ),
        (rule().when_query("", Test::Present), "routes[0].when[0].query.name: \"\" cannot be the name of a query"),
        (
            rule().when_cookie("a=b", Test::Present),
            "routes[0].when[0].cookie.name: \"a=b\" cannot be the name of a cookie",
        ),
        (rule().when_tag("", Test::Present), "routes[0].when[0].tag.name: \"\" cannot be the name of a tag"),
        (
            rule().when_method(Test::exact("GE T")),
            "routes[0].when[0].method.exact: \"GE T\" is no method; methods are written like GET",
        ),
        (
            rule().when_method(Test::any(["GET", "post"])),
            "routes[0].when[0].method.any[1]: \"post\" is no method; methods are written like GET",
        ),
        (
            rule().when_path(Test::prefix("orders")),
            "routes[0].when[0].path.prefix: \"orders\" is no path and no beginning of one, which has a / in front and no ? or #",
        ),
        (
            rule().when_path(Test::Present).when_path(Test::any(["/a", "/b?c"])),
            "routes[0].when[1].path.any[1]: \"/b?c\" is no path and no beginning of one, which has a / in front and no ? or #",
        ),
        (
            rule().when_tag("a", Test::prefix("")),
            "routes[0].when[0].tag.prefix: every text begins with the empty one; write present: true",
        ),
        (rule().when_tag("a", Test::any([""; 0])), "routes[0].when[0].tag.any: any needs at least one text"),
        (rule().when_tag("a", Test::exact("v".repeat(257))), "routes[0].when[0].tag.exact: longer than 256 bytes"),
        (rule().when_tag("a", Test::any(["v"; 1025])), "routes[0].when[0].tag.any: more than 1024 texts"),
        (rule().when_tag("n".repeat(129), Test::Present), "routes[0].when[0].tag.name: longer than 128 bytes"),
        (rule().when_tag("a", Test::regex("a".repeat(1025))), "routes[0].when[0].tag.regex: longer than 1024 bytes"),
    ];
    for (rule, expected) in table {
        assert_eq!(refused(rule), expected);
    }
    let many = (0..17).fold(rule(), |rule, _| rule.when_tag("a", Test::Present));
    assert_eq!(refused(many), "routes[0].when: more than 16 conditions");
}

#[test]
fn expressions_are_refused_with_the_reason() {
    for expression in ["(", "a)", "a)(b", "[z-a]", "(?=a)", r"(a)\1", "*", "(?x)a # b", &"(a{500}){500}".repeat(9)] {
        let error = Router::new(&RouteRules::new().with_rule(rule().when_tag("a", Test::regex(expression))));
        let error = error.expect_err(expression);
        assert_eq!(error.path(), "routes[0].when[0].tag.regex", "{expression}");
        let Problem::Regex { expression: told, reason } = error.problem() else { panic!("{error}") };
        assert!(told == expression && !reason.is_empty(), "{error}");
    }
}

#[test]
fn destinations_that_cannot_be_are_refused_with_their_place() {
    let from = || Destination::label_from("version", Subject::header("x-version"));
    let percent = |percent: f64| Rule::new("one").share(percent, version("v2")).share(50.0, Destination::Baseline);
    let table = [
        (
            Rule::new("one"),
            "routes[0].to: a rule needs a destination, such as { baseline: true } or { label: { version: v2 } }",
        ),
        (Rule::new(" ").to(Destination::Baseline), "routes[0].name: a rule needs a name"),
        (Rule::new("n".repeat(129)).to(Destination::Baseline), "routes[0].name: longer than 128 bytes"),
        (percent(49.99), "routes[0].to: the percentages are 99.99 together, but must be 100"),
        (percent(100.0), "routes[0].to: the percentages are 150 together, but must be 100"),
        (percent(-1.0), "routes[0].to[0].percent: -1 must be a number from 0 to 100 with at most two decimals"),
        (percent(f64::NAN), "routes[0].to[0].percent: NaN must be a number from 0 to 100 with at most two decimals"),
        (
            percent(f64::INFINITY),
            "routes[0].to[0].percent: inf must be a number from 0 to 100 with at most two decimals",
        ),
        (percent(100.5), "routes[0].to[0].percent: 100.5 must be a number from 0 to 100 with at most two decimals"),
        (percent(50.005), "routes[0].to[0].percent: 50.005 must be a number from 0 to 100 with at most two decimals"),
        (percent(50.0).to(from()), "routes[0].to[2].label-from: label-from must be the only destination of its rule"),
        (
            Rule::new("one").to(Destination::label_from("version", Subject::Path)),
            "routes[0].to[0].label-from.path: a value is taken from a header, query, cookie or tag, not from the path",
        ),
        (
            Rule::new("one").to(Destination::label_from("", Subject::tag("a"))),
            "routes[0].to[0].label-from.key: a metadata key cannot be empty",
        ),
        (
            Rule::new("one").to(version("")),
            "routes[0].to[0].label.version: a metadata value of a label cannot be empty",
        ),
        (Rule::new("one").to(Label::new("", "v2")), "routes[0].to[0].label.\"\": a metadata key cannot be empty"),
        (
            Rule::new("one").to(Label::new("a.b c", "v".repeat(257))),
            "routes[0].to[0].label.\"a.b c\": longer than 256 bytes",
        ),
        (
            rule().or(Miss::Label(version(""))),
            "routes[0].miss.label.version: a metadata value of a label cannot be empty",
        ),
        (
            rule().sticky_by(Subject::Method),
            "routes[0].sticky.method: a value is taken from a header, query, cookie or tag, not from the method",
        ),
        (rule().sticky_by(Subject::header("")), "routes[0].sticky.header: \"\" cannot be the name of a header"),
    ];
    for (rule, expected) in table {
        assert_eq!(refused(rule), expected);
    }
    let many = (0..33).fold(Rule::new("one"), |rule, _| rule.share(0.0, version("v2")));
    assert_eq!(refused(many), "routes[0].to: more than 32 destinations");
}

#[test]
fn rules_that_do_not_go_together_are_refused() {
    let said = |rules: RouteRules| Router::new(&rules).expect_err("rules that cannot be used").to_string();
    let all = |count: usize, rule: &dyn Fn(usize) -> Rule| {
        (0..count).map(rule).fold(RouteRules::new(), RouteRules::with_rule)
    };
    assert_eq!(
        said(RouteRules::new().with_rule(rule()).with_rule(Rule::new("two").to(version("v2"))).with_rule(rule())),
        "routes[2].name: the rule routes[0] is named \"one\", too; reports and sticky draws go by the name"
    );
    assert_eq!(said(all(257, &|n| Rule::new(n.to_string()).to(Destination::Baseline))), "routes: more than 256 rules");
    assert_eq!(
        said(all(129, &|n| Rule::new(n.to_string()).to(version(&n.to_string())))),
        "routes[128].to[0].label: more than 128 labels"
    );
    assert_eq!(
        said(RouteRules::new().with_baseline(version(""))),
        "baseline.version: a metadata value of a label cannot be empty"
    );
    assert!(Router::new(&all(256, &|n| Rule::new(n.to_string()).to(version("v2")))).is_ok());
}

#[test]
fn documents_say_which_service() {
    let said = |service: &str, rules: RouteRules| {
        RouteDocument::new()
            .with_service(service, rules)
            .check()
            .expect_err("a document that cannot be used")
            .to_string()
    };
    assert_eq!(
        said("shop@@order-service", RouteRules::new().with_rule(Rule::new("one"))),
        "services.shop@@order-service.routes[0].to: a rule needs a destination, such as { baseline: true } or { label: { version: v2 } }"
    );
    for service in ["", "@@a", "a@@", "@@", "a@@b@@c"] {
        assert!(
            said(service, RouteRules::new()).ends_with("a service is named like order-service or group@@order-service")
        );
    }
    let many = (0..=10_000).fold(RouteDocument::new(), |all, n| all.with_service(n.to_string(), RouteRules::new()));
    assert_eq!(many.check().expect_err("too many").to_string(), "services: more than 10000 services");
    assert_eq!(RouteDocument::new().with_service("a@@b", RouteRules::new()).check(), Ok(()));
}
