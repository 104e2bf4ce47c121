use std::error::Error;
use std::fmt;

use futures_util::TryStreamExt;
use nacos_client::maintain::{Maintain, MaintainError, ServiceFilter, ServiceSummary};
use nacos_client::{DEFAULT_GROUP, NamingService, ServiceKey};
use serde::Serialize;
use tokio::time::timeout;

use super::NearMiss;
use super::likeness::{alike, same_name};
use crate::causes::with_causes;

/// What may be meant instead of a service that has nobody for a request, as far as the registry tells.
///
/// It is asked as an operator asks, over HTTP, which shows all groups and namespaces, and instances that are hidden from
/// consumers. Where it does not let this client do so, it is asked as consumers ask, for the names in the service's group
/// and in the default group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct NearMisses {
    /// What was found, the likeliest first.
    pub found: Vec<NearMiss>,
    /// What could not be looked at, and why. Nothing is known of it.
    pub unseen: Vec<String>,
}

impl NearMisses {
    /// Looks for the service in the registry of `nacos`: whether its instances are hidden, whether another group or
    /// namespace has it, and whether there are names like it. Ends at the client's deadline with what was found until then.
    ///
    /// In every namespace all services are listed, which is work for a large registry: it is meant for people who ask, not
    /// for the path of a request.
    ///
    /// # Cancel safety
    /// Cancel safe: it only asks.
    pub async fn search(nacos: &NamingService, service: &ServiceKey) -> Self {
        let limit = nacos.config().timeouts().request;
        let mut search = Search { nacos, service, misses: Self::default() };
        if timeout(limit, search.run()).await.is_err() {
            search.misses.unseen.push(format!("the search was not done after {limit:?}"));
        }
        search.misses
    }
}

/// Similar names that are told at most; the others are less alike.
const SIMILAR: usize = 3;

struct Search<'a> {
    nacos: &'a NamingService,
    service: &'a ServiceKey,
    misses: NearMisses,
}

impl Search<'_> {
    async fn run(&mut self) {
        let operator = Maintain::new(self.nacos.config().clone());
        match operator.services(&ServiceFilter::all()).await {
            Ok(services) => {
                self.hidden(&operator).await;
                self.same_namespace(&services);
            }
            Err(error) => {
                self.unseen("the registry as operators see it", &error);
                return self.as_consumer().await;
            }
        }
        self.namespaces(&operator).await;
    }

    /// Instances that only operators see.
    async fn hidden(&mut self, operator: &Maintain) {
        let instances = match operator.instances(self.service).await {
            Ok(instances) => instances,
            Err(MaintainError::NotFound { .. }) => return,
            Err(error) => return self.unseen("the instances as operators see them", &error),
        };
        let (enabled, disabled): (Vec<_>, Vec<_>) = instances.iter().partition(|instance| instance.enabled);
        let addresses = |of: Vec<&nacos_client::Instance>| of.iter().map(|instance| instance.addr()).collect();
        if !disabled.is_empty() {
            self.misses.found.push(NearMiss::Disabled { instances: addresses(disabled) });
        }
        if !enabled.is_empty() {
            self.misses.found.push(NearMiss::NotListed { instances: addresses(enabled) });
        }
    }

    fn same_namespace(&mut self, services: &[ServiceSummary]) {
        let (name, group) = (self.service.name(), self.service.group());
        let same = |service: &&ServiceSummary| same_name(service.key.name(), name) && service.key.group() != group;
        for service in services.iter().filter(same).filter(|service| service.instances > 0) {
            self.misses.found.push(NearMiss::OtherGroup {
                group: service.key.group().to_owned(),
                name: service.key.name().to_owned(),
                instances: Some(service.instances),
                healthy: Some(service.healthy),
            });
        }
        let others = services.iter().filter(|service| !same(service) && service.key != *self.service);
        for service in alike(name, others, |service| service.key.name()).take(SIMILAR) {
            self.misses.found.push(NearMiss::SimilarName {
                group: service.key.group().to_owned(),
                name: service.key.name().to_owned(),
                instances: Some(service.instances),
            });
        }
    }

    /// Whether the own namespace is a declared one, and which other ones have the service.
    async fn namespaces(&mut self, operator: &Maintain) {
        let own = self.nacos.config().namespace();
        let declared = match operator.namespaces().await {
            Ok(declared) => declared,
            Err(error) => return self.unseen("other namespaces", &error),
        };
        if !declared.iter().any(|one| one.id == *own) {
            let named = declared.iter().find(|one| one.name.eq_ignore_ascii_case(own.as_str()));
            self.misses.found.push(match named {
                Some(named) => NearMiss::NamespaceName { name: own.to_string(), id: named.id.to_string() },
                None => NearMiss::UndeclaredNamespace {
                    namespace: own.to_string(),
                    declared: declared.iter().map(|one| one.id.to_string()).collect(),
                },
            });
        }
        for namespace in declared.iter().map(|one| &one.id).filter(|id| *id != own) {
            let services = match operator.in_namespace(namespace.as_str()).services(&ServiceFilter::all()).await {
                Ok(services) => services,
                Err(error) => {
                    self.unseen(&format!("namespace {namespace}"), &error);
                    continue;
                }
            };
            let same =
                |service: &&ServiceSummary| same_name(service.key.name(), self.service.name()) && service.instances > 0;
            self.misses.found.extend(services.iter().filter(same).map(|service| NearMiss::OtherNamespace {
                namespace: namespace.to_string(),
                group: service.key.group().to_owned(),
                name: service.key.name().to_owned(),
                instances: service.instances,
                healthy: service.healthy,
            }));
        }
    }

    /// What consumers may ask for: names, one group at a time.
    async fn as_consumer(&mut self) {
        let own = self.service.group();
        for group in [own, DEFAULT_GROUP].into_iter().take(if own == DEFAULT_GROUP { 1 } else { 2 }) {
            let names: Vec<String> = match self.nacos.services(group).try_collect().await {
                Ok(names) => names,
                Err(error) => {
                    self.unseen(&format!("group {group}"), &error);
                    continue;
                }
            };
            let same = |name: &&String| group != own && same_name(name, self.service.name());
            self.misses.found.extend(names.iter().filter(same).map(|name| NearMiss::OtherGroup {
                group: group.to_owned(),
                name: name.clone(),
                instances: None,
                healthy: None,
            }));
            let others = names.iter().filter(|name| !same(name) && *name != self.service.name());
            let similar = alike(self.service.name(), others, |name| name);
            self.misses.found.extend(similar.take(SIMILAR).map(|name| NearMiss::SimilarName {
                group: group.to_owned(),
                name: name.clone(),
                instances: None,
            }));
        }
    }

    fn unseen(&mut self, what: &str, error: &(dyn Error + 'static)) {
        self.misses.unseen.push(format!("{what}: {}", with_causes(error)));
    }
}

impl fmt::Display for NearMisses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for found in &self.found {
            writeln!(f, "- {found}")?;
        }
        self.unseen.iter().try_for_each(|unseen| writeln!(f, "- not looked at: {unseen}"))
    }
}
