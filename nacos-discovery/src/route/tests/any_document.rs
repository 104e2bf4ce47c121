//! Documents that can be used, of every form.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

pub(super) fn any_document() -> impl Strategy<Value = RouteDocument> {
    let name = prop_oneof![
        "[a-z.-]{1,8}",
        "[a-z]{1,4}@@[a-z]{1,4}",
        "\\PC{1,6}".prop_filter("no group", |name| !name.contains('@'))
    ];
    prop::collection::btree_map(name, rules(), 0..3).prop_map(|services| {
        services.into_iter().fold(RouteDocument::new(), |all, (name, rules)| all.with_service(name, rules))
    })
}

fn rules() -> impl Strategy<Value = RouteRules> {
    let routes = prop::collection::vec(rule(), 0..4);
    (prop::option::of(label()), routes).prop_map(|(baseline, routes)| {
        let rules = RouteRules { baseline, ..RouteRules::new() };
        let names =
            routes.into_iter().enumerate().map(|(index, rule)| Rule { name: format!("{}{index}", rule.name), ..rule });
        names.fold(rules, RouteRules::with_rule)
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let miss = prop_oneof![Just(Miss::Baseline), Just(Miss::Fail), label().prop_map(Miss::Label)];
    let when = prop::collection::vec(condition(), 0..3);
    ("\\PC{0,8}", when, destinations(), prop::option::of(taken()), miss)
        .prop_map(|(name, when, to, sticky, miss)| Rule { when, to, sticky, ..Rule::new(name).or(miss) })
}

fn destinations() -> impl Strategy<Value = Vec<WeightedDestination>> {
    let alone = (key(), taken()).prop_map(|(key, subject)| Rule::new("").to(Destination::label_from(key, subject)).to);
    let fixed = || prop_oneof![Just(Destination::Baseline), label().prop_map(Destination::Label)];
    let several = prop::collection::vec((0_u32..=10_000, fixed()), 0..4).prop_flat_map(move |mut parts| {
        parts.sort_by_key(|(cut, _)| *cut);
        fixed().prop_map(move |last| {
            let mut begin = 0;
            let rule = parts.iter().fold(Rule::new(""), |rule, (cut, one)| {
                let share = f64::from(cut - begin) / 100.0;
                begin = *cut;
                rule.share(share, one.clone())
            });
            rule.share(f64::from(10_000 - begin) / 100.0, last).to
        })
    });
    prop_oneof![1 => alone, 3 => several]
}

fn condition() -> impl Strategy<Value = Condition> {
    let path = "/[a-z/%]{0,8}";
    let method = || select(&["GET", "HEAD", "POST", "PURGE-ALL"][..]).prop_map(str::to_owned);
    prop_oneof![
        (taken(), test("\\PC{0,10}")).prop_map(|(subject, test)| Condition::new(subject, test)),
        test(path).prop_map(|test| Condition::new(Subject::Path, test)),
        method().prop_map(|method| Condition::new(Subject::Method, Test::Exact(method))),
        prop::collection::vec(method(), 1..3).prop_map(|all| Condition::new(Subject::Method, Test::Any(all))),
    ]
}

fn test(text: &'static str) -> impl Strategy<Value = Test> {
    prop_oneof![
        text.prop_map(Test::Exact),
        prop::collection::vec(text, 1..4).prop_map(Test::Any),
        text.prop_filter("something", |text| !text.is_empty()).prop_map(Test::Prefix),
        select(&["v[0-9]+", "a|b", "(?i)x", "", "\\d{1,3}", "#: '\""][..]).prop_map(Test::regex),
        Just(Test::Present),
    ]
}

fn taken() -> impl Strategy<Value = Subject> {
    prop_oneof![
        "[A-Za-z-]{1,8}".prop_map(Subject::Header),
        "\\PC{1,8}".prop_map(Subject::Query),
        "[A-Za-z_-]{1,8}".prop_map(Subject::Cookie),
        "\\PC{1,8}".prop_map(Subject::Tag),
    ]
}

fn label() -> impl Strategy<Value = Label> {
    prop::collection::btree_map(key(), "\\PC{1,8}|[0-9.]{1,4}|true|null|~", 1..3)
        .prop_map(|all| all.into_iter().collect())
}

fn key() -> impl Strategy<Value = String> {
    "[a-z._-]{1,6}|\\PC{1,4}"
}
