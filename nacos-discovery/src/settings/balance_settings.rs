use std::collections::HashMap;
use std::sync::Arc;

use nacos_client::{DEFAULT_GROUP, IntoServiceKey, ServiceKey};

use super::ServiceSettings;
use crate::route::{RouteDocument, RouteError};

/// How requests are spread: defaults, and what differs from them for single services, like
/// `spring.cloud.loadbalancer.clients.<id>.*`.
#[derive(Debug, Clone, Default)]
pub struct BalanceSettings {
    default: Arc<ServiceSettings>,
    services: HashMap<ServiceKey, Arc<ServiceSettings>>,
    /// `None`: nothing was said of it.
    group: Option<String>,
    routes: Option<RouteDocument>,
}

impl BalanceSettings {
    /// These for every service that has none of its own.
    #[must_use]
    pub fn new(default: ServiceSettings) -> Self {
        Self { default: Arc::new(default), services: HashMap::new(), group: None, routes: None }
    }

    /// What differs for one service: `change` gets what holds for it so far, first the defaults.
    #[must_use]
    pub fn with_service(
        mut self,
        service: impl IntoServiceKey,
        change: impl FnOnce(ServiceSettings) -> ServiceSettings,
    ) -> Self {
        let service = service.service_key();
        let settings = change(ServiceSettings::clone(self.services.get(&service).unwrap_or(&self.default)));
        self.services.insert(service, Arc::new(settings));
        self
    }

    /// The group of services that requests name without one, default that of the application's settings; without these
    /// `DEFAULT_GROUP`.
    #[must_use]
    pub fn with_group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// How requests are routed by what they say, until other rules are set by [`crate::Directory::set_routes`]; default: not at
    /// all. A service without a group in its name is one of the group that [`BalanceSettings::with_group`] names.
    ///
    /// # Errors
    /// If a rule cannot be used.
    pub fn with_routes(mut self, routes: RouteDocument) -> Result<Self, RouteError> {
        routes.check()?;
        self.routes = Some(routes);
        Ok(self)
    }

    /// The same, with this group if nothing was said of it.
    pub(crate) fn with_default_group(mut self, group: &str) -> Self {
        self.group.get_or_insert_with(|| group.to_owned());
        self
    }

    /// The same, with this own cluster wherever nothing was said of it.
    pub(crate) fn with_default_cluster(mut self, cluster: &str) -> Self {
        for settings in std::iter::once(&mut self.default).chain(self.services.values_mut()) {
            Arc::make_mut(settings).set_default_cluster(cluster);
        }
        self
    }

    /// The same, with these ports for every service.
    #[cfg(feature = "tonic")]
    pub(crate) fn with_all_ports(mut self, ports: &super::Ports) -> Self {
        for settings in std::iter::once(&mut self.default).chain(self.services.values_mut()) {
            let changed = ServiceSettings::clone(settings).with_ports(ports.clone());
            *settings = Arc::new(changed);
        }
        self
    }

    /// The group of services that requests name without one.
    #[must_use]
    pub fn group(&self) -> &str {
        self.group.as_deref().unwrap_or(DEFAULT_GROUP)
    }

    pub(crate) const fn routes(&self) -> Option<&RouteDocument> {
        self.routes.as_ref()
    }

    pub(crate) const fn default_settings(&self) -> &Arc<ServiceSettings> {
        &self.default
    }

    /// Those of a service.
    #[must_use]
    pub fn service(&self, service: &ServiceKey) -> Arc<ServiceSettings> {
        Arc::clone(self.services.get(service).unwrap_or(&self.default))
    }
}
