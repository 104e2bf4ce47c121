//! The façade: one client of one registry in one namespace.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};

use super::builder::NamingServiceBuilder;
use super::client::{Client, ShutdownReport};
use super::handle::ServiceHandle;
use super::protocols;
use super::stats::ClientStats;
use super::status::StatusWatch;
use super::validate;
use crate::auth::{Auth, LoginStatus};
use crate::config::ClientConfig;
use crate::error::{InvalidArgument, PickError, QueryError};
use crate::model::{GroupName, Instance, IntoServiceKey, KeyRef, ServiceKey, ServiceSnapshot};
#[cfg(test)]
use crate::transport::NamingTransport;
use crate::transport::{Call, Reply};

/// Registers services and discovers others.
///
/// Cheap to clone; all clones are one client. It connects at its first use, on the tokio runtime it is used in, and ends
/// with [`NamingService::shutdown`] or when its last clone and every handle made from it are dropped: then the connection
/// closes at once, and what was registered goes with it.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use nacos_client::{Instance, NamingService, Select};
///
/// let nacos = NamingService::builder().servers(["127.0.0.1:8848"]).build()?;
/// let orders = nacos.service("order-service")?;
///
/// let me: std::net::SocketAddr = "10.0.0.9:8080".parse()?;
/// let registration = orders.register(Instance::new(me).weight(2.0).metadata("version", "v2"))?;
/// registration.confirmed().await?;
///
/// orders.ready().await?;
/// println!("one of them: {}", orders.pick()?);
///
/// let mut changes = orders.subscribe(Select::healthy());
/// while let Some(change) = changes.next().await {
///     println!("{} new, {} gone", change.added().len(), change.removed().len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct NamingService {
    client: Arc<Client>,
}

/// One page of the names of services.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServicePage {
    /// How many services the group has on all pages.
    pub count: usize,
    /// The names on this page, without group.
    pub names: Vec<String>,
}

/// A service that this client keeps up to date.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscribedService {
    /// The service.
    pub key: ServiceKey,
    /// Subscriptions, watches and handlers; 0 = it was only looked up, and goes when it is idle for long enough.
    pub listeners: usize,
}

/// Services per page when all are listed.
const PAGE: u32 = 500;

impl NamingService {
    /// Collects settings.
    pub fn builder() -> NamingServiceBuilder {
        NamingServiceBuilder::default()
    }

    /// A client with these settings. No I/O: it connects at its first use.
    #[must_use]
    pub fn new(config: ClientConfig) -> Self {
        let auth = Auth::new(&config);
        let transport = protocols::transport(&config, &auth);
        Self { client: Arc::new(Client::new(config, auth, transport)) }
    }

    #[cfg(test)]
    pub(crate) fn with_transport(config: ClientConfig, transport: Arc<dyn NamingTransport>) -> Self {
        let auth = Auth::new(&config);
        Self { client: Arc::new(Client::new(config, auth, transport)) }
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &ClientConfig {
        &self.client.core.config
    }

    /// The handle of a service: `"name"`, or `("group", "name")`.
    ///
    /// # Errors
    /// If the name or the group is invalid.
    pub fn service(&self, service: impl IntoServiceKey) -> Result<ServiceHandle, InvalidArgument> {
        let key = service.service_key();
        validate::service(&self.client.core.config, &key)?;
        Ok(ServiceHandle::new(Arc::clone(&self.client), key))
    }

    /// One healthy, enabled instance of a service, drawn by weight; see [`ServiceHandle::pick`], which is quicker.
    ///
    /// # Errors
    /// As [`ServiceHandle::pick`], and if the name is invalid.
    pub fn pick(&self, service: impl IntoServiceKey) -> Result<Arc<Instance>, PickError> {
        let core = &self.client.core;
        if !core.is_closed() {
            let (group, name) = service.group_and_name();
            let picked = core.reactor.peek(KeyRef { group, name }, |entry| {
                entry.touch(core.reactor.tick());
                entry.read(|snapshot| snapshot.pick())
            });
            if let Some(Some(picked)) = picked {
                return picked;
            }
        }
        self.service(service)?.pick()
    }

    /// The newest list of a service if this client has one. Neither asks for it nor keeps it up to date.
    #[must_use]
    pub fn peek(&self, service: impl IntoServiceKey) -> Option<Arc<ServiceSnapshot>> {
        let (group, name) = service.group_and_name();
        self.client.core.reactor.peek(KeyRef { group, name }, |entry| entry.snapshot())?
    }

    /// Waits until a connection serves, at most for `limit`.
    ///
    /// # Errors
    /// [`QueryError::NotConnected`] if there is none by then; the client goes on trying.
    ///
    /// # Cancel safety
    /// Cancel safe: it only waits.
    pub async fn connected(&self, limit: Duration) -> Result<(), QueryError> {
        self.client.connected(limit).await
    }

    /// The connection, to be looked at and waited on.
    #[must_use]
    pub fn status(&self) -> StatusWatch {
        StatusWatch::new(&self.client)
    }

    /// Whether the client is logged in, and why not. It has no token and no password in it.
    #[must_use]
    pub fn login(&self) -> LoginStatus {
        self.client.core.auth.status()
    }

    /// What the client has done so far, as numbers.
    #[must_use]
    pub fn stats(&self) -> ClientStats {
        let counts = self.client.transport.counts();
        ClientStats {
            unreadable: counts.unreadable,
            pushes_foreign: counts.foreign,
            push_sockets_lost: counts.push_sockets_lost,
            beats: counts.beats,
            beats_failed: counts.beats_failed,
            beats_restored: counts.beats_restored,
            beats_late: counts.beats_late,
            beating: counts.beating,
            ..self.client.core.stats()
        }
    }

    /// One page of the names of the services of a group, `page` counting from 1, asked of the server.
    ///
    /// # Errors
    /// [`QueryError`] if there is no answer within the configured deadline.
    ///
    /// # Cancel safety
    /// Cancel safe: an answer that comes later is dropped.
    pub async fn services_page(&self, group: &str, page: u32, size: u32) -> Result<ServicePage, QueryError> {
        let group = GroupName::new(group).as_str().to_owned();
        // Servers take a page below 1 for the first and fail on a size beyond their own integers.
        let (page, size) = (page.max(1), size.min(i32::MAX as u32));
        match self.client.ask(Call::List { group, page, size }, self.client.core.config.timeouts.request).await? {
            Reply::Services { count, names } => Ok(ServicePage { count, names }),
            Reply::Done | Reply::Partly(_) | Reply::Service(_) => {
                Err(QueryError::Protocol("another answer than asked for".to_owned()))
            }
        }
    }

    /// The names of all services of a group, asked page by page. Services that come and go meanwhile may be missed or
    /// come twice. The stream ends after an error.
    pub fn services(&self, group: &str) -> impl Stream<Item = Result<String, QueryError>> + Send + use<> {
        let (nacos, group) = (self.clone(), group.to_owned());
        stream::unfold(Some((nacos, group, 1, Vec::new().into_iter(), 0)), |walk| async move {
            let (nacos, group, mut page, mut names, mut seen) = walk?;
            loop {
                if let Some(name) = names.next() {
                    return Some((Ok(name), Some((nacos, group, page, names, seen))));
                }
                match nacos.services_page(&group, page, PAGE).await {
                    Ok(next) if next.names.is_empty() => return None,
                    Ok(next) if page > 1 && seen >= next.count => return None,
                    Ok(next) => {
                        seen += next.names.len();
                        page += 1;
                        names = next.names.into_iter();
                    }
                    Err(error) => return Some((Err(error), None)),
                }
            }
        })
    }

    /// The services this client keeps up to date: those with listeners and those that were only looked up.
    #[must_use]
    pub fn subscribed_services(&self) -> Vec<SubscribedService> {
        let mut services = Vec::new();
        self.client.core.reactor.for_each(|entry| {
            let state = entry.lock();
            if state.slot.is_wanted() {
                services.push(SubscribedService { key: entry.key().clone(), listeners: state.listeners() });
            }
        });
        services.sort_by(|a, b| a.key.cmp(&b.key));
        services
    }

    /// Ends the client within `limit`: calls end with `Closed`, streams end, handlers that run are waited for,
    /// everything ephemeral is deregistered (at most 1 s), the connection is closed, all tasks are joined.
    ///
    /// Any number of calls may run at the same time; they wait for the same end.
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting; the shutdown goes on.
    pub async fn shutdown(&self, limit: Duration) -> ShutdownReport {
        self.client.shutdown(limit).await
    }

    pub(crate) const fn client(&self) -> &Arc<Client> {
        &self.client
    }
}

impl fmt::Debug for NamingService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamingService").field("client", &self.client).finish()
    }
}
