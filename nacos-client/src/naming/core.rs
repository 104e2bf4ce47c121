//! What the public handles, the worker and the transport share.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nacos_proto::grpc::ServiceInfo;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::host_reactor::HostReactor;
use super::link::Link;
use super::registrations::Registrations;
use super::service_list::{Received, Taken};
use super::stats::{ClientStats, Counter, Counters};
use super::work::WorkQueue;
use crate::auth::Auth;
use crate::config::ClientConfig;
use crate::log_limit::LogLimit;
use crate::model::{HostList, KeyRef, ServiceKey};
use crate::transport::{Epoch, Event, EventHandler, Handover, LinkFault, Origin};

/// The shared state of one client. It knows no task: the worker and the transport hold it, never the other way round.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) config: ClientConfig,
    pub(crate) auth: Auth,
    pub(crate) reactor: HostReactor,
    pub(crate) registrations: Registrations,
    pub(crate) queue: WorkQueue,
    pub(crate) counters: Counters,
    link: watch::Sender<Link>,
    handover: Mutex<Option<Handover>>,
    /// Orders requests and pushes: taken when one is sent and when the other arrives.
    seq: AtomicU64,
    closed: AtomicBool,
    pub(crate) failed_reads_log: LogLimit,
    pub(crate) failed_writes_log: LogLimit,
    held_log: LogLimit,
    /// Wakes who waits for anything when the client is closed.
    pub(crate) closing: Notify,
}

impl Core {
    pub(crate) fn new(config: ClientConfig, auth: Auth) -> Self {
        Self {
            auth,
            reactor: HostReactor::new(&config),
            registrations: Registrations::default(),
            queue: WorkQueue::default(),
            counters: Counters::default(),
            link: watch::Sender::new(Link::none()),
            handover: Mutex::new(None),
            seq: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            failed_reads_log: LogLimit::default(),
            failed_writes_log: LogLimit::default(),
            held_log: LogLimit::default(),
            closing: Notify::new(),
            config,
        }
    }

    /// The connection, to be watched.
    pub(crate) fn watch_link(&self) -> watch::Receiver<Link> {
        self.link.subscribe()
    }

    /// The connection at this moment.
    pub(crate) fn link(&self) -> Link {
        self.link.borrow().clone()
    }

    /// Reads the connection at this moment. `read` must be quick: connection events wait for it.
    pub(crate) fn with_link<R>(&self, read: impl FnOnce(&Link) -> R) -> R {
        read(&self.link.borrow())
    }

    pub(crate) fn next_seq(&self) -> u64 {
        self.seq.fetch_add(1, Ordering::AcqRel)
    }

    pub(crate) fn take_handover(&self) -> Option<Handover> {
        self.handover.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// No call begins any more, and no listener is told anything.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.closing.notify_waiters();
        self.reactor.for_each(|entry| entry.changed().notify_waiters());
        for records in self.registrations.all() {
            records.changed().notify_waiters();
        }
    }

    /// The counters and the sizes of the moment.
    pub(crate) fn stats(&self) -> ClientStats {
        let mut stats = self.counters.read();
        self.reactor.for_each(|_| stats.services += 1);
        stats.redo_backlog = self.registrations.all().iter().map(|records| records.lock().redo.backlog()).sum();
        stats
    }

    fn pushed(&self, epoch: Epoch, origin: Origin, info: ServiceInfo) {
        let count = |counter: &Counter| {
            self.counters.pushes.add();
            counter.add();
        };
        let seq = self.next_seq();
        let entry = info.key().and_then(|(group, name)| {
            let entry = |entry: &Arc<_>| Arc::clone(entry);
            self.reactor.peek(KeyRef { group, name }, entry)
        });
        let ts = info.last_ref_time;
        let (Some(entry), Some(list)) = (entry, HostList::from_wire(info)) else {
            return count(&self.counters.pushes_dropped);
        };
        let push = Received { epoch, seq, ts, list };
        let now = Instant::now();
        let pushed = self.with_link(|link| entry.push(link, origin, push, now));
        if pushed.hold_begins {
            self.holding(entry.key(), now);
        }
        count(match pushed.taken {
            Taken::Changed => &self.counters.pushes_applied,
            Taken::Unchanged => &self.counters.pushes_unchanged,
            Taken::Overtaken => &self.counters.pushes_overtaken,
            Taken::Doubtful => &self.counters.pushes_doubtful,
            Taken::OldEpoch => &self.counters.pushes_dropped,
        });
        if pushed.work {
            self.queue.entry(&entry);
        }
    }

    /// Counts and tells that removals of a service are held from now on.
    pub(crate) fn holding(&self, key: &ServiceKey, now: Instant) {
        self.counters.holds.add();
        if let Some(left_out) = self.held_log.pass(now) {
            tracing::warn!(service = %key, lines_left_out = left_out, "instances are missing from a list that is not trusted yet, keeping them");
        }
    }

    fn count_loss(&self, fault: &LinkFault) {
        let counters = &self.counters;
        let counter = match fault {
            LinkFault::Transport(_) | LinkFault::StreamEnded => &counters.lost_transport,
            LinkFault::Unhealthy | LinkFault::CallTimeout(_) => &counters.lost_unanswered,
            LinkFault::Unregistered(_) => &counters.lost_unregistered,
            LinkFault::Replaced => &counters.moved,
            _ => &counters.lost_other,
        };
        counter.add();
    }
}

impl EventHandler for Core {
    fn known_lists(&self) -> Vec<ServiceInfo> {
        let mut lists = Vec::new();
        self.reactor.for_each(|entry| lists.extend(entry.read(|known| known.list().to_wire(entry.key()))));
        lists
    }

    fn handle(&self, event: Event) {
        match event {
            Event::Connected { session, handover } => {
                self.counters.connects.add();
                let replaces = handover.as_ref().map(Handover::old_epoch);
                let before =
                    std::mem::replace(&mut *self.handover.lock().unwrap_or_else(PoisonError::into_inner), handover);
                self.link.send_modify(|link| link.connected(session, replaces, Instant::now()));
                self.queue.link_changed();
                // A second move before the first was finished: what the oldest connection holds is on the one after it.
                drop(before);
            }
            Event::Push { epoch, origin, info } => self.pushed(epoch, origin, info),
            Event::Disconnected { epoch, cause } => {
                self.count_loss(&cause.fault);
                self.link.send_modify(|link| {
                    link.disconnected(epoch, Instant::now());
                });
                self.queue.link_changed();
            }
        }
    }
}
