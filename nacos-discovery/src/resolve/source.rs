use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use nacos_client::{NamingService, Select, ServiceHandle, ServiceKey};
use tokio::time::{Instant, sleep};

use super::ServiceList;
use crate::{DiscoveryClient, DiscoveryError, InstanceList};

/// The newest list of a service, whenever it changed, and what goes wrong meanwhile, after which the last list still holds.
/// It ends when the source behind it is shut down.
pub type Lists = Pin<Box<dyn Stream<Item = Result<ServiceList, DiscoveryError>> + Send>>;

/// Where lists of services come from: a client of a registry, [`crate::InMemoryDiscovery`], or any [`DiscoveryClient`] in an
/// `Arc`.
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// The list of a service as soon as it is known, and whenever it changes. Dropping the stream ends the watch. Called
    /// by the [`crate::Directory`] on the caller's task, at the first use of a service, and again later from a task of its
    /// own after an error that may pass; polled there.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down, or cannot begin at the moment.
    fn lists(&self, service: &ServiceKey) -> Result<Lists, DiscoveryError>;
}

/// Between two questions why there is no list.
const TROUBLE_INTERVAL: Duration = Duration::from_secs(5);

impl Source for NamingService {
    fn lists(&self, service: &ServiceKey) -> Result<Lists, DiscoveryError> {
        let handle = self.service(service)?;
        let subscription = handle.subscribe(Select::all());
        if let Some(end) = subscription.end() {
            return Err(end.clone().into());
        }
        let lists = subscription.map(|change| Some(Ok(ServiceList::of_snapshot(change.snapshot()))));
        // A subscription does not say why nothing arrives. Its end is the end of all.
        let lists = lists.chain(stream::once(ready(None)));
        let all = stream::select(lists, troubles(handle).map(Some));
        Ok(Box::pin(all.take_while(|item| ready(item.is_some())).filter_map(ready)))
    }
}

/// Why there is no first list yet, until there is one.
fn troubles(handle: ServiceHandle) -> impl Stream<Item = Result<ServiceList, DiscoveryError>> + Send {
    stream::unfold((handle, Duration::ZERO), |(handle, pause)| async move {
        sleep(pause).await;
        let error = handle.ready().await.err()?;
        Some((Err(error.into()), (handle, TROUBLE_INTERVAL)))
    })
}

impl Source for Arc<dyn DiscoveryClient> {
    fn lists(&self, service: &ServiceKey) -> Result<Lists, DiscoveryError> {
        let changes = self.watch(service)?.enumerate();
        Ok(Box::pin(changes.map(|(at, change)| Ok(of_instances(at as u64, &change.list)))))
    }
}

fn of_instances(revision: u64, list: &InstanceList) -> ServiceList {
    let of_list = ServiceList::new(revision, list.iter().map(|instance| Arc::clone(instance.instance())));
    let of_list = if list.is_protected() { of_list.protected() } else { of_list };
    match list.stale_since() {
        Some(since) => of_list.stale_since(Instant::from_std(since)),
        None => of_list,
    }
}
