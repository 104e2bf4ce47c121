//! Picks and lists at the same time.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::Picked;

/// Every change has instances of its own, so that a pick tells which list it saw.
#[test]
fn sc05_no_pick_that_begins_after_a_removal_was_applied_returns_the_removed_instance() {
    const TASKS: usize = 16;
    const CHANGES: u64 = 1_000;
    const SIZE: u16 = 8;
    let endpoints = endpoints(settings());
    let of = |change: u64| list(change, (0..SIZE).map(|at| instance(change as u16 * SIZE + at)));
    endpoints.apply(&of(0));
    let applied = AtomicU64::new(0);
    let (violations, picks) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..TASKS {
            scope.spawn(|| {
                let mut newest = 0;
                while newest < CHANGES {
                    let before = applied.load(Ordering::SeqCst);
                    let port = endpoints.pick(&mut PickContext::new()).unwrap().instance().port();
                    let after = applied.load(Ordering::SeqCst);
                    newest = u64::from(port / SIZE);
                    // The next list is there a moment before its number is.
                    let wrong = newest < before || newest > after + 1;
                    violations.fetch_add(u64::from(wrong), Ordering::SeqCst);
                    picks.fetch_add(1, Ordering::SeqCst);
                    thread::yield_now();
                }
            });
        }
        for change in 1..=CHANGES {
            endpoints.apply(&of(change));
            applied.store(change, Ordering::SeqCst);
            let seen = picks.load(Ordering::SeqCst);
            while change < CHANGES && picks.load(Ordering::SeqCst) == seen {
                thread::yield_now();
            }
        }
    });
    assert_eq!(violations.into_inner(), 0);
    assert!(picks.into_inner() >= CHANGES);
}

/// A service whose instances change and are called at random.
struct Scene {
    rng: fastrand::Rng,
    endpoints: Endpoints,
    own: Option<String>,
    /// Those that can take requests.
    usable: BTreeSet<u16>,
    revision: u64,
    calls: Vec<Picked>,
}

fn cluster_of(port: u16) -> String {
    format!("c{}", port % 3)
}

impl Scene {
    fn new(seed: u64, own: Option<u16>) -> Self {
        let own = own.map(cluster_of);
        let settings = own.iter().fold(settings(), |settings, own| settings.with_own_cluster(own));
        let (rng, endpoints) = (fastrand::Rng::with_seed(seed), endpoints(settings));
        Self { rng, endpoints, own, usable: BTreeSet::new(), revision: 0, calls: Vec::new() }
    }

    fn step(&mut self) -> Result<(), TestCaseError> {
        match self.rng.u8(..100) {
            0..8 => self.change(),
            8..60 => self.pick(),
            _ => {
                drop(self.calls.pop());
                Ok(())
            }
        }
    }

    /// Any instances, of which some are not usable.
    fn change(&mut self) -> Result<(), TestCaseError> {
        self.revision += 1;
        self.usable.clear();
        let mut listed = Vec::new();
        for port in 1..=12 {
            if self.rng.bool() {
                continue;
            }
            let one = instance(port).cluster(cluster_of(port));
            listed.push(match self.rng.u8(..8) {
                0 => one.healthy(false),
                1 => one.weight(0.0),
                _ => {
                    self.usable.insert(port);
                    one
                }
            });
        }
        self.endpoints.apply(&list(self.revision, listed));
        prop_assert_eq!(self.endpoints.all().len(), self.usable.len());
        Ok(())
    }

    fn pick(&mut self) -> Result<(), TestCaseError> {
        let usable = &self.usable;
        let Ok(call) = self.endpoints.pick(&mut PickContext::new().seeded(&mut self.rng)) else {
            prop_assert!(usable.is_empty(), "{:?}", usable);
            return Ok(());
        };
        let port = call.instance().port();
        prop_assert!(usable.contains(&port), "{} of {:?}", port, usable);
        prop_assert_eq!(call.target().authority.port_u16(), Some(port), "the one that was chosen is called");
        let at_home = |port: &u16| self.own.as_ref().is_none_or(|own| *own == cluster_of(*port));
        prop_assert!(at_home(&port) || !usable.iter().any(at_home), "{} of {:?}", port, usable);
        self.calls.push(call);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]
    #[test]
    fn b04_in_a_million_steps_of_lists_and_picks_only_listed_instances_are_picked(
        seed in any::<u64>(),
        own in prop::option::of(0..3u16),
    ) {
        let mut scene = Scene::new(seed, own);
        for _ in 0..1_000 {
            scene.step()?;
        }
        scene.calls.clear();
        prop_assert!(scene.endpoints.all().iter().all(|endpoint| endpoint.in_flight() == 0));
    }
}
