use super::*;

fn said(rules: impl IntoIterator<Item = Rule>) -> Vec<String> {
    let rules = rules.into_iter().fold(RouteRules::new(), RouteRules::with_rule);
    let document = RouteDocument::new().with_service("orders", rules);
    assert_eq!(document.check(), Ok(()), "a warning is no error");
    document.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn a_rule_that_one_above_it_overrules_is_told() {
    let tester = |name: &str| Rule::new(name).when_header("x-tester", Test::Present).to(version("v2"));
    let all = |name: &str| Rule::new(name).to(Destination::Baseline);
    assert_eq!(said([tester("a"), all("b")]), [""; 0]);
    assert_eq!(
        said([all("stop"), tester("a"), all("b")]),
        [
            "services.orders.routes[1]: never applies: whatever it is for, the rule \"stop\" above it takes",
            "services.orders.routes[2]: never applies: whatever it is for, the rule \"stop\" above it takes",
        ]
    );
    assert_eq!(
        said([
            tester("a"),
            tester("b").when_path(Test::prefix("/orders")),
            Rule::new("c").when_path(Test::Present).to(version("v2"))
        ]),
        ["services.orders.routes[1]: never applies: whatever it is for, the rule \"a\" above it takes"]
    );
}

#[test]
fn sticky_without_shares_is_told() {
    let rule = Rule::new("one").to(version("v2")).sticky_by(Subject::header("x-user"));
    assert_eq!(said([rule]), ["services.orders.routes[0].sticky: does nothing: there is one destination only"]);
    let rule = Rule::new("one").share(100.0, version("v2")).share(0.0, Destination::Baseline);
    assert_eq!(said([rule.sticky_by(Subject::header("x-user"))]), [""; 0]);
}
