use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::Stream;
use nacos_client::ServiceKey;

use super::discover::{Change, discover};
use super::named::Named;
use super::updater::Updater;
use super::{Endpoints, Source};
use crate::eject::EjectionSender;
use crate::settings::BalanceSettings;
use crate::{Discovery, DiscoveryError};

/// Who can take requests, for every service that was asked for. Cheap to clone; all clones share one set of services.
///
/// The first question about a service begins to watch it; one task per service then keeps its tables up to date, whether
/// requests come or not. A service that nobody asks for any longer is let go after its idle time.
#[derive(Clone)]
pub struct Directory {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    source: Arc<dyn Source>,
    settings: BalanceSettings,
    services: papaya::HashMap<ServiceKey, Arc<Endpoints>>,
    /// Held while a service is added, so that it is watched once.
    adding: Mutex<()>,
    ejections: EjectionSender,
}

impl Directory {
    /// With lists from `source`.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, settings: BalanceSettings) -> Self {
        let services = papaya::HashMap::new();
        Self {
            shared: Arc::new(Shared {
                source,
                settings,
                services,
                adding: Mutex::default(),
                ejections: EjectionSender::new(),
            }),
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &BalanceSettings {
        &self.shared.settings
    }

    /// The instances of a service; the first time it begins to watch the service. Needs a tokio runtime. Finding a service
    /// that is watched takes no lock.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    pub fn endpoints(&self, service: &ServiceKey) -> Result<Arc<Endpoints>, DiscoveryError> {
        self.endpoints_named(service.group(), service.name())
    }

    /// The same by group and name; a blank group is the default one. Finding a service that is watched allocates nothing.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    pub fn endpoints_named(&self, group: &str, name: &str) -> Result<Arc<Endpoints>, DiscoveryError> {
        let named = Named::new(group, name);
        match self.shared.find(&named) {
            Some(endpoints) => Ok(endpoints),
            None => self.shared.add(&named),
        }
    }

    /// The services that are watched, sorted.
    #[must_use]
    pub fn services(&self) -> Vec<ServiceKey> {
        let mut services: Vec<_> = self.shared.services.pin().keys().cloned().collect();
        services.sort_unstable();
        services
    }

    /// The endpoints of a service if it is watched. Unlike [`Directory::endpoints`] it begins nothing, and does not count as
    /// a use.
    #[must_use]
    pub fn peek(&self, service: &ServiceKey) -> Option<Arc<Endpoints>> {
        self.shared.services.pin().get(service).cloned()
    }

    /// What happens to the endpoints that requests to a service prefer: first those there are, then every change. For
    /// balancers that own the connections themselves, like tower's `Balance`. It ends when the source is shut down.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    pub fn discover(
        &self,
        service: &ServiceKey,
    ) -> Result<impl Stream<Item = Change> + Send + Unpin + use<>, DiscoveryError> {
        self.endpoints(service).map(discover)
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn ejection_sender(&self) -> &EjectionSender {
        &self.shared.ejections
    }
}

impl Shared {
    pub(super) fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn find(&self, named: &Named<'_>) -> Option<Arc<Endpoints>> {
        let services = self.services.pin();
        let endpoints = services.get(named)?;
        endpoints.mark_used();
        Some(Arc::clone(endpoints))
    }

    fn add(self: &Arc<Self>, named: &Named<'_>) -> Result<Arc<Endpoints>, DiscoveryError> {
        let adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(endpoints) = self.find(named) {
            return Ok(endpoints);
        }
        let service = named.key();
        let endpoints = Endpoints::telling(service.clone(), self.settings.service(&service), self.ejections.clone());
        let endpoints = Arc::new(endpoints);
        endpoints.kept_by(Updater::spawn(&endpoints, self)?);
        self.services.pin().insert(service, Arc::clone(&endpoints));
        drop(adding);
        Ok(endpoints)
    }

    /// Forgets a service, unless it is another one of the same name. Whoever found it a moment before still has endpoints
    /// that are kept up to date: their task ends only when the last of them, the map's own included, is dropped.
    pub(super) fn let_go(&self, endpoints: &Arc<Endpoints>) {
        let guard = self.services.guard();
        let same = |_: &ServiceKey, there: &Arc<Endpoints>| Arc::ptr_eq(there, endpoints);
        let gone = self.services.remove_if(endpoints.service(), same, &guard).is_ok_and(|gone| gone.is_some());
        if gone {
            tracing::debug!(service = %endpoints.service(), "idle, so it is not watched any longer");
            // The map drops it as soon as no look-up is under way, not some time later.
            papaya::Guard::flush(&guard);
        }
    }
}

impl From<&Self> for Directory {
    fn from(directory: &Self) -> Self {
        directory.clone()
    }
}

impl From<&Discovery> for Directory {
    fn from(discovery: &Discovery) -> Self {
        discovery.directory().clone()
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("source", &self.shared.source).finish_non_exhaustive()
    }
}
