use std::fmt;
use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use nacos_client::{NamingService, Select, ServiceKey};

use super::ServiceList;
use crate::DiscoveryError;

/// The newest list of a service, whenever it changed. It ends when the source behind it is shut down.
pub type Lists = Pin<Box<dyn Stream<Item = ServiceList> + Send>>;

/// Where lists of services come from.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// The list of a service as soon as it is known, and whenever it changes. Dropping the stream ends the watch. Called
    /// by the [`crate::Directory`] on the caller's task, at the first use of a service; polled on a task of its own.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    fn lists(&self, service: &ServiceKey) -> Result<Lists, DiscoveryError>;
}

impl Source for NamingService {
    fn lists(&self, service: &ServiceKey) -> Result<Lists, DiscoveryError> {
        let subscription = self.service(service)?.subscribe(Select::all());
        if let Some(end) = subscription.end() {
            return Err(end.clone().into());
        }
        Ok(Box::pin(subscription.map(|change| ServiceList::of_snapshot(change.snapshot()))))
    }
}
