use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client::Client;
use super::details::Details;
use super::instance::{Host, Instance};
use super::view::{Rules, View};

/// The identity of a service, borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct KeyRef<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
}

/// `namespace@@group@@name`
impl fmt::Display for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@@{}@@{}", self.namespace, self.group, self.name)
    }
}

/// A service is wholly one or the other, as its first registration decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ephemeral,
    Persistent,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ephemeral => "ephemeral",
            Self::Persistent => "persistent",
        })
    }
}

/// What one client publishes into one service.
#[derive(Debug, Clone)]
pub(crate) enum Published {
    One(Arc<Instance>),
    Many(Box<[Arc<Instance>]>),
}

impl Published {
    pub(crate) fn as_slice(&self) -> &[Arc<Instance>] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

impl Published {
    fn as_mut_slice(&mut self) -> &mut [Arc<Instance>] {
        match self {
            Self::One(one) => std::slice::from_mut(one),
            Self::Many(many) => many,
        }
    }
}

#[derive(Debug)]
pub(super) struct Record {
    pub(super) client: u64,
    pub(super) published: Published,
}

/// Almost every service of a large registry has exactly one record, which then takes no heap of its own.
#[derive(Debug, Default)]
pub(super) enum Records {
    #[default]
    None,
    One(Record),
    /// Sorted by client.
    Many(Vec<Record>),
}

impl Records {
    pub(super) fn as_slice(&self) -> &[Record] {
        match self {
            Self::None => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// All instances, as their registrants describe them.
    pub(super) fn instances(&self) -> impl Iterator<Item = &Arc<Instance>> {
        self.as_slice().iter().flat_map(|record| record.published.as_slice())
    }

    /// What this client published.
    pub(super) fn get(&self, client: u64) -> Option<&Published> {
        let all = self.as_slice();
        let at = all.binary_search_by_key(&client, |record| record.client).ok()?;
        all.get(at).map(|record| &record.published)
    }

    fn as_mut_slice(&mut self) -> &mut [Record] {
        match self {
            Self::None => &mut [],
            Self::One(one) => std::slice::from_mut(one),
            Self::Many(many) => many,
        }
    }

    /// Sets the health of all that this client published; whether anything changed.
    pub(super) fn set_health_of(&mut self, client: u64, healthy: bool) -> bool {
        let mine = self.as_mut_slice().iter_mut().filter(|record| record.client == client);
        mine.flat_map(|record| record.published.as_mut_slice()).fold(false, |changed, instance| {
            let differs = instance.healthy != healthy;
            if differs {
                *instance = Arc::new(Instance { healthy, ..Instance::clone(instance) });
            }
            changed || differs
        })
    }

    /// Sets the health of an instance in every record that has it. `None`: there is no such instance; else whether anything
    /// changed.
    pub(super) fn set_health(&mut self, row: (&Host, u16, &str), healthy: bool) -> Option<bool> {
        let mut found = None;
        for instance in self.as_mut_slice().iter_mut().flat_map(|record| record.published.as_mut_slice()) {
            if instance.row() == row {
                let differs = instance.healthy != healthy;
                if differs {
                    *instance = Arc::new(Instance { healthy, ..Instance::clone(instance) });
                }
                found = Some(found.unwrap_or(false) || differs);
            }
        }
        found
    }

    /// Puts the record in place of the client's previous one, which is returned.
    pub(super) fn put(&mut self, record: Record) -> Option<Published> {
        match self {
            Self::None => {
                *self = Self::One(record);
                None
            }
            Self::One(one) if one.client == record.client => {
                Some(std::mem::replace(&mut one.published, record.published))
            }
            Self::One(_) => {
                if let Self::One(one) = std::mem::take(self) {
                    let mut many = vec![one, record];
                    many.sort_unstable_by_key(|r| r.client);
                    *self = Self::Many(many);
                }
                None
            }
            Self::Many(many) => match many.binary_search_by_key(&record.client, |r| r.client) {
                Ok(at) => many.get_mut(at).map(|r| std::mem::replace(&mut r.published, record.published)),
                Err(at) => {
                    many.insert(at, record);
                    None
                }
            },
        }
    }

    pub(super) fn remove(&mut self, client: u64) -> Option<Published> {
        match self {
            Self::None => None,
            Self::One(one) if one.client == client => match std::mem::take(self) {
                Self::One(one) => Some(one.published),
                Self::None | Self::Many(_) => None,
            },
            Self::One(_) => None,
            Self::Many(many) => {
                let at = many.binary_search_by_key(&client, |r| r.client).ok()?;
                let removed = many.remove(at).published;
                if many.len() == 1 {
                    *self = many.pop().map_or(Self::None, Self::One);
                }
                Some(removed)
            }
        }
    }
}

/// A client that wants to hear of changes.
#[derive(Debug, Clone)]
pub(crate) struct Subscriber {
    pub(crate) client: Arc<Client>,
    /// Its cluster filter, verbatim; `None` for null.
    pub(crate) clusters: Option<Arc<str>>,
}

/// One service, known because something was registered in it or somebody subscribed to it.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) namespace: Arc<str>,
    pub(crate) group: Arc<str>,
    pub(crate) name: Box<str>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) records: Records,
    /// Sorted by client number. Boxed because most services have none.
    #[expect(clippy::box_collection, reason = "16 bytes less per service without subscribers")]
    pub(super) subscribers: Option<Box<Vec<Subscriber>>>,
    /// The list of the current revision, if it was needed and is worth keeping.
    pub(super) view: Option<Arc<View>>,
    /// Sum of all writes.
    pub(super) revision: u64,
    pub(super) last_ref_time: i64,
    /// What operators said; boxed because of most services they said nothing.
    pub(super) details: Option<Box<Details>>,
    /// Instances in all records.
    pub(super) instances: usize,
    /// Seconds of the server's own clock when the last record went.
    pub(super) empty_since: u32,
    /// `None` until something was registered: subscribing alone does not create a service.
    pub(super) kind: Option<Kind>,
    /// `last_ref_time` belongs to the current revision.
    timed: bool,
    /// It was told that its list is too long.
    long_noted: bool,
    /// Taken out of the registry: whoever still holds it must look again.
    pub(super) dead: bool,
}

impl Service {
    pub(super) fn new(namespace: Arc<str>, group: Arc<str>, name: &str) -> Self {
        Self { namespace, group, name: name.into(), state: Mutex::default() }
    }

    pub(crate) fn key(&self) -> KeyRef<'_> {
        KeyRef { namespace: &self.namespace, group: &self.group, name: &self.name }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while nothing was registered in it.
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.lock().kind
    }

    /// How many are published into it, one address by several clients counted as often.
    pub(crate) fn instances(&self) -> usize {
        self.lock().instances
    }

    /// Notes that its list is too long; true the first time.
    pub(crate) fn note_long(&self) -> bool {
        !std::mem::replace(&mut self.lock().long_noted, true)
    }

    pub(crate) fn subscribers(&self) -> Vec<Subscriber> {
        self.lock().subscribers.as_deref().cloned().unwrap_or_default()
    }
}

impl State {
    pub(super) fn subscribers(&self) -> &[Subscriber] {
        self.subscribers.as_deref().map_or(&[], Vec::as_slice)
    }

    pub(super) fn touch(&mut self, keep_view: bool) {
        self.revision += 1;
        self.timed = false;
        if !keep_view {
            self.view = None;
        }
    }

    /// Adds the subscriber, or replaces its filter; true if it is new.
    pub(super) fn subscribe(&mut self, subscriber: Subscriber) -> bool {
        let all = self.subscribers.get_or_insert_default();
        match all.binary_search_by_key(&subscriber.client.number, |s| s.client.number) {
            Ok(at) => {
                if let Some(known) = all.get_mut(at) {
                    known.clusters = subscriber.clusters;
                }
                false
            }
            Err(at) => {
                all.insert(at, subscriber);
                true
            }
        }
    }

    pub(super) fn unsubscribe(&mut self, client: u64) -> Option<Subscriber> {
        let all = self.subscribers.as_deref_mut()?;
        let at = all.binary_search_by_key(&client, |s| s.client.number).ok()?;
        let removed = all.remove(at);
        if all.is_empty() {
            self.subscribers = None;
        }
        Some(removed)
    }

    /// The threshold that protects the lists, if any does.
    pub(super) fn threshold(&self, rules: Rules) -> Option<f32> {
        self.details.as_deref().filter(|_| rules.protection).and_then(Details::threshold)
    }

    /// The list of the current revision. `now` is the wall clock in milliseconds.
    pub(super) fn current_view(&mut self, rules: Rules, now: i64) -> Arc<View> {
        if let Some(view) = &self.view {
            return Arc::clone(view);
        }
        let view = Arc::new(self.build_view(rules, now));
        // A single row is built faster than it is worth the memory, unless a push will want its encoded form again.
        if view.len() > 1 || self.subscribers.is_some() {
            self.view = Some(Arc::clone(&view));
        }
        view
    }

    pub(super) fn build_view(&mut self, rules: Rules, now: i64) -> View {
        if !self.timed || self.last_ref_time == 0 {
            self.timed = true;
            self.last_ref_time = now.max(self.last_ref_time + 1);
        }
        let records = self.records.as_slice();
        let published = records.iter().flat_map(|r| r.published.as_slice().iter().map(move |i| (r.client, i)));
        let view = View::new(published, rules.rows, self.kind.unwrap_or(Kind::Ephemeral), self.last_ref_time);
        match self.details.as_deref() {
            None => view,
            Some(details) => view.with_overrides(&details.overrides).with_threshold(self.threshold(rules)),
        }
    }
}
