use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{StreamExt, stream};
use nacos_client::{Instance, IntoServiceKey, ServiceKey};
use tokio::sync::watch;

use super::instances_change::Differences;
use super::{Answer, DiscoveryClient, DiscoveryError, InstanceChanges, InstanceList, ServiceChanges, ServicesChange};
use crate::{Lists, ServiceList, Source};

/// Services that the program itself names: for tests, and for addresses that are known beforehand. Cheap to clone; all
/// clones share one set of services.
///
/// # Examples
///
/// ```
/// use nacos_client::{Instance, ServiceKey};
/// use nacos_discovery::{DiscoveryClient, InMemoryDiscovery};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let known = InMemoryDiscovery::new().with("order-service", [Instance::new(("10.0.0.9", 8080))]);
/// let orders = known.instances(&ServiceKey::new("", "order-service")).await?;
/// assert_eq!(orders[0].uri(), "http://10.0.0.9:8080");
/// # Ok::<(), nacos_discovery::DiscoveryError>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct InMemoryDiscovery {
    state: Arc<watch::Sender<State>>,
}

#[derive(Debug, Default)]
struct State {
    services: BTreeMap<ServiceKey, Vec<Arc<Instance>>>,
    /// How many changes there were.
    revision: u64,
    /// Why there is no answer at the moment.
    down: Option<String>,
}

impl State {
    fn all(&self, service: &ServiceKey) -> &[Arc<Instance>] {
        self.services.get(service).map(Vec::as_slice).unwrap_or_default()
    }

    fn list(&self, service: &ServiceKey) -> InstanceList {
        let pickable = self.all(service).iter().filter(|instance| instance.is_pickable());
        InstanceList::new(service.clone(), pickable.cloned())
    }

    fn change(&mut self, change: impl FnOnce(&mut BTreeMap<ServiceKey, Vec<Arc<Instance>>>)) {
        self.revision += 1;
        change(&mut self.services);
    }

    fn names(&self, group: &str) -> Vec<String> {
        let group = ServiceKey::new(group, "");
        let of_group = self.services.keys().filter(|key| key.group() == group.group());
        of_group.map(|key| key.name().to_owned()).collect()
    }

    fn up(&self) -> Result<&Self, DiscoveryError> {
        self.down.as_ref().map_or(Ok(self), |reason| Err(DiscoveryError::unavailable(reason.as_str())))
    }
}

impl InMemoryDiscovery {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with these instances of a service.
    #[must_use]
    pub fn with(self, service: impl IntoServiceKey, instances: impl IntoIterator<Item = Instance>) -> Self {
        self.set(service, instances);
        self
    }

    /// Replaces the instances of a service. Those that a pick would not return are not told to who asks or watches, as by a
    /// registry; a [`crate::Directory`] knows them, so that it can say why requests do not go there.
    pub fn set(&self, service: impl IntoServiceKey, instances: impl IntoIterator<Item = Instance>) {
        let key = service.service_key();
        let instances = instances.into_iter().map(Arc::new).collect();
        self.state.send_modify(|state| state.change(|services| drop(services.insert(key, instances))));
    }

    /// Forgets a service.
    pub fn remove(&self, service: impl IntoServiceKey) {
        let key = service.service_key();
        self.state.send_modify(|state| state.change(|services| drop(services.remove(&key))));
    }

    /// How many watches there are.
    #[cfg(test)]
    pub(crate) fn watches(&self) -> usize {
        self.state.receiver_count()
    }

    /// Lets every question fail with this reason; `None` ends that. Watches keep what they have.
    pub fn set_down(&self, reason: Option<&str>) {
        self.state.send_modify(|state| state.down = reason.map(str::to_owned));
    }
}

impl DiscoveryClient for InMemoryDiscovery {
    fn description(&self) -> &str {
        "in memory"
    }

    fn instances<'a>(&'a self, service: &'a ServiceKey) -> Answer<'a, InstanceList> {
        Box::pin(async { self.state.borrow().up().map(|state| state.list(service)) })
    }

    fn watch(&self, service: &ServiceKey) -> Result<InstanceChanges, DiscoveryError> {
        let service = service.clone();
        let lists = states(&self.state, move |state| state.list(&service));
        let mut differences = Differences::default();
        Ok(Box::pin(lists.filter_map(move |list| std::future::ready(differences.next(list)))))
    }

    fn services<'a>(&'a self, group: &'a str) -> Answer<'a, Vec<String>> {
        Box::pin(async { self.state.borrow().up().map(|state| state.names(group)) })
    }

    fn watch_services(&self, group: &str) -> Result<ServiceChanges, DiscoveryError> {
        let group = group.to_owned();
        let names = states(&self.state, move |state| state.names(&group));
        let mut known: Option<Arc<[String]>> = None;
        Ok(Box::pin(names.filter_map(move |names| {
            let change = ServicesChange::between(known.as_deref(), names);
            if let Some(change) = &change {
                known = Some(Arc::clone(&change.names));
            }
            std::future::ready(change.map(Ok))
        })))
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async { self.state.borrow().up().map(drop) })
    }
}

impl Source for InMemoryDiscovery {
    fn lists(&self, service: &ServiceKey) -> Result<Lists, DiscoveryError> {
        let service = service.clone();
        let list = move |state: &State| Ok(ServiceList::new(state.revision, state.all(&service).iter().cloned()));
        Ok(states(&self.state, list))
    }
}

/// What `read` makes of the state now and after every change, until the last clone is dropped.
fn states<T: Send + 'static>(
    state: &watch::Sender<State>,
    read: impl Fn(&State) -> T + Send + 'static,
) -> BoxStream<'static, T> {
    let mut changes = state.subscribe();
    changes.mark_changed();
    Box::pin(stream::unfold((changes, read), |(mut changes, read)| async move {
        changes.changed().await.ok()?;
        let item = read(&changes.borrow_and_update());
        Some((item, (changes, read)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_watch_has_what_is_there_and_every_change_until_the_last_clone_is_gone() {
        let known = InMemoryDiscovery::new();
        let key = ServiceKey::new("", "orders");
        let mut changes = known.watch(&key).unwrap();
        let mut names = known.watch_services("").unwrap();
        assert!(changes.next().await.unwrap().list.is_empty());
        assert!(names.next().await.unwrap().unwrap().names.is_empty());

        let drained = Instance::new(("h", 2)).weight(0.0);
        known.set("orders", [Instance::new(("h", 1)), drained]);
        let change = changes.next().await.unwrap();
        assert_eq!((change.list.len(), change.added.len()), (1, 1));
        assert_eq!(names.next().await.unwrap().unwrap().added, ["orders"]);

        known.remove("orders");
        assert_eq!(changes.next().await.unwrap().removed.len(), 1);
        drop(known);
        assert!(changes.next().await.is_none() && names.next().await.is_some() && names.next().await.is_none());
    }

    #[tokio::test]
    async fn while_it_is_down_questions_fail_and_watches_keep_what_they_have() {
        let known = InMemoryDiscovery::new().with(("G", "orders"), [Instance::new(("h", 1))]);
        known.set_down(Some("maintenance"));
        let key = ServiceKey::new("G", "orders");
        assert!(known.instances(&key).await.unwrap_err().is_retryable());
        assert!(known.services("G").await.is_err() && known.probe().await.is_err());
        assert_eq!(known.watch(&key).unwrap().next().await.unwrap().list.len(), 1);
        known.set_down(None);
        assert_eq!(known.instances(&key).await.unwrap().len(), 1);
        assert!(known.probe().await.is_ok());
        assert!(known.services("").await.unwrap().is_empty(), "another group");
    }
}
