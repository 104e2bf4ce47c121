//! The handle of one service.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::client::Client;
use super::entry::Entry;
use super::handler::Listener;
use super::registration::Registration;
use super::subscription::{ServiceWatch, Subscription};
use super::validate;
use super::wait::{Ended, wait_for};
use crate::error::{PickError, QueryError, RegisterError, StartError};
use crate::model::{ChangeCause, Difference, HostList, Instance, Select, ServiceChange, ServiceKey, ServiceSnapshot};
use crate::transport::{Call, Reply};

/// One service of a client: cheap to clone, made by [`crate::NamingService::service`].
#[derive(Clone)]
pub struct ServiceHandle {
    client: Arc<Client>,
    key: ServiceKey,
    deadline: Duration,
    /// Set at the first look at the service, so that a handle used to register only costs no cache entry.
    entry: OnceLock<Arc<Entry>>,
}

impl ServiceHandle {
    /// The key must be valid.
    pub(crate) fn new(client: Arc<Client>, key: ServiceKey) -> Self {
        let deadline = client.core.config.timeouts.request;
        Self { client, key, deadline, entry: OnceLock::new() }
    }

    /// The same handle with another deadline for its calls than the configured one.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The service.
    #[must_use]
    pub const fn key(&self) -> &ServiceKey {
        &self.key
    }

    /// Wants `instance` registered, from now until the handle that is returned is dropped or withdrawn. Records the wish
    /// and returns at once; the client does the rest, across failures of servers and connections.
    ///
    /// Several instances of one service can be registered side by side. One with the address and cluster of an earlier
    /// one takes its place.
    ///
    /// # Errors
    /// If the instance is invalid, the client is shut down, or this is its first use and outside a runtime. Then nothing
    /// is recorded.
    pub fn register(&self, instance: Instance) -> Result<Registration, RegisterError> {
        validate::instance(&self.client.core.config, &instance)?;
        self.client.start()?;
        Ok(Registration::new(&self.client, &self.key, instance))
    }

    fn entry(&self) -> &Arc<Entry> {
        self.entry.get_or_init(|| self.client.core.reactor.entry(&self.key))
    }

    /// Makes the cache hold the service.
    fn look_up(&self) -> Result<&Arc<Entry>, StartError> {
        self.client.start()?;
        let entry = self.entry();
        if entry.look_up(self.client.core.reactor.tick()) {
            self.client.core.queue.entry(entry);
        }
        Ok(entry)
    }

    /// Waits until the first list has arrived, at most for the deadline.
    ///
    /// # Errors
    /// [`QueryError`] if there is none by then.
    ///
    /// # Cancel safety
    /// Cancel safe: the service stays looked up.
    pub async fn ready(&self) -> Result<(), QueryError> {
        self.snapshot().await.map(drop)
    }

    /// The newest list; the first time it is asked for and waited for, at most for the deadline.
    ///
    /// # Errors
    /// [`QueryError`] if there is none by then.
    ///
    /// # Cancel safety
    /// Cancel safe: the service stays looked up.
    pub async fn snapshot(&self) -> Result<Arc<ServiceSnapshot>, QueryError> {
        let entry = self.look_up()?;
        let limit = self.deadline;
        let arrived = || {
            let state = entry.lock();
            match (entry.snapshot(), state.slot.trouble()) {
                (Some(snapshot), _) => Some(Ok(snapshot)),
                (None, Some(trouble)) if trouble.is_final() => Some(Err(trouble.clone().into_query_error(limit))),
                (None, _) => None,
            }
        };
        match wait_for(&self.client.core, entry.changed(), Some(limit), arrived).await {
            Ok(result) => result,
            Err(Ended::Start(error)) => Err(error.into()),
            Err(Ended::Deadline) => Err(self.overdue(entry)),
        }
    }

    fn overdue(&self, entry: &Entry) -> QueryError {
        let waited = self.deadline;
        if let Some(trouble) = entry.lock().slot.trouble() {
            return trouble.clone().into_query_error(waited);
        }
        if self.client.core.with_link(|link| link.session().is_none()) {
            return self.client.not_connected(waited);
        }
        self.client.unanswered(waited)
    }

    /// The newest list if there is one; never waits. The service stays looked up.
    ///
    /// # Errors
    /// If the client is shut down, or this is its first use and outside a runtime.
    pub fn try_snapshot(&self) -> Result<Option<Arc<ServiceSnapshot>>, StartError> {
        Ok(self.look_up()?.snapshot())
    }

    /// One healthy, enabled instance, drawn by weight. Synchronous, and free of locks and allocations once the first
    /// list has arrived.
    ///
    /// # Errors
    /// [`PickError::NotReady`] before the first list, which is then asked for; [`PickError::NoInstance`] if none is usable.
    pub fn pick(&self) -> Result<Arc<Instance>, PickError> {
        self.pick_with(Arc::clone)
    }

    /// Like [`ServiceHandle::pick`], but hands the instance to `read` instead of sharing it.
    ///
    /// # Errors
    /// As [`ServiceHandle::pick`].
    pub fn pick_with<R>(&self, read: impl FnOnce(&Arc<Instance>) -> R) -> Result<R, PickError> {
        let core = &self.client.core;
        let mut read = Some(read);
        let entry = self.entry.get().filter(|_| !core.is_closed());
        let picked = entry.and_then(|entry| {
            entry.touch(core.reactor.tick());
            entry.read(|snapshot| snapshot.pick_with(|i| read.take().map(|read| read(i))))
        });
        match picked {
            Some(Ok(Some(read))) => Ok(read),
            Some(Err(error)) => Err(error),
            Some(Ok(None)) | None => self.pick_first(read),
        }
    }

    #[cold]
    fn pick_first<R>(&self, read: Option<impl FnOnce(&Arc<Instance>) -> R>) -> Result<R, PickError> {
        let snapshot = self.look_up()?.snapshot();
        match (snapshot, read) {
            (Some(snapshot), Some(read)) => snapshot.pick_with(read),
            _ => Err(PickError::NotReady(self.key.clone())),
        }
    }

    /// Subscribes: a stream of the current list and every change of what `select` shows.
    pub fn subscribe(&self, select: Select) -> Subscription {
        Subscription::new(Arc::clone(&self.client), Arc::clone(self.entry()), select)
    }

    /// Subscribes: the current value of what `select` shows.
    pub fn watch(&self, select: Select) -> ServiceWatch {
        ServiceWatch::new(self.subscribe(select))
    }

    /// Subscribes `handler`, which is called with the current list and with every change of what `select` shows, one
    /// call after the other, in a task of its own. A panic of it is counted, and it is called again at the next change.
    ///
    /// # Errors
    /// If the client is shut down, or this is its first use and outside a runtime.
    pub fn on_change<F, R>(&self, select: Select, handler: F) -> Result<Listener, StartError>
    where
        F: FnMut(ServiceChange) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        self.client.start()?;
        Listener::spawn(&self.client, self.subscribe(select), handler)
    }

    /// Asks the server for the list now and returns what that changed in the cache, at most within the
    /// deadline.
    ///
    /// # Errors
    /// [`QueryError`] if the server did not answer; the cache keeps what it has.
    ///
    /// # Cancel safety
    /// Cancel safe: the question is asked all the same.
    pub async fn refresh(&self) -> Result<ServiceChange, QueryError> {
        let entry = self.look_up()?;
        let before = entry.snapshot();
        let ticket = entry.lock().slot.refresh();
        self.client.core.queue.entry(entry);
        let limit = self.deadline;
        let served = || {
            let state = entry.lock();
            let served = state.slot.refreshed(ticket)?;
            match (served, entry.snapshot()) {
                (Err(trouble), _) => Some(Err(trouble.into_query_error(limit))),
                (Ok(()), Some(snapshot)) => Some(Ok(snapshot)),
                (Ok(()), None) => None,
            }
        };
        let snapshot = match wait_for(&self.client.core, entry.changed(), Some(limit), served).await {
            Ok(result) => result?,
            Err(Ended::Start(error)) => return Err(error.into()),
            Err(Ended::Deadline) => return Err(self.overdue(entry)),
        };
        let old = before.as_ref().map(|before| before.instances()).unwrap_or_default();
        let difference = Difference::between(old, snapshot.instances());
        let cause = if before.is_some() { ChangeCause::Changed } else { ChangeCause::Initial };
        let instances = Arc::clone(snapshot.list().hosts());
        Ok(ServiceChange::new(snapshot, instances, difference, cause))
    }

    /// Asks the server for the list once, beside the cache, which neither answers nor changes.
    ///
    /// # Errors
    /// [`QueryError`] if there is no answer within the deadline.
    ///
    /// # Cancel safety
    /// Cancel safe: an answer that comes later is dropped.
    pub async fn query(&self) -> Result<Vec<Arc<Instance>>, QueryError> {
        match self.client.ask(Call::Query { key: self.key.clone() }, self.deadline).await? {
            Reply::Service(Some(info)) => {
                HostList::from_wire(info).map(|list| list.hosts().to_vec()).ok_or_else(no_list)
            }
            Reply::Service(None) => Err(no_list()),
            Reply::Done | Reply::Partly(_) | Reply::Services { .. } => {
                Err(QueryError::Protocol("another answer than asked for".to_owned()))
            }
        }
    }

    /// Does not need the cache to hold the service any more: what was only looked up is unsubscribed at once, without
    /// waiting for the idle time. Subscriptions stay.
    pub fn unsubscribe(&self) {
        let entry = self.entry();
        if entry.forget_look_up() {
            self.client.core.queue.entry(entry);
        }
    }
}

fn no_list() -> QueryError {
    QueryError::Protocol("the answer has no list".to_owned())
}

impl fmt::Debug for ServiceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceHandle").field("key", &self.key).finish_non_exhaustive()
    }
}
