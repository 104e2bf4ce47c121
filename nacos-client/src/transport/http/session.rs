//! The session of one epoch: naming's calls as exchanges.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, future::BoxFuture, stream};
use tokio::{runtime::Handle, sync::Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    beats::Beats,
    push_receiver::Pushes,
    requests::{PushTarget, Writer},
    round::{Refused, Servers, Terms},
    server::Request,
    settings::HttpLimits,
    verdict,
};
use crate::{
    model::{Instance, ServiceKey},
    transport::{Call, CallError, Epoch, LinkError, LinkFault, Reply, Session, SessionInfo},
};

/// Calls under way at once. Each takes a connection, of which there are 16 with those of beats.
const IN_FLIGHT: usize = 8;

/// What an epoch is made of.
pub(super) struct SessionParts {
    pub(super) epoch: Epoch,
    pub(super) info: SessionInfo,
    pub(super) servers: Arc<Servers>,
    pub(super) writer: Writer,
    pub(super) limits: HttpLimits,
    pub(super) beats: Arc<Beats>,
    pub(super) pushes: Arc<Pushes>,
    pub(super) tasks: TaskTracker,
    pub(super) runtime: Handle,
}

/// The session of one epoch.
pub(super) struct HttpSession {
    inner: Arc<Inner>,
}

struct Inner {
    parts: SessionParts,
    client_ip: Option<Arc<str>>,
    permits: Semaphore,
    /// Services whose queries ask for pushes.
    subscribed: Mutex<HashSet<ServiceKey>>,
    ended: CancellationToken,
    cause: OnceLock<LinkError>,
}

impl HttpSession {
    pub(super) fn new(parts: SessionParts) -> Self {
        let client_ip = parts.pushes.settings().client_ip.or(parts.info.local_ip);
        let client_ip = client_ip.map(|ip| Arc::from(ip.to_string()));
        let inner = Inner {
            parts,
            client_ip,
            permits: Semaphore::new(IN_FLIGHT),
            subscribed: Mutex::default(),
            ended: CancellationToken::new(),
            cause: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The epoch is over: calls under way and later ones fail with `cause`.
    pub(super) fn end(&self, cause: LinkError) {
        self.inner.cause.get_or_init(|| cause);
        self.inner.ended.cancel();
    }
}

impl Session for HttpSession {
    fn epoch(&self) -> Epoch {
        self.inner.parts.epoch
    }

    fn info(&self) -> &SessionInfo {
        &self.inner.parts.info
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Result<Reply, CallError>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move {
            // In a task of the transport's runtime, as it needs timers and the caller may be outside of any runtime. It ends after one round, or with the epoch.
            let work = Arc::clone(&inner);
            let task = inner.parts.tasks.spawn_on(async move { work.call(&call).await }, &inner.parts.runtime);
            task.await.unwrap_or_else(|_| Err(inner.over()))
        })
    }
}

impl Inner {
    async fn call(&self, call: &Call) -> Result<Reply, CallError> {
        tokio::select! {
            biased;
            () = self.ended.cancelled() => Err(self.over()),
            result = self.perform(call) => result,
        }
    }

    async fn perform(&self, call: &Call) -> Result<Reply, CallError> {
        let writer = &self.parts.writer;
        match call {
            Call::Register { key, instance } => self.register(key, instance).await.map(|()| Reply::Done),
            Call::RegisterBatch { key, instances } => Ok(self.register_each(key, instances).await),
            Call::Deregister { key, instance } => {
                self.parts.beats.end(key, instance).await;
                self.write(call, &writer.deregister(key, instance)).await
            }
            Call::RegisterPersistent { key, instance } => self.write(call, &writer.register(key, instance)).await,
            Call::DeregisterPersistent { key, instance } => self.write(call, &writer.deregister(key, instance)).await,
            Call::Subscribe { key } => {
                self.subscribed().insert(key.clone());
                self.list(call, key).await
            }
            Call::Query { key } => self.list(call, key).await,
            // There is no such request: a server forgets whom it is not asked by.
            Call::Unsubscribe { key } => {
                self.subscribed().remove(key);
                Ok(Reply::Done)
            }
            Call::List { group, page, size } => self.read(call, &writer.services(group, *page, *size)).await,
        }
    }

    async fn register(&self, key: &ServiceKey, instance: &Arc<Instance>) -> Result<(), CallError> {
        let request = self.parts.writer.register(key, instance);
        let judge = |answer: &_| verdict::done(verdict::success(answer)?);
        // Before the request: a beat that restores the instance at the same time must not bring back what it was.
        let before = self.parts.beats.replace(key, Arc::clone(instance));
        if let Err(refused) = self.parts.servers.ask(&request, self.terms(self.parts.limits.write), judge).await {
            before.map(|before| self.parts.beats.replace(key, before));
            return Err(refused.into_error());
        }
        // Not before the acknowledgement: a beat would register what the server has refused.
        self.parts.beats.begin(key, Arc::clone(instance));
        Ok(())
    }

    /// One request each, as HTTP has none for several.
    async fn register_each(&self, key: &ServiceKey, instances: &[Arc<Instance>]) -> Reply {
        let all = instances.iter().cloned().map(|instance| async move {
            let result = self.register(key, &instance).await;
            result.map_err(|error| (instance, error))
        });
        let results: Vec<_> = stream::iter(all).buffer_unordered(IN_FLIGHT).collect().await;
        let failed: Vec<_> = results.into_iter().filter_map(Result::err).collect();
        if failed.is_empty() { Reply::Done } else { Reply::Partly(failed) }
    }

    async fn list(&self, call: &Call, key: &ServiceKey) -> Result<Reply, CallError> {
        let port = self.parts.pushes.port();
        let wanted = port != 0 && self.subscribed().contains(key);
        let push = self.client_ip.as_deref().filter(|_| wanted).map(|client_ip| PushTarget { client_ip, port });
        self.read(call, &self.parts.writer.list(key, push)).await
    }

    async fn read(&self, call: &Call, request: &Request) -> Result<Reply, CallError> {
        self.exchange(call, request, self.parts.limits.read).await
    }

    async fn write(&self, call: &Call, request: &Request) -> Result<Reply, CallError> {
        self.exchange(call, request, self.parts.limits.write).await
    }

    async fn exchange(&self, call: &Call, request: &Request, limit: Duration) -> Result<Reply, CallError> {
        let asked = self.parts.servers.ask(request, self.terms(limit), |answer| verdict::reply(call, answer)).await;
        asked.map(|(reply, _)| reply).map_err(Refused::into_error)
    }

    const fn terms(&self, limit: Duration) -> Terms<'_> {
        Terms { limit, places: Some(&self.permits) }
    }

    fn subscribed(&self) -> std::sync::MutexGuard<'_, HashSet<ServiceKey>> {
        // Every critical section leaves a whole value, even if it panics.
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over(&self) -> CallError {
        let cause = self.cause.get().cloned();
        CallError::Link(cause.unwrap_or_else(|| LinkFault::Closed.at(&self.parts.info.peer)))
    }
}
