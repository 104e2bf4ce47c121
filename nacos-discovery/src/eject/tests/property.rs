use std::collections::BTreeSet;

use proptest::prelude::*;
use tokio::time::Instant;

use super::*;
use crate::EjectionState;
use crate::settings::FailureRate;

/// What may happen at any time, in any order.
#[derive(Debug, Clone)]
enum Step {
    /// A request is picked and goes on.
    Pick,
    /// One of those under way ends.
    End {
        call: usize,
        outcome: Outcome,
    },
    Pass {
        milliseconds: u64,
    },
    /// The list has these ports of 1 … 6.
    List {
        members: u8,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![2 => Just(GOOD), 6 => Just(BAD), 1 => Just(BUSY), 1 => Just(Outcome::Cancelled)];
    prop_oneof![
        8 => Just(Step::Pick),
        8 => (any::<usize>(), outcome).prop_map(|(call, outcome)| Step::End { call, outcome }),
        2 => (0u64..3_000).prop_map(|milliseconds| Step::Pass { milliseconds }),
        1 => (0u8..64).prop_map(|members| Step::List { members }),
    ]
}

struct Model {
    service: Service,
    rules: EjectSettings,
    calls: Vec<Call>,
}

struct Call {
    picked: Picked,
    probe: bool,
}

impl Model {
    fn new(rules: EjectSettings) -> Self {
        Self { service: Service::with(rules.clone(), 1..=6), rules, calls: vec![] }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Pick => self.pick(),
            Step::End { call, outcome } if !self.calls.is_empty() => {
                let call = self.calls.swap_remove(call % self.calls.len());
                match outcome {
                    Outcome::Cancelled => drop(call.picked),
                    outcome => call.picked.finish(outcome),
                }
            }
            Step::End { .. } | Step::Pass { .. } => {}
            Step::List { members } => self.service.list((0..6).filter(|at| members >> at & 1 == 1).map(|at| at + 1)),
        }
    }

    fn pick(&mut self) {
        let before: Vec<_> = self.service.endpoints.all().into_iter().map(|at| (at.ejection(), at)).collect();
        let Ok(picked) = self.service.pick() else {
            assert!(before.is_empty(), "there is somebody, but nobody is picked");
            return;
        };
        let (state, _) = before.iter().find(|(_, at)| Arc::ptr_eq(at, picked.endpoint())).expect("it is listed");
        let probe = match state {
            EjectionState::Healthy { .. } => false,
            EjectionState::Ejected { until, .. } => *until <= Instant::now(),
            EjectionState::Probing { .. } => false,
        };
        assert!(probe || matches!(state, EjectionState::Healthy { .. }), "picked while it was {state:?}");
        self.calls.push(Call { picked, probe });
    }

    /// What holds after every step.
    fn check(&self) {
        let members = self.service.endpoints.all();
        let out = members.iter().filter(|at| !matches!(at.ejection(), EjectionState::Healthy { .. })).count();
        assert!(out <= self.rules.most_of(members.len()), "{out} of {} are ejected", members.len());
        for member in &members {
            let calls = self.calls.iter().filter(|call| Arc::ptr_eq(call.picked.endpoint().node(), member.node()));
            assert_eq!(calls.clone().count(), member.in_flight() as usize);
            let probing = matches!(member.ejection(), EjectionState::Probing { .. });
            assert!(!probing || calls.filter(|call| call.probe).count() >= 1, "probing without a probe");
            let gate = member.node().seat().gate();
            assert_eq!(gate.is_open(), matches!(member.ejection(), EjectionState::Healthy { .. }));
            assert!(member.cost() > 0.0 && member.cost().is_finite());
        }
        let open: BTreeSet<_> =
            members.iter().filter(|at| at.node().seat().gate().is_open()).map(|at| at.instance().port()).collect();
        assert!(members.is_empty() || !open.is_empty(), "nobody is left");
    }
}

fn rules() -> impl Strategy<Value = EjectSettings> {
    let rate = proptest::option::of((0.0..1.0f64, 1u32..10));
    (1u32..4, -0.1..1.1f64, 1u64..2_000, rate).prop_map(|(failures, share, pause, rate)| {
        let rate = rate.map(|(share, minimum)| FailureRate::new(share).with_minimum(minimum));
        EjectSettings::new()
            .with_consecutive_failures(failures)
            .with_max_share(share)
            .with_pause(Duration::from_millis(pause), Duration::from_millis(4 * pause))
            .with_failure_rate(rate)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn sc16_whatever_happens_in_any_order_enough_are_left_and_each_ejected_one_has_one_probe_at_most(
        rules in rules(),
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut model = Model::new(rules);
            for step in steps {
                if let Step::Pass { milliseconds } = step {
                    advance(Duration::from_millis(milliseconds)).await;
                }
                model.take(step);
                model.check();
            }
            // SC7: when all have ended, nothing is in flight anywhere.
            let nodes: Vec<_> = model.calls.iter().map(|call| Arc::clone(call.picked.endpoint())).collect();
            model.calls.clear();
            assert!(nodes.iter().all(|node| node.in_flight() == 0));
            model.check();
        });
    }
}

/// The same with threads: what only happens between two instructions of two threads.
#[test]
fn sc16_threads_that_pick_and_fail_at_once_leave_enough_and_nothing_in_flight() {
    let rules = EjectSettings::new()
        .with_consecutive_failures(1)
        .with_pause(Duration::from_millis(1), Duration::from_millis(2))
        .with_max_share(1.0);
    let mut service = Service::with(rules, 1..=4);
    let endpoints = Arc::clone(&service.endpoints);
    let everyone: Vec<_> = (1..=4).map(|port| service.endpoint(port)).collect();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4u64)
            .map(|seed| {
                let endpoints = &endpoints;
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    for _ in 0..50_000 {
                        let picked = endpoints.pick(&mut PickContext::new().seeded(&mut rng));
                        let picked = picked.expect("somebody is always left");
                        match rng.u8(..4) {
                            0 => picked.finish(GOOD),
                            1 => drop(picked),
                            _ => picked.finish(BAD),
                        }
                    }
                })
            })
            .collect();
        let mut members = 0u8;
        while !workers.iter().all(|worker| worker.is_finished()) {
            members = members.wrapping_add(1);
            service.list((0..4).filter(|at| (members | 1) >> at & 1 == 1).map(|at| at + 1));
        }
    });
    assert!(everyone.iter().all(|endpoint| endpoint.in_flight() == 0));
    service.list(1..=4);
    let out = service.endpoints.all().iter().filter(|at| !at.node().seat().gate().is_open()).count();
    assert!(out <= 3 && service.endpoints.pick(&mut PickContext::new()).is_ok());
}
