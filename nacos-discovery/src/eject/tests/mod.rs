//! Ejection through the same door as callers: lists come in, requests are picked, and end.

mod ejecting;
mod events;
mod property;
mod ramp;
mod sharing;
mod simulation;
mod starving;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use nacos_client::{Instance, ServiceKey};
use tokio::time::advance;

use crate::settings::{EjectSettings, ServiceSettings};
use crate::{Endpoint, Endpoints, NoInstance, Outcome, PickContext, Picked, ServiceList, TransportFailure};

pub(super) const GOOD: Outcome = Outcome::Success { latency: Duration::from_millis(5) };
pub(super) const BAD: Outcome = Outcome::Transport(TransportFailure::Connect);
pub(super) const BUSY: Outcome = Outcome::Overloaded { retry_after: None };

/// A service whose instances are known by their ports.
pub(super) struct Service {
    pub(super) endpoints: Arc<Endpoints>,
    pub(super) rng: fastrand::Rng,
    revision: u64,
}

impl Service {
    pub(super) fn new(settings: ServiceSettings, ports: impl IntoIterator<Item = u16>) -> Self {
        let endpoints = Arc::new(Endpoints::new(ServiceKey::new("", "orders"), Arc::new(settings)));
        let mut service = Self { endpoints, rng: fastrand::Rng::with_seed(7), revision: 0 };
        service.list(ports);
        service
    }

    /// With an ejection that is easy to calculate: the pauses vary by up to 10 %.
    pub(super) fn ejecting(ports: impl IntoIterator<Item = u16>) -> Self {
        Self::new(ServiceSettings::default(), ports)
    }

    pub(super) fn with(ejection: EjectSettings, ports: impl IntoIterator<Item = u16>) -> Self {
        Self::new(ServiceSettings::default().with_ejection(Some(ejection)), ports)
    }

    /// The next list.
    pub(super) fn list(&mut self, ports: impl IntoIterator<Item = u16>) {
        let instances = ports.into_iter().map(|port| Arc::new(Instance::new(("127.0.0.1", port))));
        self.revision += 1;
        self.endpoints.apply(&ServiceList::new(self.revision, instances));
    }

    pub(super) fn pick(&mut self) -> Result<Picked, NoInstance> {
        self.endpoints.pick(&mut PickContext::new().seeded(&mut self.rng))
    }

    /// Picks until it is this one's turn. The calls of the others are given up.
    pub(super) fn pick_port(&mut self, port: u16) -> Picked {
        for _ in 0..10_000 {
            let picked = self.pick().expect("somebody is there");
            if picked.instance().port() == port {
                return picked;
            }
        }
        panic!("{port} is not picked");
    }

    /// Lets the next call of this one end so.
    pub(super) fn call(&mut self, port: u16, outcome: Outcome) {
        self.pick_port(port).finish(outcome);
    }

    /// Ejects this one.
    pub(super) fn fail(&mut self, port: u16) {
        (0..5).for_each(|_| self.call(port, BAD));
    }

    /// How often each one is picked among so many.
    pub(super) fn spread(&mut self, picks: usize) -> BTreeMap<u16, usize> {
        let mut seen = BTreeMap::new();
        for _ in 0..picks {
            let picked = self.pick().expect("somebody is there");
            *seen.entry(picked.instance().port()).or_insert(0) += 1;
            picked.finish(GOOD);
        }
        seen
    }

    pub(super) fn endpoint(&self, port: u16) -> Arc<Endpoint> {
        let all = self.endpoints.all();
        Arc::clone(all.iter().find(|endpoint| endpoint.instance().port() == port).expect("it is listed"))
    }
}

pub(super) async fn pass(seconds: f64) {
    advance(Duration::from_secs_f64(seconds)).await;
}
