use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::ArcSwapOption;
use nacos_client::ServiceKey;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

mod maintenance;
mod rerouting;
mod viewing;

pub(super) use rerouting::Rerouting;

use super::ServiceList;
use super::builder::Builder;
use super::list_status::ListStatus;
use super::snapshot::Snapshot;
use super::updater::Updater;
use crate::eject::{EjectionSender, Ejector};
use crate::node::Node;
use crate::pick::{NoInstance, NoInstanceReason, PickContext, Picked, Reach, Verdict};
use crate::retry::SharedBudget;
use crate::route::RequestHead;
use crate::settings::ServiceSettings;
use crate::{DiscoveryError, Endpoint, ServiceInstance, Tried, address};

/// The instances of one service that requests can go to. Shared by everyone who calls the service.
///
/// Picks read an immutable snapshot without a lock. Lists replace it as a whole; a pick that begins after
/// [`Endpoints::apply`] returned sees the new one. As long as somebody holds it, it is kept up to date.
pub struct Endpoints {
    service: ServiceKey,
    settings: Arc<ServiceSettings>,
    current: ArcSwapOption<Snapshot>,
    /// Whether there is a snapshot: set after the first one was stored, and read where nothing else of it is needed.
    known: AtomicBool,
    builder: Mutex<Builder>,
    /// How many snapshots there were.
    published: watch::Sender<u64>,
    ejector: Arc<Ejector>,
    trouble: Mutex<Option<Arc<DiscoveryError>>>,
    cross_cluster: AtomicU64,
    /// Whether somebody asked for it since the last look.
    used: AtomicBool,
    updater: OnceLock<Updater>,
    retry_budget: SharedBudget,
}

/// What became of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Applied {
    /// It is what requests are spread over now.
    Replaced,
    /// The one before has the same instances: its tables stay, and only revision and flags are new.
    Unchanged,
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
        let retry_budget = SharedBudget::new(settings.retry(), Instant::now());
        let ejector = Arc::new(Ejector::new(&settings, events, Instant::now(), fastrand::u64(..)));
        let reach = Reach::new(settings.selection().family(), address::own_addresses);
        let builder = Mutex::new(Builder::new(service.clone(), Arc::clone(&settings), reach, Arc::clone(&ejector)));
        Self {
            service,
            settings,
            current: ArcSwapOption::empty(),
            known: AtomicBool::new(false),
            builder,
            published: watch::Sender::new(0),
            ejector,
            trouble: Mutex::default(),
            cross_cluster: AtomicU64::new(0),
            used: AtomicBool::new(true),
            updater: OnceLock::new(),
            retry_budget,
        }
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
        let now = Instant::now();
        let mut builder = lock(&self.builder);
        let current = self.current.load_full();
        if current.as_ref().is_some_and(|current| current.status.revision() > list.revision()) {
            return Applied::Outdated;
        }
        let status = ListStatus::new(list, now);
        let applied = match current {
            Some(current) if builder.has(list) => {
                self.publish(Snapshot::new(Arc::clone(&current.content), status), now);
                Applied::Unchanged
            }
            _ => {
                let content = Arc::new(builder.build(list, fastrand::u64(..), now));
                self.replace(Snapshot::new(content, status), now);
                Applied::Replaced
            }
        };
        drop(builder);
        *lock(&self.trouble) = None;
        applied
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
        cx.begin();
        let picked = snapshot.pick(cx, &self.ejector).ok_or(()).or_else(|()| self.pick_again(snapshot, cx))?;
        if picked.endpoint().is_cross_cluster() {
            self.cross_cluster.fetch_add(1, Ordering::Relaxed);
        }
        Ok(picked)
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
    /// [`NoInstanceReason::Unknown`] if none has by then; what the source said is its `source()`.
    ///
    /// # Cancel safety
    /// Cancel safe: it only waits.
    pub async fn ready(&self) -> Result<(), NoInstance> {
        if self.is_known() {
            return Ok(());
        }
        let mut published = self.published.subscribe();
        let arrived = timeout(self.settings.first_list_wait(), published.wait_for(|count| *count > 0));
        arrived.await.map(drop).map_err(|_| self.unknown())
    }

    /// Whether a list has arrived, or nobody can tell one any longer.
    #[must_use]
    #[inline]
    pub fn is_known(&self) -> bool {
        self.known.load(Ordering::Acquire)
    }

    /// Whether there is an instance that this request can go to, takes requests and is not among those tried, whatever is
    /// preferred.
    pub(crate) fn has_untried(&self, tried: &Tried, head: RequestHead<'_>) -> bool {
        let current = self.current.load();
        let Some(snapshot) = current.as_ref() else { return false };
        tried.with_nodes(|nodes| {
            let is_tried = |node: &Arc<Node>| nodes.iter().any(|tried| Arc::ptr_eq(tried, node));
            let mut cx = PickContext::new().for_request(head).drawn(tried.draw());
            let mut nodes = snapshot.endpoints_for(&mut cx).map(|endpoint| endpoint.node());
            nodes.any(|node| node.is_usable(0) && !is_tried(node))
        })
    }

    /// What all callers of the service have together.
    pub(crate) const fn retry_budget(&self) -> &SharedBudget {
        &self.retry_budget
    }

    /// Everyone that a request can go to, whatever is preferred and wherever it is routed, sorted by address and cluster.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Endpoint>> {
        self.current.load().as_ref().map(|current| current.endpoints().cloned().collect()).unwrap_or_default()
    }

    /// Those that requests go to as long as one of them takes them; where requests are routed by rules, those of the
    /// baseline.
    #[must_use]
    pub fn preferred(&self) -> Vec<Arc<Endpoint>> {
        self.current.load().as_ref().map(|current| current.preferred().cloned().collect()).unwrap_or_default()
    }

    /// Every instance of the list, and whether requests go there; none before the first list.
    #[must_use]
    pub fn verdicts(&self) -> Vec<(ServiceInstance, Verdict)> {
        self.current.load().as_ref().map(|current| current.content.verdicts.clone()).unwrap_or_default()
    }

    /// What is known of the list beside its instances; `None` before the first one.
    #[must_use]
    pub fn list_status(&self) -> Option<ListStatus> {
        self.current.load().as_ref().map(|current| current.status)
    }

    /// What the source failed with since the last list.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<DiscoveryError>> {
        lock(&self.trouble).clone()
    }

    /// How many picks left the preferred cluster.
    #[must_use]
    pub fn cross_cluster_picks(&self) -> u64 {
        self.cross_cluster.load(Ordering::Relaxed)
    }

    /// How many times an instance came with a weight that is none: below 0, above 10000, not a number.
    #[must_use]
    pub fn odd_weights(&self) -> u64 {
        lock(&self.builder).odd_weights()
    }

    #[cold]
    fn unknown(&self) -> NoInstance {
        let reason = NoInstanceReason::Unknown { waited: self.settings.first_list_wait() };
        NoInstance::new(self.service.clone(), reason).caused_by(self.trouble())
    }

    #[cold]
    fn none(&self, snapshot: &Snapshot, cx: &mut PickContext<'_>) -> NoInstance {
        NoInstance::new(self.service.clone(), snapshot.why_none(cx)).caused_by(self.trouble())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints")
            .field("service", &self.service)
            .field("current", &*self.current.load())
            .finish_non_exhaustive()
    }
}
