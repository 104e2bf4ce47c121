use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use nacos_client::ServiceKey;

use super::updater::Updater;
use super::{Endpoints, Source};
use crate::eject::EjectionSender;
use crate::settings::BalanceSettings;
use crate::{Discovery, DiscoveryError};

/// Who can take requests, for every service that was asked for. Cheap to clone; all clones share one set of services.
///
/// The first question about a service begins to watch it; one task per service then keeps its tables up to date.
#[derive(Clone)]
pub struct Directory {
    shared: Arc<Shared>,
}

struct Shared {
    source: Arc<dyn Source>,
    settings: BalanceSettings,
    services: Mutex<HashMap<ServiceKey, Watched>>,
    ejections: EjectionSender,
}

struct Watched {
    endpoints: Arc<Endpoints>,
    _updater: Updater,
}

impl Directory {
    /// With lists from `source`.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, settings: BalanceSettings) -> Self {
        Self {
            shared: Arc::new(Shared { source, settings, services: Mutex::default(), ejections: EjectionSender::new() }),
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &BalanceSettings {
        &self.shared.settings
    }

    /// The instances of a service; the first time it begins to watch the service. Needs a tokio runtime.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    pub fn endpoints(&self, service: &ServiceKey) -> Result<Arc<Endpoints>, DiscoveryError> {
        let mut services = self.shared.services.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watched) = services.get(service) {
            return Ok(Arc::clone(&watched.endpoints));
        }
        let lists = self.shared.source.lists(service)?;
        let endpoints = Arc::new(Endpoints::telling(
            service.clone(),
            self.shared.settings.service(service),
            self.shared.ejections.clone(),
        ));
        let updater = Updater::spawn(&endpoints, lists);
        services.insert(service.clone(), Watched { endpoints: Arc::clone(&endpoints), _updater: updater });
        Ok(endpoints)
    }

    pub(crate) fn ejection_sender(&self) -> &EjectionSender {
        &self.shared.ejections
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
