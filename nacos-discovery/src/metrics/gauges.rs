use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use ::metrics::{Label, gauge};
use nacos_client::{InstanceKey, ServiceKey};

use super::{labels, names};
use crate::{Directory, EjectionState, Endpoint};

/// Shows every instance of the services that were called: calls in flight, weight, ejection, estimated latency.
///
/// Nothing is recorded by itself. Whoever exposes the numbers calls [`InstanceGauges::record`] before.
pub struct InstanceGauges {
    directory: Directory,
    /// Those of the last time. Recorders cannot forget, so the gauges of an instance that has left are set to 0.
    shown: Mutex<HashMap<(ServiceKey, InstanceKey), Vec<Label>>>,
}

impl InstanceGauges {
    /// Of the services of a [`Directory`], or the one of a [`crate::Discovery`].
    #[must_use]
    pub fn new(directory: impl Into<Directory>) -> Self {
        Self { directory: directory.into(), shown: Mutex::default() }
    }

    /// Sets the gauges to what is so now. Asks nobody and waits for nothing.
    pub fn record(&self) {
        let mut now = HashMap::new();
        let services = self.directory.services();
        for endpoints in services.iter().filter_map(|service| self.directory.peek(service)) {
            for endpoint in endpoints.all() {
                let labels = labels::of_instance(endpoint.instance());
                show(&labels, &Values::of(&endpoint));
                now.insert((endpoints.service().clone(), endpoint.instance().key()), labels);
            }
        }
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, labels) in shown.iter() {
            if now.get(key) != Some(labels) {
                show(labels, &Values::default());
            }
        }
        *shown = now;
    }
}

#[derive(Default)]
struct Values {
    in_flight: f64,
    weight: f64,
    ejected: f64,
    latency: f64,
}

impl Values {
    fn of(endpoint: &Endpoint) -> Self {
        let takes_requests = matches!(endpoint.ejection(), EjectionState::Healthy { .. });
        Self {
            in_flight: endpoint.in_flight().into(),
            weight: endpoint.instance().weight(),
            ejected: if takes_requests { 0.0 } else { 1.0 },
            latency: endpoint.latency().map_or(0.0, |latency| latency.as_secs_f64()),
        }
    }
}

fn show(labels: &[Label], values: &Values) {
    let gauges = [
        (names::IN_FLIGHT, values.in_flight),
        (names::WEIGHT, values.weight),
        (names::EJECTED, values.ejected),
        (names::LATENCY, values.latency),
    ];
    for (name, value) in gauges {
        gauge!(name, labels.to_vec()).set(value);
    }
}

impl fmt::Debug for InstanceGauges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstanceGauges").field("directory", &self.directory).finish_non_exhaustive()
    }
}
