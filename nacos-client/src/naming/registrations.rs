//! The desired state of this process: which instances of which services it wants registered.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::redo::Redo;
use crate::model::ServiceKey;

/// The registrations of one service.
#[derive(Debug)]
pub(crate) struct Records {
    key: ServiceKey,
    /// Everybody who waits for a status to change.
    changed: Notify,
    /// Already in the queue of the worker.
    pub(super) queued: AtomicBool,
    state: Mutex<RecordsState>,
}

/// What only the holder of the lock sees.
#[derive(Debug, Default)]
pub(crate) struct RecordsState {
    pub(super) redo: Redo,
    /// The moment the worker's clock will ring for these records.
    pub(super) armed: Option<Instant>,
}

impl Records {
    pub(crate) const fn key(&self) -> &ServiceKey {
        &self.key
    }

    pub(crate) const fn changed(&self) -> &Notify {
        &self.changed
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, RecordsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All registrations of the process.
#[derive(Debug, Default)]
pub(crate) struct Registrations {
    services: Mutex<HashMap<ServiceKey, Arc<Records>>>,
    owners: AtomicU64,
}

impl Registrations {
    /// A number for a new registration.
    pub(crate) fn new_owner(&self) -> u64 {
        self.owners.fetch_add(1, Ordering::Relaxed)
    }

    /// Changes the wishes of a service, which is created if it is new, as one step for everybody else.
    pub(crate) fn change<R>(&self, key: &ServiceKey, change: impl FnOnce(&mut Redo) -> R) -> (Arc<Records>, R) {
        // Both locks are held, so that `remove_unused` cannot drop the records between look-up and change.
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        let records = services.entry(key.clone()).or_insert_with(|| {
            let state = Mutex::default();
            let (changed, queued) = (Notify::new(), AtomicBool::new(false));
            Arc::new(Records { key: key.clone(), changed, queued, state })
        });
        let result = change(&mut records.lock().redo);
        (Arc::clone(records), result)
    }

    /// All records there are at this moment.
    pub(crate) fn all(&self) -> Vec<Arc<Records>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Removes records without wish or content. Registrations that hold them still see that they are withdrawn.
    pub(crate) fn remove_unused(&self, records: &Arc<Records>) {
        let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
        if records.lock().redo.is_empty() && services.get(records.key()).is_some_and(|own| Arc::ptr_eq(own, records)) {
            services.remove(records.key());
        }
    }
}
