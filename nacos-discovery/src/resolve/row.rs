use std::sync::Arc;

use nacos_client::{Instance, Weight};

use crate::node::Node;
use crate::pick::Verdict;
use crate::{Endpoint, ServiceInstance};

/// An instance of the list, with what is known of it whatever the others are.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) instance: ServiceInstance,
    pub(super) node: Arc<Node>,
    pub(super) standing: Standing,
}

/// Whether it could take requests, its health left out.
#[derive(Debug, Clone)]
pub(super) enum Standing {
    Usable { endpoint: Arc<Endpoint>, weight: f64 },
    Out(Verdict),
}

impl Row {
    /// Whether `instance` is what this row was made of, in all that requests or people can see.
    pub(super) fn is_of(&self, instance: &Arc<Instance>) -> bool {
        let own = self.instance.instance();
        Arc::ptr_eq(own, instance) || (own == instance && own.instance_id == instance.instance_id)
    }

    /// Whether it is neither disabled nor of weight 0.
    pub(super) const fn is_in_service(&self) -> bool {
        !matches!(self.standing, Standing::Out(Verdict::Disabled | Verdict::Drained))
    }

    /// Whether it may take requests now, preferences left out.
    pub(super) fn takes_requests(&self) -> bool {
        self.judged(Health::Needed).is_ok()
    }

    /// The endpoint and its weight, or why it takes no requests.
    pub(super) fn judged(&self, health: Health) -> Result<(&Arc<Endpoint>, f64), Verdict> {
        match &self.standing {
            Standing::Out(verdict) if !self.is_in_service() => Err(verdict.clone()),
            _ if health == Health::Needed && !self.instance.healthy() => Err(Verdict::Unhealthy),
            Standing::Out(verdict) => Err(verdict.clone()),
            Standing::Usable { endpoint, weight } => Ok((endpoint, *weight)),
        }
    }

    /// The weight it is registered with; 0 for those that are no weight.
    pub(super) fn registered_weight(&self) -> f64 {
        Weight::usable(self.instance.weight()).map_or(0.0, Weight::get)
    }

    /// Whether its weight is none that a registry should list.
    pub(super) fn has_odd_weight(&self) -> bool {
        Weight::new(self.instance.weight()).is_none()
    }
}

/// Whether instances must be healthy to take requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    Needed,
    /// None is healthy, and the settings prefer unhealthy ones to none.
    Waived,
}
