use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::packet::Packet;
use super::state::{AckKey, Due, Flight, State};

/// The times of pushes by UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UdpTiming {
    /// Without an acknowledgement for so long, a packet is sent once more; after as long again, its receiver is forgotten.
    pub(crate) ack_timeout: Duration,
    /// Who has not asked for so long is forgotten.
    pub(crate) keep: Duration,
    /// While a packet is unacknowledged, a newer list follows at most this often.
    pub(crate) spacing: Duration,
}

/// How many subscriptions there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) subscriptions: usize,
    /// Differently filtered lists of one service: filters are texts that clients choose, and each has a packet of its own.
    pub(super) filters: usize,
}

/// One subscription: a service, named by the place where it stands in memory, a filter, and where the list is to go.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) service: usize,
    pub(super) target: SocketAddr,
    pub(super) clusters: Arc<str>,
}

/// Who is subscribed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UdpSubscriber {
    pub(crate) target: SocketAddr,
    pub(crate) clusters: Arc<str>,
    /// What it called itself when it last asked.
    pub(crate) agent: Arc<str>,
    pub(crate) app: Arc<str>,
}

/// What became of a question with a port in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Polled {
    Known,
    New,
    /// There are too many.
    Refused,
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send the newest list to this agent, then say what was sent.
    Newest(Key, Arc<str>),
    /// Send these bytes once more.
    Again(SocketAddr, Packet),
    /// This subscriber never acknowledged anything, and is forgotten.
    GaveUp(SocketAddr),
    /// Nothing before that time, or before the next event.
    Wait(Option<Duration>),
}

struct Entry {
    agent: Arc<str>,
    app: Arc<str>,
    polled: Duration,
    state: State,
    /// Its place in `timers`: never later than it has to be.
    timer: Duration,
}

/// Where a list goes, and its filter.
type Place = (SocketAddr, Arc<str>);

/// The subscriptions of one service.
#[derive(Default)]
struct OfService {
    entries: HashMap<Place, Entry>,
    /// How many have this filter.
    filters: HashMap<Arc<str>, usize>,
}

impl OfService {
    fn insert(&mut self, place: Place, entry: Entry) {
        *self.filters.entry(Arc::clone(&place.1)).or_default() += 1;
        self.entries.insert(place, entry);
    }

    fn remove(&mut self, place: &Place) -> Option<Entry> {
        let removed = self.entries.remove(place)?;
        if let Some(count) = self.filters.get_mut(&place.1) {
            *count -= 1;
            if *count == 0 {
                self.filters.remove(&place.1);
            }
        }
        Some(removed)
    }
}

/// All subscriptions by UDP.
pub(super) struct Subscribers {
    timing: UdpTiming,
    limits: Limits,
    services: HashMap<usize, OfService>,
    count: usize,
    timers: BTreeSet<(Duration, Key)>,
    flights: HashMap<AckKey, Key>,
    /// Services whose last subscriber has gone.
    left: Vec<usize>,
}

impl Subscribers {
    pub(super) fn new(timing: UdpTiming, limits: Limits) -> Self {
        let (services, timers, flights) = (HashMap::new(), BTreeSet::new(), HashMap::new());
        Self { timing, limits, services, count: 0, timers, flights, left: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn of(&self, service: usize) -> impl Iterator<Item = UdpSubscriber> {
        self.services.get(&service).into_iter().flat_map(|all| &all.entries).map(|((target, clusters), entry)| {
            UdpSubscriber {
                target: *target,
                clusters: Arc::clone(clusters),
                agent: Arc::clone(&entry.agent),
                app: Arc::clone(&entry.app),
            }
        })
    }

    /// A known subscriber asked again; false if it is not known.
    pub(super) fn refresh(&mut self, service: usize, who: &UdpSubscriber, now: Duration) -> bool {
        let place = (who.target, Arc::clone(&who.clusters));
        let Some(entry) = self.services.get_mut(&service).and_then(|all| all.entries.get_mut(&place)) else {
            return false;
        };
        entry.polled = now;
        if entry.agent != who.agent {
            entry.agent = Arc::clone(&who.agent);
        }
        true
    }

    /// Somebody asked for a list and gave a port. A new subscriber's first list follows at `first`, if that is given.
    pub(super) fn poll(
        &mut self,
        service: usize,
        who: &UdpSubscriber,
        now: Duration,
        first: Option<Duration>,
    ) -> Polled {
        if self.refresh(service, who, now) {
            return Polled::Known;
        }
        let all = self.services.entry(service).or_default();
        let one_more = !all.filters.contains_key(&who.clusters) && all.filters.len() >= self.limits.filters;
        if self.count >= self.limits.subscriptions || one_more {
            self.forget_if_empty(service);
            return Polled::Refused;
        }
        let state = first.map_or(State::Idle, |at| State::Queued { at });
        let (agent, app) = (Arc::clone(&who.agent), Arc::clone(&who.app));
        let mut entry = Entry { agent, app, polled: now, state, timer: Duration::MAX };
        let key = Key { service, target: who.target, clusters: Arc::clone(&who.clusters) };
        arm(&mut self.timers, &self.timing, &key, &mut entry);
        all.insert((who.target, Arc::clone(&who.clusters)), entry);
        self.count += 1;
        Polled::New
    }

    /// The service's list is another one, and may be sent from `at` on.
    pub(super) fn changed(&mut self, service: usize, at: Duration) {
        for ((target, clusters), entry) in self.services.get_mut(&service).into_iter().flat_map(|all| &mut all.entries)
        {
            let state = std::mem::replace(&mut entry.state, State::Idle);
            entry.state = state.changed(at, &self.timing);
            let key = Key { service, target: *target, clusters: Arc::clone(clusters) };
            arm(&mut self.timers, &self.timing, &key, entry);
        }
    }

    /// What is to be done at `now`. Nothing is sent while pushes are held; silent subscribers are forgotten all the same.
    pub(super) fn step(&mut self, now: Duration, held: bool) -> Step {
        while let Some((at, _)) = self.timers.first() {
            if *at > now {
                return Step::Wait(Some(*at));
            }
            let Some((_, key)) = self.timers.pop_first() else { break };
            let Some(entry) = entry_of(&mut self.services, &key) else { continue };
            entry.timer = Duration::MAX;
            if entry.polled + self.timing.keep <= now {
                self.remove(&key);
                continue;
            }
            if held {
                // Until pushes flow again, there is only its end to wait for.
                entry.timer = entry.polled + self.timing.keep;
                self.timers.insert((entry.timer, key));
                continue;
            }
            match entry.state.due(now) {
                Due::Nothing => arm(&mut self.timers, &self.timing, &key, entry),
                Due::Newest => {
                    if let Some(stamp) = stamp(&entry.state) {
                        self.flights.remove(&(key.target, stamp));
                    }
                    entry.state = State::Flying(Flight::new(now, &self.timing));
                    arm(&mut self.timers, &self.timing, &key, entry);
                    let agent = Arc::clone(&entry.agent);
                    return Step::Newest(key, agent);
                }
                Due::Again => {
                    let repeated = entry.state.flight_mut().and_then(|flight| {
                        flight.again = true;
                        flight.deadline = now + self.timing.ack_timeout;
                        flight.packet.clone()
                    });
                    arm(&mut self.timers, &self.timing, &key, entry);
                    if let Some(packet) = repeated {
                        return Step::Again(key.target, packet);
                    }
                }
                Due::GiveUp => {
                    self.remove(&key);
                    return Step::GaveUp(key.target);
                }
            }
        }
        Step::Wait(None)
    }

    /// [`Step::Newest`] was done with this packet; `None`: it could not be, and nothing is waited for.
    pub(super) fn sent(&mut self, key: &Key, packet: Option<Packet>, now: Duration) {
        let Some(entry) = entry_of(&mut self.services, key) else { return };
        match packet {
            Some(packet) => {
                if let Some(flight) = entry.state.flight_mut() {
                    self.flights.insert((key.target, packet.stamp), key.clone());
                    flight.packet = Some(packet);
                }
            }
            None => {
                entry.state = std::mem::replace(&mut entry.state, State::Idle).landed(now);
                arm(&mut self.timers, &self.timing, key, entry);
            }
        }
    }

    /// An acknowledgement; true if a packet waited for it.
    pub(super) fn acked(&mut self, source: SocketAddr, stamp: i64, now: Duration) -> bool {
        let Some(key) = self.flights.remove(&(source, stamp)) else { return false };
        self.sent(&key, None, now);
        true
    }

    /// Pushes flow again.
    pub(super) fn release(&mut self) {
        for (service, all) in &mut self.services {
            for ((target, clusters), entry) in &mut all.entries {
                let key = Key { service: *service, target: *target, clusters: Arc::clone(clusters) };
                arm(&mut self.timers, &self.timing, &key, entry);
            }
        }
    }

    /// A service whose last subscriber has gone since the last time this was asked.
    pub(super) fn left(&mut self) -> Option<usize> {
        while let Some(service) = self.left.pop() {
            if !self.services.contains_key(&service) {
                return Some(service);
            }
        }
        None
    }

    fn remove(&mut self, key: &Key) {
        let Some(all) = self.services.get_mut(&key.service) else { return };
        let Some(entry) = all.remove(&(key.target, Arc::clone(&key.clusters))) else { return };
        if let Some(stamp) = stamp(&entry.state) {
            self.flights.remove(&(key.target, stamp));
        }
        self.count -= 1;
        self.forget_if_empty(key.service);
    }

    fn forget_if_empty(&mut self, service: usize) {
        if self.services.get(&service).is_some_and(|all| all.entries.is_empty()) {
            self.services.remove(&service);
            self.left.push(service);
        }
    }

    /// Timers and packets under way.
    #[cfg(test)]
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.timers.len(), self.flights.len())
    }
}

fn stamp(state: &State) -> Option<i64> {
    state.flight().and_then(|flight| flight.packet.as_ref()).map(|packet| packet.stamp)
}

fn entry_of<'a>(services: &'a mut HashMap<usize, OfService>, key: &Key) -> Option<&'a mut Entry> {
    services.get_mut(&key.service)?.entries.get_mut(&(key.target, Arc::clone(&key.clusters)))
}

/// Puts the entry's timer where it is needed, unless it is there early enough.
fn arm(timers: &mut BTreeSet<(Duration, Key)>, timing: &UdpTiming, key: &Key, entry: &mut Entry) {
    let end = entry.polled + timing.keep;
    let wake = entry.state.wake().map_or(end, |wake| wake.min(end));
    if wake < entry.timer {
        timers.remove(&(entry.timer, key.clone()));
        timers.insert((wake, key.clone()));
        entry.timer = wake;
    }
}
