use std::sync::Arc;

use tokio::time::Instant;

use super::{RetrySettings, SharedBudget};
use crate::route::RequestHead;
use crate::{Endpoints, ServiceSettings, Tried};

/// What holds for a call: the settings and the budget of its service.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    Service(Arc<Endpoints>),
    /// The layer cannot tell which service it is; the balancer below may.
    Unknown(Arc<Unknown>),
}

/// What all calls share of which the layer cannot tell the service.
#[derive(Debug)]
pub(super) struct Unknown {
    settings: Arc<ServiceSettings>,
    budget: SharedBudget,
}

impl Unknown {
    pub(super) fn new(settings: Arc<ServiceSettings>) -> Self {
        let budget = SharedBudget::new(settings.retry(), Instant::now());
        Self { settings, budget }
    }
}

impl Scope {
    pub(super) fn settings(&self) -> &RetrySettings {
        match self {
            Self::Service(endpoints) => endpoints.settings().retry(),
            Self::Unknown(unknown) => unknown.settings.retry(),
        }
    }

    pub(super) fn budget(&self) -> &SharedBudget {
        match self {
            Self::Service(endpoints) => endpoints.retry_budget(),
            Self::Unknown(unknown) => &unknown.budget,
        }
    }

    /// Whether there is an instance left that the call can go to and was not sent to, as far as can be told.
    pub(super) fn has_untried(&self, tried: &Tried, head: RequestHead<'_>) -> bool {
        match self {
            Self::Service(endpoints) => endpoints.has_untried(tried, head),
            Self::Unknown(_) => true,
        }
    }

    /// For the log.
    pub(super) fn service(&self) -> &str {
        match self {
            Self::Service(endpoints) => endpoints.service().name(),
            Self::Unknown(_) => "",
        }
    }
}
