use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// So many requests are drawn.
const REQUESTS: u32 = 100_000;

fn canary(name: &str, percent: f64) -> Rule {
    Rule::new(name).share(percent, version("v2")).share(100.0 - percent, Destination::Baseline)
}

fn user(number: u32) -> Request<()> {
    with(get("/"), "x-user", format!("user-{number}").as_bytes())
}

fn goes_to_v2(router: &Router, request: &Request<()>, draw: impl FnOnce() -> u64) -> bool {
    router.route(&RequestHead::from(request), draw).goal == Goal::Fixed(0)
}

/// 5 σ of a binomial distribution.
fn five_sigma(share: f64) -> f64 {
    5.0 * (f64::from(REQUESTS) * share * (1.0 - share)).sqrt()
}

#[test]
fn sc12_ten_percent_of_requests_are_a_tenth_of_them() {
    for seed in 0..5 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let router = router([canary("canary", 10.0)]);
        let request = get("/");
        let hits = (0..REQUESTS).filter(|_| goes_to_v2(&router, &request, || rng.u64(..))).count();
        assert!(hits.abs_diff(10_000) <= 475, "{hits} of {REQUESTS}, seed {seed}");
    }
}

#[test]
fn sc12_ten_percent_of_users_are_a_tenth_of_them_too() {
    for name in ["canary", "a", "roll-out of 2026"] {
        let router = router([canary(name, 10.0).sticky_by(Subject::header("x-user"))]);
        let hits = (0..REQUESTS).filter(|n| goes_to_v2(&router, &user(*n), || unreachable!("it is sticky"))).count();
        assert!(hits.abs_diff(10_000) <= 475, "{hits} of {REQUESTS}, {name}");
    }
}

#[test]
fn shares_of_several_destinations_are_kept_to_the_hundredth() {
    let rule = Rule::new("one").share(0.01, version("v4")).share(33.33, version("v2"));
    let router = router([rule.share(0.0, version("v3")).share(66.66, Destination::Baseline)]);
    let request = get("/");
    let mut rng = fastrand::Rng::with_seed(7);
    let mut hits = BTreeMap::new();
    for _ in 0..REQUESTS {
        let goal = router.route(&RequestHead::from(&request), || rng.u64(..)).goal;
        *hits.entry(format!("{goal:?}")).or_insert(0_u32) += 1;
    }
    let near = |hits: Option<&u32>, share: f64| {
        (f64::from(*hits.unwrap_or(&0)) - share * f64::from(REQUESTS)).abs() <= five_sigma(share)
    };
    assert!(near(hits.get("Fixed(0)"), 0.0001), "{hits:?}");
    assert!(near(hits.get("Fixed(1)"), 0.3333), "{hits:?}");
    assert!(near(hits.get("Baseline"), 0.6666), "{hits:?}");
    assert_eq!(hits.get("Fixed(2)"), None, "0 percent is nobody");
}

#[test]
fn who_is_drawn_without_a_value_to_be_sticky_by_is_drawn_at_random() {
    let router = router([canary("canary", 50.0).sticky_by(Subject::header("x-user"))]);
    for request in [get("/"), with(get("/"), "x-user", b""), with(get("/"), "x-user", &[b'u'; 257])] {
        assert!(goes_to_v2(&router, &request, || 0), "{request:?}");
        assert!(!goes_to_v2(&router, &request, || u64::MAX), "{request:?}");
    }
}

#[test]
fn a_draw_is_the_same_wherever_and_whenever_it_is_made() {
    // Computed by another program from the published FNV-1a and its finish: other processes, and later versions, must draw alike.
    let router = router([canary("canary", 50.0).sticky_by(Subject::header("x-user"))]);
    let seen: String = (0..64).map(|n| if goes_to_v2(&router, &user(n), || 0) { '1' } else { '0' }).collect();
    assert_eq!(seen, "1110011010111100110110010000101000111111111110111111011101100001");
}

#[test]
fn rules_of_different_names_draw_independently() {
    let routers = ["one", "two"].map(|name| router([canary(name, 50.0).sticky_by(Subject::header("x-user"))]));
    let mut counts = [[0_u32; 2]; 2];
    for n in 0..REQUESTS {
        let request = user(n);
        let [one, two] = routers.each_ref().map(|router| usize::from(goes_to_v2(router, &request, || 0)));
        counts[one][two] += 1;
    }
    for count in counts.iter().flatten() {
        assert!((f64::from(*count) - f64::from(REQUESTS) / 4.0).abs() <= five_sigma(0.25), "{counts:?}");
    }
}

proptest! {
    #[test]
    fn raising_the_first_share_keeps_its_users(
        low in 0_u32..=10_000, more in 0_u32..=10_000, name in "[a-z]{1,8}", user in "[ -~]{1,20}",
    ) {
        let high = (low + more).min(10_000);
        let rule = |percent: u32| {
            let percent = f64::from(percent) / 100.0;
            let rest = f64::from((10_000.0 - percent * 100.0).round() as u32) / 100.0;
            let rule = Rule::new(&name).share(percent, version("v2")).share(rest, Destination::Baseline);
            router([rule.sticky_by(Subject::tag("user"))])
        };
        let mut request = get("/");
        request.extensions_mut().insert(RequestTags::new().with("user", &user));
        let (before, after) = (rule(low), rule(high));
        let never = || unreachable!("it is sticky");
        if goes_to_v2(&before, &request, never) {
            prop_assert!(goes_to_v2(&after, &request, never));
        }
        prop_assert!(high < 10_000 || goes_to_v2(&after, &request, never), "all of them is everybody");
        prop_assert!(low > 0 || !goes_to_v2(&before, &request, never), "none of them is nobody");
    }

    #[test]
    fn any_shares_that_are_100_together_are_taken(cuts in prop::collection::vec(0_u32..=10_000, 0..6), bits in any::<u64>()) {
        let mut cuts = cuts;
        cuts.extend([0, 10_000]);
        cuts.sort_unstable();
        let rule = cuts.windows(2).enumerate().fold(Rule::new("one"), |rule, (index, ends)| {
            rule.share(f64::from(ends[1] - ends[0]) / 100.0, version(&format!("v{index}")))
        });
        let router = router([rule]);
        let request = get("/");
        let point = u32::try_from((u128::from(bits) * 10_000) >> 64).expect("small");
        let expected = cuts.windows(2).position(|ends| (ends[0]..ends[1]).contains(&point)).expect("one of them");
        prop_assert_eq!(router.route(&RequestHead::from(&request), || bits).goal, Goal::Fixed(expected));
    }
}
