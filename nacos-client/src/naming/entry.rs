//! One service in the cache: what readers see without a lock, and the state machines behind it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::link::Link;
use super::service_list::{Received, ServiceList, Taken};
use super::slot::SubSlot;
use crate::model::{ServiceKey, ServiceSnapshot};
use crate::transport::Origin;

/// One service in the cache.
#[derive(Debug)]
pub(crate) struct Entry {
    key: ServiceKey,
    current: ArcSwapOption<ServiceSnapshot>,
    /// Everybody who waits for news of this service.
    changed: Arc<Notify>,
    /// Coarse time of the last look-up.
    last_used: AtomicU32,
    /// Already in the queue of the worker.
    pub(super) queued: AtomicBool,
    state: Mutex<EntryState>,
}

/// What only the holder of the entry's lock sees.
#[derive(Debug)]
pub(crate) struct EntryState {
    list: ServiceList,
    pub(super) slot: SubSlot,
    /// Subscriptions, watches and handlers.
    listeners: usize,
    /// Looked up without a subscription: stays until it was idle for a while.
    looked_up: bool,
    /// The moment the worker's clock will ring for this entry.
    pub(super) armed: Option<Instant>,
}

/// What a push led to.
#[derive(Debug)]
pub(crate) struct Pushed {
    pub(crate) taken: Taken,
    /// Removals are held from now on.
    pub(crate) hold_begins: bool,
    /// The worker has something to do.
    pub(crate) work: bool,
}

impl Entry {
    pub(crate) fn new(key: ServiceKey, list: ServiceList, slot: SubSlot) -> Self {
        let state = EntryState { list, slot, listeners: 0, looked_up: false, armed: None };
        Self {
            key,
            current: ArcSwapOption::empty(),
            changed: Arc::new(Notify::new()),
            last_used: AtomicU32::new(0),
            queued: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    pub(crate) const fn key(&self) -> &ServiceKey {
        &self.key
    }

    /// The newest snapshot, without a lock.
    #[inline]
    pub(crate) fn snapshot(&self) -> Option<Arc<ServiceSnapshot>> {
        self.current.load_full()
    }

    /// Reads the newest snapshot without a lock and without counting a reference.
    #[inline]
    pub(crate) fn read<R>(&self, read: impl FnOnce(&ServiceSnapshot) -> R) -> Option<R> {
        self.current.load().as_deref().map(read)
    }

    /// Remembers a look-up at the coarse time `tick`.
    #[inline]
    pub(crate) fn touch(&self, tick: u32) {
        // Most of the time the value is right already, and a line that is only read stays shared between cores.
        if self.last_used.load(Ordering::Relaxed) != tick {
            self.last_used.store(tick, Ordering::Relaxed);
        }
    }

    /// Wakes all who wait when the snapshot or the outcome of a call changes.
    pub(crate) const fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, EntryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a push.
    pub(crate) fn push(&self, link: &Link, origin: Origin, push: Received, now: Instant) -> Pushed {
        let mut state = self.lock();
        if !state.slot.is_wanted() {
            return Pushed { taken: Taken::OldEpoch, hold_begins: false, work: false };
        }
        let held = state.list.is_holding();
        let taken = state.list.push(&self.key, link, origin, push, now);
        match taken {
            Taken::Overtaken => state.slot.check(now),
            Taken::Doubtful => state.slot.check_at_once(now),
            Taken::Changed | Taken::Unchanged | Taken::OldEpoch => {}
        }
        self.publish(&state, taken);
        let hold_begins = !held && state.list.is_holding();
        let ask = matches!(taken, Taken::Overtaken | Taken::Doubtful);
        Pushed { taken, hold_begins, work: ask || state.list.decision_at().is_some() }
    }

    /// The list of an answer.
    pub(crate) fn answer(&self, state: &mut EntryState, link: &Link, answer: Received, now: Instant) -> Taken {
        let taken = state.list.answer(&self.key, link, answer, now);
        self.publish(state, taken);
        taken
    }

    /// The connection is lost.
    pub(crate) fn lost(&self, since: Instant) {
        let mut state = self.lock();
        let taken = state.list.lost(&self.key, since);
        self.publish(&state, taken);
    }

    fn publish(&self, state: &EntryState, taken: Taken) {
        if taken == Taken::Changed {
            self.current.store(state.list.current().cloned());
            self.changed.notify_waiters();
        }
    }

    /// The service is looked up: it is subscribed if it was not. `true` if the worker has something to do.
    pub(crate) fn look_up(&self, tick: u32) -> bool {
        self.touch(tick);
        let mut state = self.lock();
        state.looked_up = true;
        state.want()
    }

    /// One listener more. `true` if the worker has something to do.
    pub(crate) fn add_listener(&self) -> bool {
        let mut state = self.lock();
        state.listeners += 1;
        state.want()
    }

    /// One listener less. `true` if the worker has something to do.
    pub(crate) fn remove_listener(&self) -> bool {
        let mut state = self.lock();
        state.listeners = state.listeners.saturating_sub(1);
        if state.listeners > 0 || state.looked_up {
            return false;
        }
        self.leave(&mut state);
        true
    }

    /// Nobody needs the list kept up to date: it is forgotten, so that nobody takes an old one for a new one.
    fn leave(&self, state: &mut EntryState) {
        state.slot.set_wanted(false);
        state.list.clear();
        self.current.store(None);
        self.changed.notify_waiters();
    }

    /// The look-up is over. `true` if the worker has something to do.
    pub(crate) fn forget_look_up(&self) -> bool {
        let mut state = self.lock();
        state.looked_up = false;
        if state.listeners > 0 || !state.slot.is_wanted() {
            return false;
        }
        self.leave(&mut state);
        true
    }

    /// Leaves the service if it was only looked up and not used since `oldest`. `true` if the worker has something to do.
    pub(crate) fn leave_if_idle(&self, oldest: u32) -> bool {
        let mut state = self.lock();
        if state.slot.is_idle() {
            // Only the map may hold it by now.
            return true;
        }
        // Coarse times may wrap round, so their distance counts.
        let used = self.last_used.load(Ordering::Relaxed);
        if state.listeners > 0 || !state.looked_up || (used.wrapping_sub(oldest) as i32) > 0 {
            return false;
        }
        state.looked_up = false;
        self.leave(&mut state);
        true
    }
}

impl EntryState {
    fn want(&mut self) -> bool {
        let changed = !self.slot.is_wanted();
        self.slot.set_wanted(true);
        changed
    }

    pub(crate) const fn listeners(&self) -> usize {
        self.listeners
    }

    pub(crate) fn is_holding(&self) -> bool {
        self.list.is_holding()
    }

    pub(crate) fn decision_at(&self) -> Option<Instant> {
        self.list.decision_at()
    }

    pub(crate) const fn revision(&self) -> u64 {
        self.list.revision()
    }
}
