//! Random histories from seeds: what must hold at every moment, and what must hold once the faults are over.

use std::collections::{BTreeMap, HashMap};

use super::*;
use crate::config::{ClientConfig, EmptyPolicy};
use crate::model::{ChangeCause, InstanceKey, Select, ServiceChange};
use crate::naming::Registration;
use crate::naming::mock::Fate;

const SEEDS: u64 = 500;
const STEPS: usize = 60;
const SERVICES: u16 = 3;

fn seeds() -> impl Iterator<Item = u64> {
    let only = std::env::var("SIMULATION_SEED").ok().and_then(|seed| seed.parse().ok());
    let all = std::env::var("SIMULATION_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(SEEDS);
    match only {
        Some(seed) => seed..seed + 1,
        None => 0..all,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// One world: a registry with faults, a client, and what the application wants of it.
struct World {
    mock: Arc<Mock>,
    nacos: NamingService,
    rng: fastrand::Rng,
    wanted: HashMap<(u16, u16), Registration>,
    up: bool,
}

impl World {
    async fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let dialect = if rng.u8(..4) == 0 { Dialect::Adding } else { Dialect::Replacing };
        let mock = Mock::new(seed, MS * rng.u32(1..80), dialect);
        let config = ClientConfig::builder().servers(["mock"]).empty_policy(EmptyPolicy::Accept).build().unwrap();
        let nacos = mock.client_with(config);
        start(&nacos).await;
        mock.connect();
        let mut world = Self { mock, nacos, rng, wanted: HashMap::new(), up: true };
        world.faults(true);
        world
    }

    /// Some calls fail, done or not, and some are never answered; or none.
    fn faults(&mut self, on: bool) {
        let mut rng = self.rng.fork();
        self.mock.script(move |_| match rng.u8(..10) {
            0 if on => Fate::Refuse(500),
            1 if on => Fate::DoneButSays(500),
            2 if on => Fate::Ignore,
            _ => Fate::Obey,
        });
    }

    fn service(n: u16) -> ServiceKey {
        key(&format!("s{n}"))
    }

    async fn step(&mut self) {
        let (n, port) = (self.rng.u16(..SERVICES), self.rng.u16(1..5));
        match self.rng.u8(..10) {
            0..=3 => {
                let handle = self.nacos.service(Self::service(n)).unwrap();
                let weight = f64::from(self.rng.u8(1..5));
                self.wanted.insert((n, port), handle.register(instance(port).weight(weight)).unwrap());
            }
            4 => {
                let weight = f64::from(self.rng.u8(1..5));
                if let Some(registration) = self.wanted.get(&(n, port)) {
                    registration.update(|i| i.weight(weight)).unwrap();
                }
            }
            5 | 6 => drop(self.wanted.remove(&(n, port))),
            7 if self.up => {
                self.mock.disconnect();
                self.up = false;
            }
            7 => {
                self.mock.connect();
                self.up = true;
            }
            _ => tokio::time::sleep(MS * self.rng.u32(..200)).await,
        }
    }

    /// The faults end; the sick connection with them, as a transport ends one that does not answer.
    fn heal(&mut self) {
        self.faults(false);
        if self.up {
            self.mock.disconnect();
        }
        self.mock.connect();
        self.up = true;
    }

    fn expected(&self) -> BTreeMap<(u16, u16), f64> {
        self.wanted.iter().map(|(at, r)| (*at, r.instance().unwrap().weight)).collect()
    }

    fn held(&self) -> BTreeMap<(u16, u16), f64> {
        let of = |n| self.mock.held_instances(&Self::service(n)).into_iter().map(move |i| ((n, i.port), i.weight));
        (0..SERVICES).flat_map(of).collect()
    }
}

#[test]
fn cg17_six_seconds_after_the_last_fault_the_server_has_what_is_wanted() {
    for seed in seeds() {
        runtime().block_on(async {
            let mut world = World::new(seed).await;
            for _ in 0..STEPS {
                world.step().await;
            }
            world.heal();
            let begin = Instant::now();
            while world.held() != world.expected() {
                let late = begin.elapsed() > 6 * SECOND;
                assert!(!late, "seed {seed}: held {:?}, wanted {:?}", world.held(), world.expected());
                tokio::time::sleep(5 * MS).await;
            }
            // Once reached it stays, every wish is confirmed, and calls of a service were never side by side.
            tokio::time::sleep(SECOND).await;
            assert_eq!(world.held(), world.expected(), "seed {seed}");
            assert!(world.wanted.values().all(|r| is_confirmed(&r.status())), "seed {seed}");
            assert!(!world.mock.overlapped() && world.mock.writes_most() <= 64, "seed {seed}");
        });
    }
}

#[test]
fn cg16_deregistration_is_final() {
    for seed in seeds() {
        runtime().block_on(async {
            let mut world = World::new(seed).await;
            for _ in 0..STEPS {
                world.step().await;
            }
            // Everything is withdrawn in the middle of the faults, at one moment.
            world.wanted.clear();
            tokio::task::yield_now().await;
            let sent_before = world.rng.u32(..3);
            for _ in 0..sent_before {
                world.step_link().await;
            }
            world.heal();
            world.mock.take_log();
            tokio::time::sleep(300 * SECOND).await;
            let registered = count(&world.mock.take_log(), is_register);
            assert_eq!((registered, world.held().len()), (0, 0), "seed {seed}");
        });
    }
}

impl World {
    /// Only the connection comes and goes.
    async fn step_link(&mut self) {
        if self.up {
            self.mock.disconnect();
        } else {
            self.mock.connect();
        }
        self.up = !self.up;
        tokio::time::sleep(MS * self.rng.u32(..500)).await;
    }
}

/// What one listener was told, checked item by item.
struct Told {
    view: BTreeMap<InstanceKey, Arc<Instance>>,
    revision: u64,
    initial: bool,
}

impl Told {
    fn take(&mut self, change: &ServiceChange, seed: u64) {
        assert!(change.snapshot().revision() > self.revision, "seed {seed}: revisions strictly increase");
        assert_eq!(change.cause() == ChangeCause::Initial, !self.initial, "seed {seed}: exactly one initial snapshot");
        self.revision = change.snapshot().revision();
        self.initial = true;
        for gone in change.removed() {
            assert_eq!(self.view.remove(&gone.key()), Some(gone.clone()), "seed {seed}");
        }
        for new in change.added() {
            assert_eq!(self.view.insert(new.key(), new.clone()), None, "seed {seed}");
        }
        for modified in change.modified() {
            let old = self.view.insert(modified.new.key(), modified.new.clone());
            assert_eq!(old, Some(modified.old.clone()), "seed {seed}");
        }
        let view: Vec<_> = self.view.values().cloned().collect();
        let mut shown = change.instances().to_vec();
        shown.sort_by_key(|i| i.key());
        assert_eq!(view, shown, "seed {seed}: initial snapshot plus differences is the view");
    }
}

#[test]
fn cg28_each_listener_ends_with_the_servers_list_and_its_differences_add_up() {
    for seed in seeds() {
        runtime().block_on(async {
            let mut world = World::new(seed).await;
            let service = world.nacos.service(World::service(0)).unwrap();
            let selects = [Select::all(), Select::healthy(), Select::all().clusters(["a"]), Select::pickable()];
            let mut listeners: Vec<_> = selects
                .into_iter()
                .map(|s| (service.subscribe(s), Told { view: BTreeMap::new(), revision: 0, initial: false }))
                .collect();
            for _ in 0..STEPS {
                match world.rng.u8(..8) {
                    0..=3 => {
                        let some = |rng: &mut fastrand::Rng, port| {
                            let i = Instance::new(("f", port)).weight(f64::from(rng.u8(..3))).healthy(rng.bool());
                            if rng.bool() { i.cluster("a") } else { i }
                        };
                        let rng = &mut world.rng;
                        let hosts = (1..rng.u16(1..6)).map(|port| some(rng, port)).collect();
                        world.mock.set_foreign_instances(&World::service(0), hosts);
                    }
                    4 => world.step_link().await,
                    5 => {
                        let step = world.rng.i64(-3_600_000..3_600_000);
                        world.mock.step_clock(step);
                    }
                    6 => tokio::time::sleep(MS * world.rng.u32(..100)).await,
                    // Now and then one of them reads what there is.
                    _ => {
                        let at = world.rng.usize(..listeners.len());
                        let (subscription, told) = &mut listeners[at];
                        while let Some(Some(change)) = futures_util::FutureExt::now_or_never(subscription.next()) {
                            told.take(&change, seed);
                        }
                    }
                }
            }
            world.heal();
            // Subscribed again and pushed to once more: from here on no push is lost.
            until("subscribed", || world.mock.subscribers(&World::service(0)) == 1).await;
            world.mock.set_foreign(&World::service(0), &[4711], false);
            tokio::time::sleep(100 * MS).await;
            for (subscription, told) in &mut listeners {
                while let Some(Some(change)) = futures_util::FutureExt::now_or_never(subscription.next()) {
                    told.take(&change, seed);
                }
                let clustered = format!("{subscription:?}").contains("\"a\"");
                let ports: Vec<u16> = told.view.keys().map(|k| k.port).collect();
                assert_eq!(ports, if clustered { vec![] } else { vec![4711] }, "seed {seed}");
            }
        });
    }
}
