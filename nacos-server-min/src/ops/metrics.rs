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
    // To the registry all subscribers of a service by UDP are one.
    let (by_udp, services_by_udp) = context.udp.sizes();
    Metrics {
        up: context.ready(),
        services: stats.services,
        instances: stats.instances,
        subscriptions: (stats.subscriptions + by_udp).saturating_sub(services_by_udp),
        connections: context.connections.len(),
        ephemeral_clients: stats.ephemeral_clients,
        persistent_clients: stats.persistent_clients,
    }
}

/// How pushes fare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

/// How pushes fared since the counting began, or began anew with `reset`.
pub(crate) fn push_state(context: &Context, reset: bool) -> PushState {
    let counters = context.counters.snapshot();
    let failed = counters.refusals + counters.unacknowledged_closed;
    let failed_by_udp = counters.udp_unacknowledged + counters.udp_too_large + counters.udp_failed;
    let succeeded = counters.acks + counters.udp_acks;
    let all = PushState { succeeded, total: succeeded + failed + failed_by_udp };
    let since = context.push_state_base(reset.then_some(all));
    PushState { succeeded: all.succeeded.saturating_sub(since.succeeded), total: all.total.saturating_sub(since.total) }
}
