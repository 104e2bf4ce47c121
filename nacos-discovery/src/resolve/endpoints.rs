use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use nacos_client::ServiceKey;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::ServiceList;
use super::builder::Builder;
use super::snapshot::Snapshot;
use crate::Endpoint;
use crate::eject::{EjectionSender, Ejector};
use crate::pick::{NoInstance, NoInstanceReason, PickContext, Picked};
use crate::settings::ServiceSettings;

/// The instances of one service that requests can go to. Shared by everyone who calls the service.
///
/// Picks read an immutable snapshot without a lock. Lists replace it as a whole; a pick that begins after
/// [`Endpoints::apply`] returned sees the new one.
pub struct Endpoints {
    service: ServiceKey,
    settings: Arc<ServiceSettings>,
    current: ArcSwapOption<Snapshot>,
    builder: Mutex<Builder>,
    ejector: Arc<Ejector>,
    arrived: Notify,
}

/// What became of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Applied {
    /// It is what requests are spread over now.
    Replaced,
    /// A newer one was there already.
    Outdated,
}

impl Endpoints {
    /// Of a service of which no list has arrived.
    #[must_use]
    pub fn new(service: ServiceKey, settings: Arc<ServiceSettings>) -> Self {
        Self::telling(service, settings, EjectionSender::new())
    }

    /// The same, whose ejections are told to `events`.
    pub(crate) fn telling(service: ServiceKey, settings: Arc<ServiceSettings>, events: EjectionSender) -> Self {
        let ejector = Arc::new(Ejector::new(&settings, events, Instant::now(), fastrand::u64(..)));
        let builder = Mutex::new(Builder::new(service.clone(), Arc::clone(&settings), Arc::clone(&ejector)));
        Self { service, settings, current: ArcSwapOption::empty(), builder, ejector, arrived: Notify::new() }
    }

    /// The service.
    #[must_use]
    pub const fn service(&self) -> &ServiceKey {
        &self.service
    }

    /// How requests are spread over it.
    #[must_use]
    pub const fn settings(&self) -> &Arc<ServiceSettings> {
        &self.settings
    }

    /// Puts `list` in the place of the one before, unless that is newer. For sources and tests; a [`crate::Directory`]
    /// does it by itself.
    pub fn apply(&self, list: &ServiceList) -> Applied {
        let mut builder = self.lock();
        if self.current.load().as_ref().is_some_and(|current| current.revision > list.revision()) {
            return Applied::Outdated;
        }
        let now = Instant::now();
        let snapshot = builder.build(list, fastrand::u64(..), now);
        self.ejector.members_changed(snapshot.endpoints(), now);
        self.current.store(Some(Arc::new(snapshot)));
        drop(builder);
        self.arrived.notify_waiters();
        Applied::Replaced
    }

    /// Picks an instance. Waits for nothing, and with the default policy allocates nothing. It takes a lock only where the
    /// request is to probe an ejected instance.
    ///
    /// # Errors
    /// [`NoInstance`] if none can take the request; before the first list that is [`NoInstanceReason::Unknown`].
    #[inline]
    pub fn pick(&self, cx: &mut PickContext<'_>) -> Result<Picked, NoInstance> {
        let current = self.current.load();
        let Some(snapshot) = current.as_ref() else {
            return Err(self.unknown());
        };
        snapshot.pick(cx, &self.ejector).ok_or(()).or_else(|()| self.pick_again(snapshot, cx))
    }

    /// Makes sure that there is none. The list may have been replaced meanwhile, and all that the one before had may be
    /// ejected now that there are others.
    #[cold]
    fn pick_again(&self, before: &Arc<Snapshot>, cx: &mut PickContext<'_>) -> Result<Picked, NoInstance> {
        let mut snapshot = Arc::clone(before);
        loop {
            if let Some(picked) = snapshot.pick_settled(cx, &self.ejector) {
                return Ok(picked);
            }
            match self.current.load_full() {
                Some(current) if !Arc::ptr_eq(&current, &snapshot) => snapshot = current,
                _ => return Err(self.none(&snapshot, cx)),
            }
        }
    }

    /// Waits until the first list has arrived, at most as long as the settings say.
    ///
    /// # Errors
    /// [`NoInstanceReason::Unknown`] if none has by then.
    ///
    /// # Cancel safety
    /// Cancel safe: it only waits.
    pub async fn ready(&self) -> Result<(), NoInstance> {
        let arrived = self.arrived.notified();
        if self.is_known() {
            return Ok(());
        }
        timeout(self.settings.first_list_wait(), arrived).await.map_err(|_| self.unknown())
    }

    /// Whether a list has arrived.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.current.load().is_some()
    }

    /// Everyone that a request can go to, whatever is preferred, sorted by address and cluster.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Endpoint>> {
        self.current.load().as_ref().map(|current| current.endpoints().cloned().collect()).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Builder> {
        self.builder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cold]
    fn unknown(&self) -> NoInstance {
        NoInstance::new(self.service.clone(), NoInstanceReason::Unknown { waited: self.settings.first_list_wait() })
    }

    #[cold]
    fn none(&self, snapshot: &Snapshot, cx: &PickContext<'_>) -> NoInstance {
        let reason = if snapshot.tiers.is_empty() {
            snapshot.empty.clone()
        } else {
            NoInstanceReason::AllTried { count: cx.tried().len() }
        };
        NoInstance::new(self.service.clone(), reason)
    }
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints")
            .field("service", &self.service)
            .field("current", &*self.current.load())
            .finish_non_exhaustive()
    }
}
