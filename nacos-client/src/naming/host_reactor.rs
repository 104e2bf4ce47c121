//! The local cache: one entry per service that is subscribed or looked up.
//!
//! Readers find an entry and its newest snapshot without a lock. Entries are created and removed under one lock, so that
//! nobody ever waits on an entry that has left the map.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use papaya::Equivalent;

use super::entry::Entry;
use super::hold::Guard;
use super::service_list::ServiceList;
use super::slot::SubSlot;
use crate::config::ClientConfig;
use crate::config::{EmptyPolicy, HoldTimes};
use crate::model::{KeyRef, ServiceKey};

impl Equivalent<ServiceKey> for KeyRef<'_> {
    fn equivalent(&self, key: &ServiceKey) -> bool {
        *self == key.as_ref()
    }
}

/// The local cache.
#[derive(Debug)]
pub(crate) struct HostReactor {
    entries: papaya::HashMap<ServiceKey, Arc<Entry>>,
    /// Held while entries come or go; its value is the highest revision of any entry that went.
    structure: Mutex<u64>,
    /// Coarse clock for idle times, advanced by the sweep.
    tick: AtomicU32,
    policy: EmptyPolicy,
    hold_times: HoldTimes,
    reconcile: Option<Duration>,
}

impl HostReactor {
    pub(crate) fn new(config: &ClientConfig) -> Self {
        Self {
            entries: papaya::HashMap::new(),
            structure: Mutex::new(0),
            tick: AtomicU32::new(0),
            policy: config.empty_policy,
            hold_times: config.hold_times,
            reconcile: config.reconcile_interval,
        }
    }

    /// The coarse time.
    #[inline]
    pub(crate) fn tick(&self) -> u32 {
        self.tick.load(Ordering::Relaxed)
    }

    /// Reads an entry without a lock; `None` if the service is not in the cache.
    #[inline]
    pub(crate) fn peek<R>(&self, key: KeyRef<'_>, read: impl FnOnce(&Arc<Entry>) -> R) -> Option<R> {
        self.entries.pin().get(&key).map(read)
    }

    /// The entry of a service, created if it is new.
    pub(crate) fn entry(&self, key: &ServiceKey) -> Arc<Entry> {
        // Cloning an entry under this lock keeps `remove_unused` from dropping it from the map at the same time.
        let revision = self.structure.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = self.entries.pin();
        let create = || {
            let guard = Guard::new(self.policy, self.hold_times);
            Arc::new(Entry::new(key.clone(), ServiceList::new(guard, *revision), SubSlot::new(self.reconcile)))
        };
        Arc::clone(entries.get_or_insert_with(key.clone(), create))
    }

    /// Calls `visit` for every entry.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&Arc<Entry>)) {
        self.entries.pin().values().for_each(&mut visit);
    }

    /// Removes an entry that nobody wants and nobody holds; the caller gives up its own share of it.
    pub(crate) fn remove_unused(&self, entry: Arc<Entry>) {
        let mut revision = self.structure.lock().unwrap_or_else(PoisonError::into_inner);
        let (idle, last) = {
            let state = entry.lock();
            (state.slot.is_idle(), state.revision())
        };
        // Two shares: the map's and the caller's.
        if idle && Arc::strong_count(&entry) <= 2 {
            *revision = last.max(*revision);
            self.entries.pin().remove(entry.key());
        }
    }

    /// Advances the coarse clock and leaves the services that were not looked up for `idle_ticks`.
    pub(crate) fn sweep(&self, idle_ticks: u32) -> Vec<Arc<Entry>> {
        let now = self.tick.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let oldest = now.wrapping_sub(idle_ticks);
        self.entries.pin().values().filter(|entry| entry.leave_if_idle(oldest)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reactor() -> HostReactor {
        HostReactor::new(&ClientConfig::builder().servers(["a"]).build().unwrap())
    }

    #[test]
    fn an_entry_in_use_stays_and_an_unused_one_goes() {
        let reactor = reactor();
        let key = ServiceKey::new("g", "s");
        let held = reactor.entry(&key);
        reactor.remove_unused(reactor.entry(&key));
        assert!(reactor.peek(key.as_ref(), |_| ()).is_some(), "held elsewhere");
        reactor.remove_unused(held);
        assert!(reactor.peek(key.as_ref(), |_| ()).is_none());
        let wanted = reactor.entry(&key);
        wanted.look_up(reactor.tick());
        reactor.remove_unused(wanted);
        assert!(reactor.peek(key.as_ref(), |_| ()).is_some(), "wanted");
    }

    #[test]
    fn services_not_looked_up_for_long_are_left_unless_listened_to() {
        let reactor = reactor();
        let used = reactor.entry(&ServiceKey::new("g", "used"));
        let idle = reactor.entry(&ServiceKey::new("g", "idle"));
        let heard = reactor.entry(&ServiceKey::new("g", "heard"));
        for entry in [&used, &idle, &heard] {
            entry.look_up(reactor.tick());
        }
        heard.add_listener();
        assert!(reactor.sweep(2).is_empty());
        used.touch(reactor.tick());
        let left: Vec<_> = reactor.sweep(2).iter().map(|e| e.key().name().to_owned()).collect();
        assert_eq!(left, ["idle"]);
    }
}
