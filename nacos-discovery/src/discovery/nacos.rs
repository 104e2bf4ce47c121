use std::future::ready;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use nacos_client::{NamingService, Select, ServiceKey};

use super::instances_change::Differences;
use super::poll_services::{AskServices, poll_services};
use super::{Answer, DiscoveryClient, DiscoveryError, InstanceChanges, InstanceList, ServiceChanges};

/// How often the names of services are asked for while they are watched.
const SERVICES_INTERVAL: Duration = Duration::from_secs(30);

/// The services of a Nacos registry, in the namespace of the client.
///
/// The first question about a service subscribes to it and waits for its list, at most for the client's deadline; later
/// ones are answered from the list that the server's pushes keep up to date. While the registry is away they are answered
/// with the last list, marked as stale.
#[derive(Debug, Clone)]
pub struct NacosDiscovery {
    nacos: NamingService,
    services_interval: Duration,
}

impl NacosDiscovery {
    /// Discovery by this client, which stays the caller's to shut down.
    #[must_use]
    pub const fn new(nacos: NamingService) -> Self {
        Self { nacos, services_interval: SERVICES_INTERVAL }
    }

    /// How often the names of services are asked for while they are watched, default 30 s; Nacos pushes lists of instances,
    /// but no names.
    #[must_use]
    pub const fn services_interval(mut self, interval: Duration) -> Self {
        self.services_interval = interval;
        self
    }
}

/// The names of the services of one group.
struct Group {
    nacos: NamingService,
    group: String,
}

impl AskServices for Group {
    fn ask(&self) -> Answer<'_, Vec<String>> {
        Box::pin(async {
            let names: Vec<String> = self.nacos.services(&self.group).try_collect().await?;
            Ok(names)
        })
    }
}

impl DiscoveryClient for NacosDiscovery {
    fn description(&self) -> &str {
        "Nacos"
    }

    fn instances<'a>(&'a self, service: &'a ServiceKey) -> Answer<'a, InstanceList> {
        Box::pin(async move {
            let snapshot = self.nacos.service(service)?.snapshot().await?;
            Ok(InstanceList::of_snapshot(&snapshot))
        })
    }

    fn watch(&self, service: &ServiceKey) -> Result<InstanceChanges, DiscoveryError> {
        let subscription = self.nacos.service(service)?.subscribe(Select::pickable());
        if let Some(end) = subscription.end() {
            return Err(end.clone().into());
        }
        let mut differences = Differences::default();
        let lists = subscription.map(|change| InstanceList::of_snapshot(change.snapshot()));
        Ok(Box::pin(lists.filter_map(move |list| ready(differences.next(list)))))
    }

    fn services<'a>(&'a self, group: &'a str) -> Answer<'a, Vec<String>> {
        let group = Group { nacos: self.nacos.clone(), group: group.to_owned() };
        Box::pin(async move {
            let mut names = group.ask().await?;
            names.sort_unstable();
            names.dedup();
            Ok(names)
        })
    }

    fn watch_services(&self, group: &str) -> Result<ServiceChanges, DiscoveryError> {
        let group = Group { nacos: self.nacos.clone(), group: group.to_owned() };
        Ok(poll_services(group, self.services_interval))
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.nacos.services_page(nacos_client::DEFAULT_GROUP, 1, 1).await?;
            Ok(())
        })
    }
}
