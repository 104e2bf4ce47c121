//! Routed picks beside a model that goes through the list for each request.

use std::collections::BTreeSet;

use http::Request;
use proptest::prelude::*;

use super::*;
use crate::pick::Verdict;
use crate::route::{Destination, Goal, Label, Miss, MissGoal, RequestHead, RouteRules, Router, Rule, Subject, Test};

const VERSIONS: [Option<&str>; 4] = [None, Some("v1"), Some("v2"), Some("v3")];
const ZONES: [Option<&str>; 3] = [None, Some("a"), Some("b")];

fn instances() -> impl Strategy<Value = Vec<Instance>> {
    let one = (0..VERSIONS.len(), 0..ZONES.len(), 0..6u8);
    prop::collection::vec(one, 0..12).prop_map(|rows| {
        let made = rows.into_iter().zip(1u16..).map(|((version, zone, state), port)| {
            let mut one = instance(port).weight(f64::from(port));
            if let Some(version) = VERSIONS[version] {
                one = one.metadata("version", version);
            }
            if let Some(zone) = ZONES[zone] {
                one = one.metadata("area", zone);
            }
            match state {
                0 => one.weight(0.0),
                1 => one.healthy(false),
                2 => one.enabled(false),
                _ => one,
            }
        });
        made.collect()
    })
}

fn label() -> impl Strategy<Value = Label> {
    (1..VERSIONS.len(), 0..ZONES.len(), any::<bool>()).prop_map(|(version, zone, both)| {
        let label = Label::new("version", VERSIONS[version].unwrap_or_default());
        match ZONES[zone] {
            Some(zone) if both => label.and("area", zone),
            Some(zone) => Label::new("area", zone),
            None => label,
        }
    })
}

fn destination() -> impl Strategy<Value = Destination> {
    prop_oneof![Just(Destination::Baseline), label().prop_map(Destination::Label)]
}

fn miss() -> impl Strategy<Value = Miss> {
    prop_oneof![Just(Miss::Baseline), Just(Miss::Fail), label().prop_map(Miss::Label)]
}

fn rule() -> impl Strategy<Value = Rule> {
    let to = prop_oneof![
        3 => destination().prop_map(|to| vec![(100.0, to)]),
        2 => (destination(), destination(), 0..=100u8)
            .prop_map(|(a, b, share)| vec![(f64::from(share), a), (f64::from(100 - share), b)]),
        2 => Just(vec![(100.0, Destination::LabelFrom { key: "version".to_owned(), subject: Subject::header("x-version") })]),
    ];
    let when = prop::option::of(prop_oneof![
        (1..VERSIONS.len()).prop_map(|at| Test::exact(VERSIONS[at].unwrap_or_default())),
        Just(Test::Present),
    ]);
    (to, when, miss(), any::<bool>()).prop_map(|(to, when, miss, sticky)| {
        let rule = to.into_iter().fold(Rule::new("rule").or(miss), |rule, (share, to)| rule.share(share, to));
        let rule = if sticky { rule.sticky_by(Subject::header("x-version")) } else { rule };
        when.into_iter().fold(rule, |rule, test| rule.when_header("x-version", test))
    })
}

fn rules() -> impl Strategy<Value = RouteRules> {
    (prop::collection::vec(rule(), 0..4), prop::option::of(label())).prop_map(|(rules, baseline)| {
        let rules = rules.into_iter().enumerate().map(|(at, mut rule)| {
            rule.name = format!("rule-{at}");
            rule
        });
        let all = rules.fold(RouteRules::new(), RouteRules::with_rule);
        baseline.into_iter().fold(all, RouteRules::with_baseline)
    })
}

/// Who can take requests of those for which this holds.
fn takers(list: &[Instance], is_of: impl Fn(&BTreeMap<String, String>) -> bool) -> BTreeSet<u16> {
    let takes = |one: &&Instance| one.enabled && one.healthy && one.weight > 0.0;
    list.iter().filter(takes).filter(|one| is_of(&one.metadata)).map(|one| one.port).collect()
}

/// Where a request may go.
fn expected(list: &[Instance], router: &Router, head: &RequestHead<'_>, draw: u64) -> BTreeSet<u16> {
    let route = router.route(head, || draw);
    let baseline = || takers(list, |metadata| router.is_baseline(metadata));
    let fixed = |at: usize| takers(list, |metadata| router.fixed()[at].is_of(metadata));
    let goal = match route.goal {
        Goal::Baseline => baseline(),
        Goal::Fixed(at) => fixed(at),
        Goal::Taken { key, value } => {
            takers(list, |metadata| metadata.get(&router.taken()[key]).is_some_and(|own| *own == *value))
        }
        Goal::Unnamed { .. } => BTreeSet::new(),
    };
    if !goal.is_empty() {
        return goal;
    }
    match route.miss {
        MissGoal::Fail => BTreeSet::new(),
        MissGoal::Baseline => baseline(),
        MissGoal::Fixed(at) => fixed(at),
    }
}

/// Everyone that some request reaches.
fn reachable(list: &[Instance], router: &Router) -> BTreeSet<u16> {
    takers(list, |metadata| {
        router.is_baseline(metadata)
            || router.fixed().iter().any(|label| label.is_of(metadata))
            || router.taken().iter().any(|key| metadata.contains_key(key))
    })
}

fn agree(endpoints: &Endpoints, list: &[Instance], rules: &RouteRules, draws: &[u64]) -> Result<(), TestCaseError> {
    let router = Router::new(rules).unwrap();
    let all: BTreeSet<_> = ports(&endpoints.all()).into_iter().collect();
    prop_assert_eq!(&all, &reachable(list, &router));
    for (instance, verdict) in endpoints.verdicts() {
        prop_assert_eq!(verdict.is_eligible(), all.contains(&instance.port()), "{} {:?}", instance, verdict);
        let unrouted = takers(list, |_| true).contains(&instance.port()) && !all.contains(&instance.port());
        prop_assert_eq!(verdict == Verdict::Unrouted, unrouted);
    }
    for version in [None, Some("v1"), Some("v2"), Some("v3"), Some("v9"), Some("")] {
        let request = Request::get("/");
        let request = version.into_iter().fold(request, |request, version| request.header("x-version", version));
        let request = request.body(()).unwrap();
        let head = RequestHead::from(&request);
        for draw in draws {
            let expected = expected(list, &router, &head, *draw);
            let mut seen = BTreeSet::new();
            for _ in 0..8 {
                match endpoints.pick(&mut PickContext::new().for_request(head).drawn(*draw)) {
                    Ok(picked) => seen.insert(picked.instance().port()),
                    Err(none) => {
                        prop_assert!(expected.is_empty(), "{:?} instead of {:?}", none, expected);
                        let is_miss = matches!(none.reason, NoInstanceReason::RouteMiss { .. });
                        prop_assert_eq!(is_miss, !takers(list, |_| true).is_empty(), "{:?}", none.reason);
                        break;
                    }
                };
            }
            prop_assert!(seen.is_subset(&expected), "{:?} of {:?}", seen, expected);
            prop_assert_eq!(seen.is_empty(), expected.is_empty());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn sc11_picks_agree_with_a_model_that_reads_the_list_whatever_changes_first(
        steps in prop::collection::vec(prop_oneof![
            instances().prop_map(|list| (Some(list), None)),
            rules().prop_map(|rules| (None, Some(rules))),
        ], 1..6),
        draws in prop::collection::vec(any::<u64>(), 3),
    ) {
        let endpoints = endpoints(settings());
        let (mut known, mut rules) = (Vec::new(), RouteRules::new());
        endpoints.set_rules(Some(&rules)).unwrap();
        endpoints.apply(&list(0, []));
        for (step, revision) in steps.into_iter().zip(1..) {
            if let (Some(instances), _) = &step {
                known.clone_from(instances);
                endpoints.apply(&list(revision, instances.clone()));
            }
            if let (_, Some(new)) = step {
                endpoints.set_rules(Some(&new)).unwrap();
                rules = new;
            }
            agree(&endpoints, &known, &rules, &draws)?;
        }
    }
}
