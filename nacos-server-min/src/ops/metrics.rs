use crate::context::Context;

/// The server in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metrics {
    pub(crate) up: bool,
    pub(crate) services: usize,
    pub(crate) instances: usize,
    pub(crate) subscriptions: usize,
    pub(crate) connections: usize,
    pub(crate) ephemeral_clients: usize,
    pub(crate) persistent_clients: usize,
}

impl Metrics {
    pub(crate) fn clients(&self) -> usize {
        self.connections + self.ephemeral_clients + self.persistent_clients
    }
}

pub(crate) fn metrics(context: &Context) -> Metrics {
    let stats = context.registry.stats();
    Metrics {
        up: context.ready(),
        services: stats.services,
        instances: stats.instances,
        subscriptions: stats.subscriptions,
        connections: context.connections.len(),
        ephemeral_clients: stats.ephemeral_clients,
        persistent_clients: stats.persistent_clients,
    }
}

/// How pushes fare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PushState {
    pub(crate) succeeded: u64,
    pub(crate) total: u64,
}

impl PushState {
    /// The share that succeeded; 0 of none.
    #[expect(clippy::cast_precision_loss, reason = "a share for people to read")]
    pub(crate) fn ratio(self) -> f64 {
        if self.total == 0 { 0.0 } else { self.succeeded as f64 / self.total as f64 }
    }
}

pub(crate) fn push_state(context: &Context) -> PushState {
    let counters = context.counters.snapshot();
    PushState { succeeded: counters.acks, total: counters.acks + counters.refusals + counters.unacknowledged_closed }
}
