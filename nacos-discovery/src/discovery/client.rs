use std::fmt;
use std::pin::Pin;

use futures_util::Stream;
use futures_util::future::BoxFuture;
use nacos_client::ServiceKey;

use super::{DiscoveryError, InstanceList, InstancesChange, ServicesChange};

/// What a question is answered with, once it is.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, DiscoveryError>>;

/// The newest list of instances, whenever it changed. It ends when the client behind it is shut down.
pub type InstanceChanges = Pin<Box<dyn Stream<Item = InstancesChange> + Send>>;

/// The newest names of services, whenever they changed, and the first error of every outage, after which what was known
/// before still holds. It ends when the client behind it is shut down.
pub type ServiceChanges = Pin<Box<dyn Stream<Item = Result<ServicesChange, DiscoveryError>> + Send>>;

/// Tells who provides a service.
///
/// The application asks, from its own tasks; nothing calls an implementation by itself. Every future may be dropped at any
/// time, and an implementation must then leave nothing behind that grows.
///
/// # Examples
///
/// ```
/// use futures_util::StreamExt;
/// use nacos_client::ServiceKey;
/// use nacos_discovery::DiscoveryClient;
///
/// # async fn example(client: &dyn DiscoveryClient) -> Result<(), nacos_discovery::DiscoveryError> {
/// let mut changes = client.watch(&ServiceKey::new("", "order-service"))?; // `next` is of `StreamExt`
/// while let Some(change) = changes.next().await {
///     println!("{} take traffic, {} of them are new", change.list.len(), change.added.len());
/// }
/// # Ok(()) }
/// ```
pub trait DiscoveryClient: fmt::Debug + Send + Sync {
    /// What kind of client it is, for people.
    fn description(&self) -> &str;

    /// The instances of a service that take traffic: healthy, enabled, of a weight above 0. A service that nobody provides
    /// has an empty list.
    fn instances<'a>(&'a self, service: &'a ServiceKey) -> Answer<'a, InstanceList>;

    /// The instances of a service now, as the first item, and whenever they change. Dropping the stream ends the watch.
    ///
    /// # Errors
    /// If the name is invalid or the client is shut down.
    fn watch(&self, service: &ServiceKey) -> Result<InstanceChanges, DiscoveryError>;

    /// The names of all services of a group, sorted.
    fn services<'a>(&'a self, group: &'a str) -> Answer<'a, Vec<String>>;

    /// The names of all services of a group now, as the first item, and whenever they change.
    ///
    /// # Errors
    /// If the client is shut down.
    fn watch_services(&self, group: &str) -> Result<ServiceChanges, DiscoveryError>;

    /// Whether it can answer: it asks whoever it asks, and relies on nothing that it knows already.
    fn probe(&self) -> Answer<'_, ()>;
}
