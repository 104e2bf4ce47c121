use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::Guard;
use crate::clock::Clock;
use crate::config::Settings;
use crate::conn::ConnectionTable;
use crate::counters::LiveCounters;
use crate::fault::{FaultState, PushMode};
use crate::health::{BeatRules, Beats};
use crate::namespaces::Namespaces;
use crate::oddity::Oddities;
use crate::ops::{PushState, SwitchError, Switches};
use crate::push::{Courier, DelayEngine, Direct};
use crate::registry::{ListJson, NameForm, Propagation, Registry, RegistrySettings, Service, View};
use crate::supervision::{PanicWatch, Supervisor};

/// What all parts of one running server share.
pub(crate) struct Context {
    pub(crate) settings: Settings,
    /// The main port, as this server calls itself in answers.
    pub(crate) http_addr: SocketAddr,
    /// Present where only users are let in.
    pub(crate) guard: Option<Guard>,
    pub(crate) clock: Clock,
    pub(crate) counters: LiveCounters,
    pub(crate) registry: Registry,
    pub(crate) beats: Beats,
    pub(crate) connections: ConnectionTable,
    /// Pushes to clients of the 1.x protocol.
    pub(crate) udp: Courier,
    pub(crate) namespaces: Namespaces,
    pub(crate) fault: FaultState,
    /// Present in [`Behaviour::Nacos25`](crate::Behaviour::Nacos25).
    pub(crate) oddities: Option<Arc<Oddities>>,
    /// Asks everything to end in its own time.
    pub(crate) stop: CancellationToken,
    /// All tasks of the server.
    pub(crate) tasks: TaskTracker,
    pub(crate) supervisor: Supervisor,
    switches: Mutex<Switches>,
    /// The switch for pushes, to be looked at often.
    pushes_off: AtomicBool,
    /// What had been pushed when an operator began to count anew.
    push_base: Mutex<PushState>,
    /// Numbers the requests to clients, in the whole server.
    request_ids: AtomicU64,
    persistence_noted: AtomicBool,
    tls_noted: AtomicBool,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("registry", &self.registry).finish_non_exhaustive()
    }
}

/// What distinguishes one start from another.
pub(crate) struct Start {
    pub(crate) http_addr: SocketAddr,
    pub(crate) oddities: Option<Oddities>,
    pub(crate) skew_ms: i64,
    pub(crate) seed: u64,
    pub(crate) guard: Option<Guard>,
}

/// What a list is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListRequest<'a> {
    pub(crate) group: &'a str,
    pub(crate) name: &'a str,
    pub(crate) form: NameForm,
    pub(crate) clusters: Option<&'a str>,
    pub(crate) healthy_only: bool,
}

/// Lists up to this size fit into the 10 MiB that clients commonly take in one message, with what is written around a list.
const CLIENTS_TAKE: usize = nacos_proto::MAX_MESSAGE_SIZE - 1024;

/// Says once for each service that most clients will not get its list.
fn note_long_list(service: &Service, instances: usize, bytes: usize) {
    if service.note_long() {
        let key = service.key();
        tracing::warn!(
            namespace = key.namespace,
            group = key.group,
            service = key.name,
            instances,
            bytes,
            "a list is larger than the 10 MiB that clients commonly take in one message: raise their limit, \
             split the service, or shorten its metadata"
        );
    }
}

impl Context {
    /// The second value drives the recorded behaviour's delayed pushes, if that is chosen.
    pub(crate) fn new(
        settings: Settings,
        start: Start,
        abort: CancellationToken,
    ) -> (Arc<Self>, Option<Arc<DelayEngine>>) {
        let Start { http_addr, oddities, skew_ms, seed, guard } = start;
        let oddities = oddities.map(Arc::new);
        let mut engine = None;
        let context = Arc::new_cyclic(|weak: &Weak<Self>| {
            let propagation: Arc<dyn Propagation> = match &oddities {
                None => Arc::new(Direct),
                Some(_) => Arc::clone(engine.insert(Arc::new(DelayEngine::new(weak.clone())))) as _,
            };
            let registry = Registry::new(RegistrySettings {
                max_services_per_client: settings.max_services_per_client,
                max_instances_per_service: settings.max_instances_per_service,
                protection: settings.protection,
                stale: oddities.clone(),
                propagation,
            });
            let beats = Beats::new(BeatRules {
                check_interval: settings.beat_check_interval,
                removes: settings.expire_instances,
                as_recorded: oddities.is_some(),
            });
            let connections = ConnectionTable::new(settings.max_buffered);
            let udp = Courier::new(&registry, &settings, weak.clone());
            Self {
                settings,
                http_addr,
                guard,
                clock: Clock::new(skew_ms),
                counters: LiveCounters::default(),
                registry,
                beats,
                connections,
                udp,
                namespaces: Namespaces::default(),
                fault: FaultState::new(seed, abort),
                oddities,
                stop: CancellationToken::new(),
                tasks: TaskTracker::new(),
                supervisor: Supervisor::default(),
                switches: Mutex::default(),
                pushes_off: AtomicBool::new(false),
                push_base: Mutex::default(),
                request_ids: AtomicU64::new(1),
                persistence_noted: AtomicBool::new(false),
                tls_noted: AtomicBool::new(false),
            }
        });
        (context, engine)
    }

    /// Runs a task that the server waits for when it ends, and whose panic ends its readiness.
    pub(crate) fn spawn<F>(self: &Arc<Self>, task: F)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let watch = PanicWatch(Arc::clone(self));
        // No block that awaits the task: it would hold it twice, and there is one for each connection and each request.
        self.tasks.spawn(task.map(move |output| {
            drop(watch);
            output
        }));
    }

    /// Whether the server does what it is there for.
    pub(crate) fn ready(&self) -> bool {
        !self.fault.starting() && !self.supervisor.failed()
    }

    /// Not to be held for longer than a look at it.
    pub(crate) fn switches(&self) -> MutexGuard<'_, Switches> {
        self.switches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Turns a switch; what hangs on it follows at once.
    pub(crate) fn turn_switch(&self, entry: &str, value: &str) -> Result<(), SwitchError> {
        let off = {
            let mut switches = self.switches();
            switches.set(entry, value)?;
            !switches.pushes_enabled()
        };
        if self.pushes_off.swap(off, Ordering::SeqCst) != off {
            self.nudge_pushes();
        }
        Ok(())
    }

    /// What pushes are counted from; `new` is what they are counted from after this.
    pub(crate) fn push_state_base(&self, new: Option<PushState>) -> PushState {
        let mut base = self.push_base.lock().unwrap_or_else(PoisonError::into_inner);
        let present = *base;
        *base = new.unwrap_or(present);
        present
    }

    /// Lists stay unsent, by a switch or by a fault.
    pub(crate) fn pushes_are_held(&self) -> bool {
        self.pushes_off.load(Ordering::Relaxed) || self.fault.push_mode() == PushMode::Hold
    }

    /// Looks again at what is to be pushed, after something that held it back may have ended.
    pub(crate) fn nudge_pushes(&self) {
        self.connections.for_each(|connection| connection.outbox().nudge());
        self.udp.nudge();
    }

    pub(crate) fn next_request_id(&self) -> u64 {
        self.request_ids.fetch_add(1, Ordering::Relaxed)
    }

    /// A number that no other instance of this server got.
    pub(crate) fn snowflake(&self) -> u64 {
        let ms = u64::try_from(self.clock.wall_ms()).unwrap_or_default();
        (ms << 20) | (self.next_request_id() & 0xf_ffff)
    }

    /// Says once that persistent instances do not survive this process.
    pub(crate) fn note_memory_only_persistence(&self) {
        if !self.persistence_noted.swap(true, Ordering::Relaxed) {
            tracing::warn!("persistent instances are kept in memory only: they are gone when this server ends");
        }
    }

    /// Says, the first time, that a client speaks TLS; whoever connects must not be able to fill the log.
    pub(crate) fn note_tls(&self, remote: SocketAddr) {
        if self.tls_noted.swap(true, Ordering::Relaxed) {
            tracing::debug!(%remote, "a client speaks TLS");
        } else {
            tracing::warn!(%remote, "a client speaks TLS, which this server does not; further ones are told at debug level");
        }
    }

    /// The list that subscribers with this filter are pushed: encoded once per revision and filter.
    pub(crate) fn encoded_list(&self, service: &Arc<Service>, clusters: Option<&Arc<str>>) -> Bytes {
        let view = self.registry.view(service, self.clock.wall_ms());
        view.encoded(clusters, || {
            let request = ListRequest {
                group: &service.group,
                name: &service.name,
                form: NameForm::Bare,
                clusters: clusters.map(AsRef::as_ref),
                healthy_only: false,
            };
            self.encode(Some(service), &view, view.last_ref_time, request)
        })
    }

    /// The list as a datagram carries it.
    pub(crate) fn list_for_datagram(&self, service: &Service, view: &View, clusters: &str) -> Bytes {
        let request = ListRequest {
            group: &service.group,
            name: &service.name,
            form: NameForm::Joined,
            clusters: Some(clusters),
            healthy_only: false,
        };
        self.encode(Some(service), view, view.last_ref_time, request)
    }

    /// The list that answers a request about a service, known or not.
    pub(crate) fn answer_list(&self, service: Option<&Arc<Service>>, request: ListRequest<'_>) -> Bytes {
        let now = self.clock.wall_ms();
        let view = match service {
            // One less than now, so that the first list of a service that appears in this millisecond is newer.
            None => Arc::new(View::empty(now - 1)),
            Some(service) => self.registry.view(service, now),
        };
        // The recorded server stamps the answer, not the list.
        let last_ref_time = if self.oddities.is_some() { now } else { view.last_ref_time };
        self.encode(service.map(AsRef::as_ref), &view, last_ref_time, request)
    }

    fn encode(&self, service: Option<&Service>, view: &View, last_ref_time: i64, request: ListRequest<'_>) -> Bytes {
        let ListRequest { group, name, form, clusters, healthy_only } = request;
        let omit_missing = self.oddities.is_some();
        self.counters.lists_encoded.add();
        let list = ListJson { group, name, form, view, clusters, healthy_only, last_ref_time, omit_missing }.encode();
        if let Some(service) = service.filter(|_| list.len() > CLIENTS_TAKE) {
            note_long_list(service, view.len(), list.len());
        }
        list
    }
}
