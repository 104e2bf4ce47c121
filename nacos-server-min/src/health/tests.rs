//! Lives and deaths of instances that beat; time is moved by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::beats::{BeatRules, Beats, By, Found, Heard};
use crate::registry::{
    Client, Host, Instance, InstanceId, KeyRef, Kind, Override, Published, Registry, RegistrySettings, Service,
    ServiceMetadata, Sink,
};

const KEY: KeyRef<'_> = KeyRef { namespace: "public", group: "G", name: "s" };
const CHECK: Duration = Duration::from_secs(5);
const BEAT: Duration = Duration::from_secs(5);

/// Counts what it is told.
#[derive(Default)]
struct Listener(AtomicUsize);

impl Sink for Listener {
    fn subscribed(&self, _service: &Arc<Service>, _clusters: Option<&Arc<str>>, _first: bool) {}

    fn unsubscribed(&self, _service: &Arc<Service>) {}

    fn changed(&self, _service: &Arc<Service>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct World {
    registry: Registry,
    beats: Beats,
    now: Duration,
    next_look: Duration,
    next_check: Duration,
    found: Found,
    listener: Arc<Listener>,
    _subscriber: Arc<Client>,
}

impl World {
    fn new() -> Self {
        Self::with(BeatRules { check_interval: CHECK, removes: true, as_recorded: false })
    }

    fn with(rules: BeatRules) -> Self {
        let registry = Registry::new(RegistrySettings::unlimited());
        let listener = Arc::new(Listener::default());
        let subscriber = registry.open_client("subscriber", Some(Arc::clone(&listener) as Arc<dyn Sink>));
        registry.subscribe(&subscriber, KEY, None).expect("room");
        let (beats, now, found) = (Beats::new(rules), Duration::ZERO, Found::default());
        let next_look = beats.look_interval();
        Self { registry, beats, now, next_look, next_check: CHECK, found, listener, _subscriber: subscriber }
    }

    fn instance(&self, last: u8, metadata: &[(&str, &str)]) -> Instance {
        let mut metadata: Vec<_> = metadata.iter().map(|(k, v)| (Box::from(*k), Box::from(*v))).collect();
        metadata.sort_unstable();
        Instance {
            host: Host::new(Some(&address(last))),
            cluster: self.registry.names.intern("DEFAULT"),
            weight: 1.0,
            id: InstanceId::Derived,
            metadata: metadata.into(),
            port: 80,
            healthy: true,
            enabled: true,
        }
    }

    fn register(&self, last: u8, metadata: &[(&str, &str)]) {
        self.put(self.instance(last, metadata), By::Registration);
    }

    fn put(&self, instance: Instance, by: By) {
        self.beats.register(&self.registry, KEY, instance, by, self.now).expect("room");
    }

    fn deregister(&self, last: u8) {
        self.beats.deregister(&self.registry, KEY, (&address(last), 80), BEAT, self.now);
    }

    fn beat(&self, last: u8) -> Heard {
        self.beats.beat(&self.registry, KEY, (&address(last), 80), self.now)
    }

    /// Time goes by, and the checks that are due take place.
    fn wait(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        while self.next_look <= until {
            self.now = self.next_look;
            self.look();
        }
        self.now = until;
    }

    /// The process stands still: nothing takes place.
    fn pause(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        if self.next_look <= self.now {
            self.look();
        }
    }

    fn look(&mut self) {
        self.next_look = self.now + self.beats.look_interval();
        let (since, _) = self.beats.look(self.now);
        if self.now < self.next_check {
            return;
        }
        self.next_check = self.now + CHECK;
        for part in self.beats.parts() {
            let found = self.beats.check(&self.registry, part, since, self.now);
            self.found.unhealthy += found.unhealthy;
            self.found.gone += found.gone;
        }
    }

    /// Address and health of all rows.
    fn list(&self) -> Vec<(String, bool)> {
        let service = self.registry.find(KEY).expect("it is subscribed to");
        let view = self.registry.view(&service, 1);
        view.rows().iter().map(|row| (row.host.to_string(), row.healthy)).collect()
    }

    fn is(&self, last: u8) -> Option<bool> {
        let address = address(last);
        self.list().into_iter().find_map(|(ip, healthy)| (ip == address).then_some(healthy))
    }

    fn told(&self) -> usize {
        self.listener.0.swap(0, Ordering::Relaxed)
    }
}

fn address(last: u8) -> String {
    format!("10.0.0.{last}")
}

#[test]
fn who_is_silent_becomes_unhealthy_and_is_removed() {
    let mut world = World::new();
    world.wait(1);
    world.register(1, &[]);
    world.told();
    world.wait(14_999);
    assert_eq!((world.is(1), world.told()), (Some(true), 0), "15 s less a millisecond, at the check");
    world.wait(5_000);
    assert_eq!((world.is(1), world.told()), (Some(false), 1));
    world.wait(9_999);
    assert_eq!((world.is(1), world.told()), (Some(false), 0));
    world.wait(5_001);
    assert_eq!((world.is(1), world.told()), (None, 1));
    assert_eq!(world.found, Found { unhealthy: 1, gone: 1 });
    assert_eq!(world.beat(1), Heard::Unknown, "its client has to register again");
    assert_eq!((world.beats.len(), world.registry.stats().ephemeral_clients), (0, 0));
}

#[test]
fn who_beats_stays_and_who_beats_again_is_healthy_again() {
    let mut world = World::new();
    world.register(1, &[]);
    world.told();
    for _ in 0..100 {
        world.wait(5_000);
        assert_eq!(world.beat(1), Heard::Known { interval: None });
    }
    assert_eq!((world.found, world.told()), (Found::default(), 0), "a beat changes no list");
    world.wait(25_000);
    assert_eq!((world.is(1), world.told()), (Some(false), 1));
    world.beat(1);
    assert_eq!((world.is(1), world.told()), (Some(true), 1));
    world.beat(1);
    assert_eq!(world.told(), 0);
}

#[test]
fn an_instance_that_was_registered_unhealthy_is_healthy_with_its_first_beat() {
    let world = World::new();
    world.put(Instance { healthy: false, ..world.instance(1, &[]) }, By::Registration);
    assert_eq!(world.is(1), Some(false));
    world.beat(1);
    assert_eq!(world.is(1), Some(true));
}

#[test]
fn k03_the_times_in_the_metadata_count() {
    let times = [
        ("preserved.heart.beat.interval", "3000"),
        ("preserved.heart.beat.timeout", "9000"),
        ("preserved.ip.delete.timeout", "60000"),
    ];
    let mut world = World::new();
    world.register(1, &times);
    world.register(2, &[]);
    assert_eq!(world.beat(1), Heard::Known { interval: Some(3_000) });
    world.wait(10_000);
    assert_eq!([world.is(1), world.is(2)], [Some(false), Some(true)]);
    world.wait(45_000);
    assert_eq!([world.is(1), world.is(2)], [Some(false), None]);
    world.wait(10_000);
    assert_eq!(world.is(1), None);
}

#[test]
fn k03_an_operators_times_count_more() {
    let mut world = World::new();
    world.register(1, &[]);
    let metadata = [("preserved.heart.beat.interval", "1000"), ("preserved.heart.beat.timeout", "4000")];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let host = Host::new(Some(&address(1)));
    let set = |over: &mut Override| over.metadata = metadata;
    world.registry.set_override(KEY, (&host, 80, "DEFAULT"), set).expect("it is there");
    world.wait(5_000);
    assert_eq!(world.is(1), Some(false));
    assert_eq!(world.beat(1), Heard::Known { interval: Some(1_000) });
}

#[test]
fn h05_times_that_are_no_numbers_are_the_defaults() {
    let odd = |value| [("preserved.heart.beat.timeout", value), ("preserved.ip.delete.timeout", value)];
    let mut world = World::new();
    for (last, value) in [(1, "abc"), (2, "-1"), (3, "0"), (4, "1e12"), (5, "99999999999999999999")] {
        world.register(last, &odd(value));
    }
    world.register(6, &odd("1000000000000"));
    world.wait(15_000);
    assert!(world.list().iter().all(|(_, healthy)| *healthy));
    world.wait(5_000);
    assert_eq!(world.found, Found { unhealthy: 5, gone: 0 });
    world.wait(15_000);
    assert_eq!(world.list(), [(address(6), true)]);
}

#[test]
fn as_recorded_times_that_are_no_numbers_end_at_once() {
    let mut world = World::with(BeatRules { check_interval: CHECK, removes: true, as_recorded: true });
    let odd = [("preserved.heart.beat.timeout", "abc"), ("preserved.ip.delete.timeout", "abc")];
    world.register(1, &odd);
    world.register(2, &odd[..1]);
    world.wait(5_000);
    assert_eq!(world.list(), [(address(2), false)]);
    world.register(3, &[]);
    world.deregister(3);
    assert_eq!(world.beat(3), Heard::Unknown, "and nobody is buried");
}

#[test]
fn l07_a_beat_after_the_deregistration_raises_nobody() {
    let mut world = World::new();
    world.register(1, &[]);
    world.wait(3_000);
    world.deregister(1);
    world.told();
    world.wait(3_000);
    assert_eq!(world.beat(1), Heard::Buried);
    world.put(world.instance(1, &[]), By::Beat);
    assert_eq!((world.is(1), world.told()), (None, 0));
    world.register(1, &[]);
    assert_eq!(
        (world.is(1), world.beat(1)),
        (Some(true), Heard::Known { interval: None }),
        "a registration counts at once"
    );
    world.deregister(1);
    world.deregister(1);
    world.wait(5_000);
    assert_eq!(world.beat(1), Heard::Unknown, "after one interval a beat is a beat");
    world.put(world.instance(1, &[]), By::Beat);
    assert_eq!(world.is(1), Some(true));
    world.deregister(1);
    world.wait(10_000);
    assert_eq!(world.beats.len(), 0);
}

#[test]
fn l07_the_instance_says_how_long_an_interval_is() {
    let mut world = World::new();
    world.register(1, &[("preserved.heart.beat.interval", "1000")]);
    world.deregister(1);
    assert_eq!(world.beat(1), Heard::Buried);
    world.wait(1_000);
    assert_eq!(world.beat(1), Heard::Unknown);
    world.deregister(2);
    assert_eq!((world.beat(2), world.beats.len()), (Heard::Unknown, 1), "who never was is not buried");
}

#[test]
fn a_full_beat_of_a_known_instance_changes_nothing() {
    let world = World::new();
    world.register(1, &[("zone", "a")]);
    world.told();
    world.put(world.instance(1, &[("zone", "z")]), By::Beat);
    let service = world.registry.find(KEY).expect("a service");
    assert_eq!(world.registry.view(&service, 1).rows()[0].metadata("zone"), Some("a"));
    assert_eq!(world.told(), 0);
}

#[test]
fn l13_after_a_pause_everybody_has_the_full_time() {
    let mut world = World::new();
    world.register(1, &[]);
    world.register(2, &[]);
    world.wait(3_000);
    world.pause(3_600_000);
    assert_eq!([world.is(1), world.is(2)], [Some(true); 2]);
    for _ in 0..3 {
        world.wait(5_000);
        world.beat(1);
        assert_eq!([world.is(1), world.is(2)], [Some(true); 2]);
    }
    world.wait(5_000);
    assert_eq!([world.is(1), world.is(2)], [Some(true), Some(false)], "silence counts from the end of the pause");
    world.wait(15_000);
    assert_eq!(world.is(2), None);
}

#[test]
fn l13_a_pause_of_seconds_is_one_for_instances_with_short_times() {
    let short = [("preserved.heart.beat.timeout", "4000"), ("preserved.ip.delete.timeout", "6000")];
    let mut world = World::new();
    world.register(1, &short);
    world.wait(2_000);
    world.pause(8_000);
    assert_eq!(world.is(1), Some(true));
    world.wait(5_000);
    assert_eq!(world.is(1), Some(false), "silence counts from the end of the pause");
    world.wait(5_000);
    assert_eq!(world.is(1), None);
}

#[test]
fn a_word_in_the_metadata_exempts_an_instance_or_a_service() {
    let mut world = World::new();
    world.register(1, &[("enableClientBeat", "true")]);
    world.register(2, &[]);
    world.wait(60_000);
    assert_eq!(world.list(), [(address(1), true)]);
    world.register(2, &[]);
    let metadata = ServiceMetadata {
        entries: [("enableClientBeat".to_owned(), "true".to_owned())].into(),
        ..ServiceMetadata::default()
    };
    world.registry.set_metadata(KEY, metadata).expect("it is there");
    world.wait(60_000);
    assert_eq!([world.is(1), world.is(2)], [Some(true); 2]);
}

#[test]
fn where_nothing_is_removed_the_silent_stay_unhealthy() {
    let mut world = World::with(BeatRules { check_interval: CHECK, removes: false, as_recorded: false });
    world.register(1, &[]);
    world.wait(600_000);
    assert_eq!((world.is(1), world.found), (Some(false), Found { unhealthy: 1, gone: 0 }));
}

#[test]
fn what_a_connection_published_does_not_hang_on_beats() {
    let mut world = World::new();
    world.register(1, &[]);
    let connection = world.registry.open_client("connection", None);
    let published = Published::One(Arc::new(world.instance(1, &[])));
    world.registry.publish(&connection, KEY, Kind::Ephemeral, published).expect("room");
    world.wait(60_000);
    assert_eq!((world.list(), world.found.gone), (vec![(address(1), true)], 1));
}

#[test]
fn l09_a_week_of_beats_leaves_nothing_behind() {
    let mut world = World::new();
    for last in 0..20 {
        world.register(last, &[]);
    }
    world.told();
    let week = 7 * 24 * 3_600 / 5;
    for round in 0..week {
        world.wait(5_000);
        for last in 0..20 {
            // The last two miss beats now and then, so that they come and go.
            if last < 18 || round % 10 < 5 {
                let heard = world.beat(last);
                if heard == Heard::Unknown {
                    world.put(world.instance(last, &[]), By::Beat);
                }
            }
        }
    }
    let stats = world.registry.stats();
    assert!(world.beats.len() <= 20 && stats.ephemeral_clients <= 20 && stats.instances <= 20, "{stats:?}");
    assert!((0..18).all(|last| world.is(last) == Some(true)));
    let rounds = usize::try_from(week / 10).expect("a small number");
    assert!(world.told() <= 2 * 3 * (rounds + 1), "only those two changed anything");
}

#[test]
fn h16_many_registrations_at_once_make_one_service() {
    let world = World::new();
    std::thread::scope(|scope| {
        for last in 0..200 {
            let world = &world;
            scope.spawn(move || world.register(last, &[]));
        }
    });
    assert_eq!((world.list().len(), world.beats.len(), world.registry.stats().services), (200, 200, 1));
}
