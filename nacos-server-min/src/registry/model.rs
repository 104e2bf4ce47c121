//! The simplest registry that could be right: maps, cloned and searched without thought, beside the real one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use super::instance::{Host, Instance, InstanceId};
use super::*;

pub(super) const CLIENTS: usize = 4;
pub(super) const SERVICES: usize = 5;
pub(super) const ADDRESSES: u16 = 4;
pub(super) const CLUSTERS: [&str; 3] = ["DEFAULT", "c1", "c2"];
/// Seconds until an empty service is forgotten.
const EMPTY_AFTER: u32 = 60;

#[derive(Debug, Clone)]
pub(super) enum Op {
    Publish {
        client: usize,
        service: usize,
        rows: Vec<Row>,
    },
    Withdraw {
        client: usize,
        service: usize,
    },
    PublishInternal {
        service: usize,
        kind: bool,
        row: Row,
    },
    WithdrawInternal {
        service: usize,
        kind: bool,
        address: u16,
    },
    Subscribe {
        client: usize,
        service: usize,
        clusters: usize,
    },
    Unsubscribe {
        client: usize,
        service: usize,
    },
    /// The client's connection ends and another one takes its place.
    Reconnect {
        client: usize,
    },
    List {
        group: usize,
        number: i32,
        size: i32,
    },
    Wait {
        seconds: u32,
    },
    Sweep,
}

/// Address, cluster, weight, healthy, enabled.
pub(super) type Row = (u16, usize, u8, bool, bool);

/// Notes whom the registry told about which change.
#[derive(Default)]
struct Recorder {
    told: Mutex<Vec<String>>,
}

impl Sink for Recorder {
    fn subscribed(&self, _service: &Arc<Service>, _clusters: Option<&Arc<str>>, _first: bool) {}

    fn unsubscribed(&self, _service: &Arc<Service>) {}

    fn changed(&self, service: &Arc<Service>) {
        self.told.lock().expect("no panic inside").push(format!("{}@@{}", service.group, service.name));
    }
}

/// Services 0, 2, 4 in group `G0`, the others in `G1`.
fn key(service: usize) -> KeyRef<'static> {
    const NAMES: [&str; SERVICES] = ["s0", "s1", "s2", "s3", "s4"];
    KeyRef { namespace: "public", group: if service.is_multiple_of(2) { "G0" } else { "G1" }, name: NAMES[service] }
}

fn kind(persistent: bool) -> Kind {
    if persistent { Kind::Persistent } else { Kind::Ephemeral }
}

fn instance(registry: &Registry, (address, cluster, weight, healthy, enabled): Row) -> Instance {
    Instance {
        host: Host::new(Some(&format!("10.0.0.{address}"))),
        cluster: registry.names.intern(CLUSTERS[cluster]),
        weight: f64::from(weight),
        id: InstanceId::Derived,
        metadata: Box::default(),
        port: 80,
        healthy,
        enabled,
    }
}

struct ModelClient {
    number: u64,
    real: Arc<Client>,
    recorder: Arc<Recorder>,
}

#[derive(Default)]
struct ModelService {
    kind: Option<Kind>,
    records: BTreeMap<u64, Vec<Row>>,
    /// Client index and cluster filter.
    subscribers: BTreeMap<usize, usize>,
    empty_since: u32,
}

pub(super) struct World {
    pub(super) registry: Registry,
    clients: Vec<ModelClient>,
    services: Vec<ModelService>,
    /// Internal clients by address and kind, with the services they publish into.
    internal: BTreeMap<(u16, bool), (u64, BTreeSet<usize>)>,
    opened: u64,
    now: u32,
    wall: i64,
    last_ref_times: Vec<i64>,
}

impl World {
    pub(super) fn new() -> Self {
        let registry = Registry::new(RegistrySettings::unlimited());
        let services = (0..SERVICES).map(|_| ModelService::default()).collect();
        let last_ref_times = vec![0; SERVICES];
        let internal = BTreeMap::new();
        let (opened, now, wall) = (0, 0, 1_000);
        let mut world = Self { registry, clients: Vec::new(), services, internal, opened, now, wall, last_ref_times };
        for _ in 0..CLIENTS {
            let client = world.open();
            world.clients.push(client);
        }
        world
    }

    fn open(&mut self) -> ModelClient {
        let recorder = Arc::<Recorder>::default();
        self.opened += 1;
        let real = self.registry.open_client("client", Some(Arc::clone(&recorder) as Arc<dyn Sink>));
        assert_eq!(real.number, self.opened);
        ModelClient { number: self.opened, real, recorder }
    }

    /// Does `op` on both sides and compares what they say; returns the services that changed.
    pub(super) fn apply(&mut self, op: &Op) -> Vec<usize> {
        match *op {
            Op::Publish { client, service, ref rows } => {
                let published = rows.iter().map(|row| Arc::new(instance(&self.registry, *row))).collect();
                let real = &self.clients[client].real;
                let result = self.registry.publish(real, key(service), Kind::Ephemeral, Published::Many(published));
                let number = self.clients[client].number;
                self.model_publish(number, service, Kind::Ephemeral, rows.clone(), &result)
            }
            Op::Withdraw { client, service } => {
                let removed = self.registry.withdraw(&self.clients[client].real, key(service), self.now);
                let number = self.clients[client].number;
                self.model_withdraw(number, service, removed)
            }
            Op::PublishInternal { service, kind: persistent, row } => {
                let one = instance(&self.registry, row);
                let result = self.registry.publish_internal(key(service), kind(persistent), one).map(drop);
                let known = self.internal.get(&(row.0, persistent)).map(|(number, _)| *number);
                let number = known.unwrap_or_else(|| {
                    self.opened += 1;
                    self.opened
                });
                let changed = self.model_publish(number, service, kind(persistent), vec![row], &result);
                if result.is_ok() {
                    let entry = self.internal.entry((row.0, persistent)).or_insert((number, BTreeSet::new()));
                    entry.1.insert(service);
                }
                changed
            }
            Op::WithdrawInternal { service, kind: persistent, address } => {
                let ip = format!("10.0.0.{address}");
                let removed = self.registry.withdraw_internal(key(service), kind(persistent), Some(&ip), 80, self.now);
                let Some((number, services)) = self.internal.get_mut(&(address, persistent)) else {
                    assert!(!removed);
                    return Vec::new();
                };
                let number = *number;
                services.remove(&service);
                if services.is_empty() {
                    self.internal.remove(&(address, persistent));
                }
                self.model_withdraw(number, service, removed)
            }
            Op::Subscribe { client, service, clusters } => {
                let filter = CLUSTERS.get(clusters).copied();
                let result = self.registry.subscribe(&self.clients[client].real, key(service), filter);
                let first = self.services[service].subscribers.insert(client, clusters).is_none();
                assert_eq!(result.map(|(_, first)| first), Ok(first));
                Vec::new()
            }
            Op::Unsubscribe { client, service } => {
                let removed = self.registry.unsubscribe(&self.clients[client].real, key(service));
                assert_eq!(removed, self.services[service].subscribers.remove(&client).is_some());
                Vec::new()
            }
            Op::Reconnect { client } => self.reconnect(client),
            Op::List { group, number, size } => {
                self.compare_page(group, number, size);
                Vec::new()
            }
            Op::Wait { seconds } => {
                self.now += seconds;
                self.wall += i64::from(seconds) * 1_000;
                Vec::new()
            }
            Op::Sweep => {
                self.sweep();
                Vec::new()
            }
        }
    }

    fn model_publish(
        &mut self,
        number: u64,
        service: usize,
        kind: Kind,
        rows: Vec<Row>,
        result: &Result<(), WriteError>,
    ) -> Vec<usize> {
        let model = &mut self.services[service];
        if let Some(other) = model.kind.filter(|known| *known != kind) {
            assert_eq!(*result, Err(WriteError::OtherKind(other)));
            return Vec::new();
        }
        assert_eq!(*result, Ok(()));
        model.kind = Some(kind);
        model.records.insert(number, rows);
        vec![service]
    }

    fn model_withdraw(&mut self, number: u64, service: usize, removed: bool) -> Vec<usize> {
        let model = &mut self.services[service];
        assert_eq!(removed, model.records.remove(&number).is_some());
        if removed && model.records.is_empty() {
            model.empty_since = self.now;
        }
        if removed { vec![service] } else { Vec::new() }
    }

    fn reconnect(&mut self, client: usize) -> Vec<usize> {
        let fresh = self.open();
        let old = std::mem::replace(&mut self.clients[client], fresh);
        self.registry.close_client(&old.real, self.now);
        let mut changed = Vec::new();
        for (at, service) in self.services.iter_mut().enumerate() {
            service.subscribers.remove(&client);
            if service.records.remove(&old.number).is_some() {
                changed.push(at);
                if service.records.is_empty() {
                    service.empty_since = self.now;
                }
            }
        }
        let late = self.registry.publish(&old.real, key(0), Kind::Ephemeral, Published::Many(Box::default()));
        assert_eq!(late, Err(WriteError::ClientClosed), "a late request of a closed connection");
        assert!(self.registry.subscribe(&old.real, key(0), None).is_err());
        changed
    }

    fn sweep(&mut self) {
        self.registry.sweep(self.now, EMPTY_AFTER);
        for service in &mut self.services {
            if service.records.is_empty() && self.now - service.empty_since >= EMPTY_AFTER {
                service.kind = None;
            }
        }
    }

    fn compare_page(&self, group: usize, number: i32, size: i32) {
        let group = format!("G{group}");
        let Ok(page) = Page::new(number, size) else {
            assert!(size < 0);
            return;
        };
        let (count, services) = self.registry.list_page("public", &group, page);
        let listed = (0..SERVICES).filter(|at| key(*at).group == group && self.services[*at].kind.is_some());
        let all: Vec<&str> = listed.map(|at| key(at).name).collect();
        assert_eq!(count, all.len());
        let skip = (i64::from(number.max(1)) - 1) * i64::from(size);
        let expected =
            all.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)).take(usize::try_from(size).unwrap_or(0));
        assert!(services.iter().map(|s| &*s.name).eq(expected.copied()), "{number} {size}");
    }

    /// Exactly the subscribers of a changed service were told, once each.
    pub(super) fn compare_told(&self, changed: &[usize]) {
        for (at, client) in self.clients.iter().enumerate() {
            let told: Vec<String> = std::mem::take(&mut *client.recorder.told.lock().expect("no panic inside"));
            let expected: Vec<String> = changed
                .iter()
                .filter(|service| self.services[**service].subscribers.contains_key(&at))
                .map(|service| format!("{}@@{}", key(*service).group, key(*service).name))
                .collect();
            assert_eq!(BTreeSet::from_iter(&told), BTreeSet::from_iter(&expected));
            assert_eq!(told.len(), expected.len());
        }
    }

    pub(super) fn compare_lists(&mut self) {
        for at in 0..SERVICES {
            self.compare_list(at);
        }
        let stats = self.registry.stats();
        let instances: usize = self.services.iter().flat_map(|s| s.records.values()).map(Vec::len).sum();
        let subscriptions: usize = self.services.iter().map(|s| s.subscribers.len()).sum();
        let services = self.services.iter().filter(|s| s.kind.is_some()).count();
        let persistent = self.internal.keys().filter(|(_, persistent)| *persistent).count();
        assert_eq!(
            (stats.instances, stats.subscriptions, stats.services, stats.persistent_clients, stats.ephemeral_clients),
            (instances, subscriptions, services, persistent, self.internal.len() - persistent)
        );
    }

    fn compare_list(&mut self, at: usize) {
        let model = &self.services[at];
        let mut expected: BTreeMap<(Host, &str), Row> = BTreeMap::new();
        for row in model.records.values().flatten() {
            expected.insert((Host::new(Some(&format!("10.0.0.{}", row.0))), CLUSTERS[row.1]), *row);
        }
        self.wall += 1;
        let Some(service) = self.registry.find(key(at)) else {
            assert!(expected.is_empty() && model.kind.is_none() && model.subscribers.is_empty());
            self.last_ref_times[at] = 0;
            return;
        };
        assert_eq!(service.kind(), model.kind);
        assert_eq!(service.subscribers().len(), model.subscribers.len());
        let view = self.registry.view(&service, self.wall);
        for (clusters, healthy_only) in [(None, false), (Some("c1"), false), (Some("c1,c2"), true), (Some(""), true)] {
            let shown = view.listed(clusters, healthy_only).map(|i| (i.host.clone(), &*i.cluster, i.weight));
            let wanted = expected
                .iter()
                .filter(|((_, cluster), row)| {
                    row.4
                        && (row.3 || !healthy_only)
                        && clusters.is_none_or(|c| c.is_empty() || c.split(',').any(|c| c == *cluster))
                })
                .map(|((host, cluster), row)| (host.clone(), *cluster, f64::from(row.2)));
            assert!(shown.eq(wanted), "service {at}, {clusters:?}, {healthy_only}");
        }
        let again = self.registry.view(&service, self.wall + 10_000);
        assert_eq!(view.last_ref_time, again.last_ref_time, "the time belongs to the revision");
        assert!(view.last_ref_time >= self.last_ref_times[at], "and never goes back");
        self.last_ref_times[at] = view.last_ref_time;
    }
}
