use std::borrow::Cow;
use std::collections::BTreeMap;

use super::*;

fn never() -> u64 {
    unreachable!("nothing is drawn")
}

#[test]
fn the_first_rule_whose_conditions_hold_says_where() {
    let router = router([
        Rule::new("first").when_header("x-version", Test::exact("v2")).to(version("v2")).or_fail(),
        Rule::new("second")
            .when_header("x-version", Test::prefix("v"))
            .to(version("v3"))
            .or(Miss::Label(version("v2"))),
        Rule::new("third").when_path(Test::prefix("/new")).to(Destination::Baseline),
    ]);
    assert_eq!(router.fixed(), [version("v2"), version("v3")], "each label once, in the order of their mention");
    let table = [
        (with(get("/new"), "x-version", b"v2"), Some("first"), Goal::Fixed(0), MissGoal::Fail),
        (with(get("/new"), "x-version", b"v9"), Some("second"), Goal::Fixed(1), MissGoal::Fixed(0)),
        (with(get("/new"), "x-version", b"w"), Some("third"), Goal::Baseline, MissGoal::Baseline),
        (get("/old"), None, Goal::Baseline, MissGoal::Fail),
    ];
    for (request, rule, goal, miss) in table {
        assert_eq!(router.route(&RequestHead::from(&request), never), Route { rule, goal, miss }, "{request:?}");
    }
}

#[test]
fn a_request_that_no_rule_is_for_goes_to_the_baseline_and_to_nobody_else() {
    for rules in [vec![], vec![Rule::new("one").when_tag("a", Test::Present).to(version("v2"))]] {
        let router = router(rules);
        let request = get("/");
        let route = router.route(&RequestHead::from(&request), never);
        assert_eq!(route, Route { rule: None, goal: Goal::Baseline, miss: MissGoal::Fail });
    }
}

#[test]
fn a_label_is_taken_from_the_first_value_that_can_be_one() {
    let long = "v".repeat(257);
    for (subject, requests) in [
        (Subject::header("x-version"), [&b""[..], b"v\xff", long.as_bytes(), b"v2", b"v3"].as_slice()),
        (Subject::cookie("version"), &[b"version=; version=\"v2\"; version=v3"]),
    ] {
        let name = if subject == Subject::cookie("version") { "cookie" } else { "x-version" };
        let router = router([Rule::new("one").to(Destination::label_from("version", subject)).or_fail()]);
        let request = requests.iter().fold(get("/"), |request, value| with(request, name, value));
        let route = router.route(&RequestHead::from(&request), never);
        assert_eq!(route.goal, Goal::Taken { key: 0, value: Cow::Borrowed("v2") });
        assert!(matches!(route.goal, Goal::Taken { value: Cow::Borrowed(_), .. }), "nothing is copied");
    }
    let router = router([Rule::new("one").to(Destination::label_from("version", Subject::query("v")))]);
    let request = get("/?v=v%202");
    let route = router.route(&RequestHead::from(&request), never);
    assert_eq!(route.goal, Goal::Taken { key: 0, value: Cow::Borrowed("v 2") });
}

#[test]
fn a_request_that_names_no_label_is_a_miss_of_the_rule_that_wants_one() {
    for (miss, expected) in [
        (Miss::Fail, MissGoal::Fail),
        (Miss::Baseline, MissGoal::Baseline),
        (Miss::Label(version("v1")), MissGoal::Fixed(0)),
    ] {
        let rule = Rule::new("one").to(Destination::label_from("version", Subject::header("x-version")));
        let router = router([rule.or(miss), Rule::new("never").to(Destination::Baseline)]);
        for request in [get("/"), with(get("/"), "x-version", b""), with(get("/"), "x-version", &[b'v'; 257])] {
            let route = router.route(&RequestHead::from(&request), never);
            assert_eq!(route, Route { rule: Some("one"), goal: Goal::Unnamed { key: 0 }, miss: expected });
        }
    }
}

#[test]
fn the_baseline_is_whoever_has_none_of_the_keys_or_has_them_as_its_label() {
    let rules = RouteRules::new()
        .with_baseline(version("v1").and("stage", "prod"))
        .with_rule(Rule::new("one").to(version("v2")).or(Miss::Label(Label::new("spare", "yes"))))
        .with_rule(Rule::new("two").to(Destination::label_from("tenant", Subject::header("x-tenant"))));
    let router = Router::new(&rules).expect("rules that can be used");
    let is_baseline = |entries: &[(&str, &str)]| {
        let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        router.is_baseline(&entries.collect::<BTreeMap<_, _>>())
    };
    assert!(is_baseline(&[]));
    assert!(is_baseline(&[("zone", "a")]), "keys that no rule names do not matter");
    assert!(is_baseline(&[("version", "v1")]));
    assert!(is_baseline(&[("version", "v1"), ("stage", "prod")]));
    assert!(!is_baseline(&[("version", "v2")]));
    assert!(!is_baseline(&[("version", "v1"), ("stage", "test")]));
    assert!(!is_baseline(&[("spare", "yes")]), "the label of a miss is none of the baseline");
    assert!(!is_baseline(&[("tenant", "acme")]), "a key whose value requests name is none of the baseline");
    assert_eq!((router.fixed().len(), router.taken()), (2, &["tenant".to_owned()][..]));
}
