use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use futures_util::stream::{SelectAll, select_all};
use futures_util::{Stream, StreamExt, stream};
use nacos_client::ServiceKey;

use super::instances_change::Differences;
use super::{Answer, DiscoveryClient, DiscoveryError, InstanceChanges, InstanceList, ServiceChanges, ServicesChange};

/// Several discovery clients, asked in order.
///
/// The instances of a service are those of the first client that has any; one that cannot answer is passed over as long as
/// a later one has some. The names of services are those of all, and an error if one of them cannot answer.
#[derive(Clone)]
pub struct CompositeDiscovery {
    clients: Arc<[Arc<dyn DiscoveryClient>]>,
    description: Arc<str>,
}

impl CompositeDiscovery {
    /// These clients, the most trusted first.
    #[must_use]
    pub fn new(clients: impl IntoIterator<Item = Arc<dyn DiscoveryClient>>) -> Self {
        let clients: Arc<[_]> = clients.into_iter().collect();
        let names: Vec<_> = clients.iter().map(|client| client.description().to_owned()).collect();
        Self { clients, description: names.join(", ").into() }
    }
}

impl DiscoveryClient for CompositeDiscovery {
    fn description(&self) -> &str {
        &self.description
    }

    fn instances<'a>(&'a self, service: &'a ServiceKey) -> Answer<'a, InstanceList> {
        Box::pin(async {
            let mut empty = None;
            let mut failure = None;
            for client in &*self.clients {
                match client.instances(service).await {
                    Ok(list) if !list.is_empty() => return Ok(list),
                    Ok(list) => empty = empty.or(Some(list)),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            // An empty list would claim to know what the one that failed knows.
            failure.map_or_else(|| Ok(empty.unwrap_or_else(|| InstanceList::new(service.clone(), []))), Err)
        })
    }

    fn watch(&self, service: &ServiceKey) -> Result<InstanceChanges, DiscoveryError> {
        let watches: Result<Vec<_>, _> = self.clients.iter().map(|client| client.watch(service)).collect();
        let mut latest: Vec<Option<InstanceList>> = vec![None; self.clients.len()];
        let mut differences = Differences::default();
        let changes = numbered(watches?).filter_map(move |(at, change)| {
            if let Some(slot) = latest.get_mut(at) {
                *slot = Some(change.list);
            }
            std::future::ready(first_with_instances(&latest).and_then(|list| differences.next(list)))
        });
        Ok(Box::pin(changes))
    }

    fn services<'a>(&'a self, group: &'a str) -> Answer<'a, Vec<String>> {
        Box::pin(async {
            let mut names = BTreeSet::new();
            for client in &*self.clients {
                names.extend(client.services(group).await?);
            }
            Ok(names.into_iter().collect())
        })
    }

    fn watch_services(&self, group: &str) -> Result<ServiceChanges, DiscoveryError> {
        let watches: Result<Vec<_>, _> = self.clients.iter().map(|client| client.watch_services(group)).collect();
        let mut latest: Vec<Arc<[String]>> = vec![Arc::default(); self.clients.len()];
        let mut known: Option<Arc<[String]>> = None;
        let changes = numbered(watches?).filter_map(move |(at, change)| {
            let item = change.map(|change| {
                if let Some(slot) = latest.get_mut(at) {
                    *slot = change.names;
                }
                let all = latest.iter().flat_map(|names| names.iter().cloned()).collect();
                ServicesChange::between(known.as_deref(), all).inspect(|change| known = Some(Arc::clone(&change.names)))
            });
            std::future::ready(item.transpose())
        });
        Ok(Box::pin(changes))
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async {
            for client in &*self.clients {
                client.probe().await?;
            }
            Ok(())
        })
    }
}

/// The first list that has instances; an empty one only once every client has told its own.
fn first_with_instances(latest: &[Option<InstanceList>]) -> Option<InstanceList> {
    let filled = latest.iter().flatten().find(|list| !list.is_empty());
    let all_told = latest.iter().all(Option::is_some);
    filled.or_else(|| latest.first().and_then(Option::as_ref).filter(|_| all_told)).cloned()
}

/// All streams as one, each item with the number of its stream.
fn numbered<T: Send + 'static>(
    streams: Vec<std::pin::Pin<Box<dyn Stream<Item = T> + Send>>>,
) -> SelectAll<stream::BoxStream<'static, (usize, T)>> {
    select_all(streams.into_iter().enumerate().map(|(at, stream)| stream.map(move |item| (at, item)).boxed()))
}

impl fmt::Debug for CompositeDiscovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CompositeDiscovery").field(&self.clients).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::InMemoryDiscovery;
    use super::*;
    use nacos_client::Instance;

    fn pair() -> (InMemoryDiscovery, InMemoryDiscovery, CompositeDiscovery) {
        let (first, second) = (InMemoryDiscovery::new(), InMemoryDiscovery::new());
        let clients: [Arc<dyn DiscoveryClient>; 2] = [Arc::new(first.clone()), Arc::new(second.clone())];
        let both = CompositeDiscovery::new(clients);
        (first, second, both)
    }

    fn at(port: u16) -> [Instance; 1] {
        [Instance::new(("h", port))]
    }

    #[tokio::test]
    async fn the_first_client_with_instances_answers() {
        let (first, second, both) = pair();
        let key = ServiceKey::new("", "orders");
        assert!(both.instances(&key).await.unwrap().is_empty());
        second.set("orders", at(2));
        assert_eq!(both.instances(&key).await.unwrap()[0].port(), 2);
        first.set("orders", at(1));
        assert_eq!(both.instances(&key).await.unwrap()[0].port(), 1);
        first.set_down(Some("down"));
        assert_eq!(both.instances(&key).await.unwrap()[0].port(), 2, "a client that is down is passed over");
        second.remove("orders");
        assert!(both.instances(&key).await.is_err(), "an empty list would be a guess");
        assert!(both.probe().await.is_err());
        assert_eq!(both.description(), "in memory, in memory");
    }

    #[tokio::test]
    async fn names_are_those_of_all() {
        let (first, second, both) = pair();
        first.set("b", at(1));
        second.set("a", at(1));
        second.set("b", at(1));
        assert_eq!(both.services("").await.unwrap(), ["a", "b"]);
        first.set_down(Some("down"));
        assert!(both.services("").await.is_err());
    }

    #[tokio::test]
    async fn a_watch_falls_back_and_returns_to_the_first_client() {
        let (first, second, both) = pair();
        second.set("orders", at(2));
        let mut changes = both.watch(&ServiceKey::new("", "orders")).unwrap();
        assert_eq!(changes.next().await.unwrap().list[0].port(), 2);
        first.set("orders", at(1));
        let change = changes.next().await.unwrap();
        assert_eq!((change.added[0].port(), change.removed[0].port()), (1, 2));
        first.remove("orders");
        assert_eq!(changes.next().await.unwrap().list[0].port(), 2);
        second.remove("orders");
        assert!(changes.next().await.unwrap().list.is_empty());
    }

    #[tokio::test]
    async fn watched_names_are_those_of_all() {
        let (first, second, both) = pair();
        first.set("a", at(1));
        second.set("b", at(1));
        let mut changes = both.watch_services("").unwrap();
        let mut names = Arc::default();
        while names != Arc::from(["a".to_owned(), "b".to_owned()]) {
            names = changes.next().await.unwrap().unwrap().names;
        }
        first.remove("a");
        assert_eq!(changes.next().await.unwrap().unwrap().removed, ["a"]);
    }
}
