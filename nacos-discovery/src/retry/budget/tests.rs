use proptest::prelude::*;

use super::*;

const DEFAULT: Allowance = Allowance { percent: 20, per_second: 10 };

fn taken(budget: &mut Budget, times: usize, now: Instant) -> usize {
    (0..times).filter(|_| budget.take(now)).count()
}

#[test]
fn without_any_traffic_before_there_is_the_floor() {
    let now = Instant::now();
    let mut budget = Budget::new(DEFAULT, now);
    assert_eq!(taken(&mut budget, 1_000, now), 100);
}

#[test]
fn a_share_of_the_requests_comes_on_top() {
    let now = Instant::now();
    let mut budget = Budget::new(DEFAULT, now);
    (0..1_000).for_each(|_| budget.request(now));
    assert_eq!(taken(&mut budget, 1_000, now), 300);
}

#[test]
fn what_is_older_than_the_window_counts_no_more() {
    let now = Instant::now();
    let mut budget = Budget::new(DEFAULT, now);
    (0..1_000).for_each(|_| budget.request(now));
    assert_eq!(taken(&mut budget, 1_000, now), 300);
    assert_eq!(taken(&mut budget, 1_000, now + WINDOW), 0);
    assert_eq!(taken(&mut budget, 1_000, now + WINDOW + Duration::from_secs(1)), 100);
    assert_eq!(taken(&mut budget, 1_000, now + Duration::from_secs(3_600)), 100);
}

#[test]
fn what_was_not_used_comes_back_also_after_its_second() {
    let now = Instant::now();
    let mut budget = Budget::new(Allowance { percent: 0, per_second: 1 }, now);
    assert_eq!(taken(&mut budget, 20, now), 10);
    budget.put_back(now + Duration::from_secs(3));
    assert_eq!(taken(&mut budget, 20, now + Duration::from_secs(3)), 1);
    // With nothing out, nothing comes back.
    let later = now + Duration::from_secs(60);
    budget.put_back(later);
    assert_eq!(taken(&mut budget, 20, later), 10);
}

#[test]
fn nothing_allowed_is_nothing_given_and_much_does_not_overflow() {
    let now = Instant::now();
    let mut none = Budget::new(Allowance { percent: 0, per_second: 0 }, now);
    none.request(now);
    assert!(!none.take(now));
    let mut all = Budget::new(Allowance { percent: u32::MAX, per_second: u32::MAX }, now);
    all.request(now);
    assert!(all.take(now));
}

#[test]
fn clones_share_one() {
    let now = Instant::now();
    let one = SharedBudget::with(DEFAULT, now);
    let other = one.clone();
    assert_eq!((0..80).filter(|_| one.take(now)).count(), 80);
    assert_eq!((0..80).filter(|_| other.take(now)).count(), 20);
    other.put_back(now);
    assert!(one.take(now));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Wait(u64),
    Request,
    Take,
    PutBack,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..1_500u64).prop_map(Step::Wait),
        Just(Step::Request),
        Just(Step::Request),
        Just(Step::Take),
        Just(Step::Take),
        Just(Step::PutBack),
    ];
    proptest::collection::vec(step, 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In no window of 10 s, however it lies, are there more repetitions than a share of the requests of it and of the
    /// second before it, and the floor; and as long as fewer were made than that of the window alone, one is given.
    #[test]
    fn sc15_no_window_sees_more_than_is_allowed(steps in steps(), percent in 0..100u32, per_second in 0..4u32) {
        let start = Instant::now();
        let mut budget = Budget::new(Allowance { percent, per_second }, start);
        let mut now = start;
        let mut requests = Vec::new();
        let mut repetitions = Vec::new();
        let within = |times: &[Instant], now: Instant, window: Duration| {
            times.iter().filter(|at| now.saturating_duration_since(**at) < window).count() as u64
        };
        let allowed = |requests: u64| u64::from(per_second) * 10 + requests * u64::from(percent) / 100;
        for step in steps {
            match step {
                Step::Wait(millis) => now += Duration::from_millis(millis),
                Step::Request => {
                    budget.request(now);
                    requests.push(now);
                }
                Step::Take => {
                    let longest = WINDOW + Duration::from_secs(1);
                    if budget.take(now) {
                        repetitions.push(now);
                        let made = within(&repetitions, now, WINDOW);
                        prop_assert!(made <= allowed(within(&requests, now, longest)));
                    } else {
                        let made = within(&repetitions, now, longest);
                        prop_assert!(made >= allowed(within(&requests, now, WINDOW)));
                    }
                }
                Step::PutBack => {
                    budget.put_back(now);
                    repetitions.pop();
                }
            }
        }
    }

    /// Threads may tell times in another order than they took them.
    #[test]
    fn times_that_go_back_do_no_harm(times in proptest::collection::vec(0..60_000u64, 1..200)) {
        let start = Instant::now();
        let mut budget = Budget::new(DEFAULT, start);
        let mut given = 0;
        for millis in times {
            let now = start + Duration::from_millis(millis);
            budget.request(now);
            given += u64::from(budget.take(now));
        }
        prop_assert!(budget.total.repetitions <= given);
        let sum = budget.slots.iter().fold(Count::default(), |sum, slot| Count {
            requests: sum.requests + slot.requests,
            repetitions: sum.repetitions + slot.repetitions,
        });
        prop_assert_eq!(sum, budget.total);
    }
}
