use std::time::Instant;

use nacos_client::{ConnectionStatus, InstanceKey, LoginStatus, NamingService, ServiceSnapshot, SubscribedService};
use serde::Serialize;

use super::RoutesReport;
use super::traffic::{TrafficReport, traffic};
use crate::register::Record;
use crate::{Directory, Endpoints, RegistrationState};

/// How discovery is doing, as far as this process knows. It has no password and no key, so it can be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// The namespace the client works in.
    pub namespace: String,
    /// The connection to the registry.
    pub connection: ConnectionReport,
    /// The login; absent if no user is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<LoginReport>,
    /// What this process registered; empty if nothing.
    pub registrations: Vec<RegistrationReport>,
    /// The services that are kept up to date, sorted.
    pub subscriptions: Vec<SubscriptionReport>,
    /// The routing rules of each [`Directory`] that has some; left out of documents if none has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RoutesReport>,
}

/// The connection to the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ConnectionReport {
    /// `idle`, `connecting`, `connected`, `disconnected` or `closed`.
    pub state: &'static str,
    /// The configured server, while it is connected to one or tries it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What is spoken on it: `gRPC` or `HTTP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// For how long it has been in this state, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// Failed attempts since.
    pub failures: u32,
    /// What the last one failed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// The login at the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct LoginReport {
    /// `pending`, `loggedIn` or `failing`.
    pub state: &'static str,
    /// For how long it has been in this state, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// Failed logins since.
    pub failures: u32,
    /// What the last one failed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Whether an older token is still in use while logins fail.
    pub has_token: bool,
}

/// One registration of this process.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct RegistrationReport {
    /// `off`, `pending`, `registered`, `failing`, `refused`, `unsupported`, `withheld`, `replaced` or `deregistered`.
    pub state: &'static str,
    /// The same with all that is known, for people.
    pub detail: String,
    /// The service, as `group@@name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The instance as it is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceReport>,
}

/// One service that is kept up to date.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionReport {
    /// The service, as `group@@name`.
    pub service: String,
    /// Watches and handlers; 0 = it was only looked up, and leaves when it is idle.
    pub listeners: usize,
    /// Whether a list has arrived.
    pub known: bool,
    /// Local number of the list, which grows with every change.
    pub revision: u64,
    /// Age of the list, in milliseconds: since it was last received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_ms: Option<u64>,
    /// For how long nobody has kept it up to date, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_for_ms: Option<u64>,
    /// Whether the registry shows unhealthy instances as healthy, because too few are healthy.
    pub protected: bool,
    /// Instances that the last list lacked and that are kept until it is confirmed.
    pub held: usize,
    /// Instances that take traffic.
    pub usable: usize,
    /// Instances that do not because they are unhealthy.
    pub unhealthy: usize,
    /// Instances that do not although they are healthy: disabled, or of weight 0.
    pub drained: usize,
    /// All instances, sorted.
    pub instances: Vec<InstanceReport>,
}

/// One instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct InstanceReport {
    #[serde(skip)]
    key: InstanceKey,
    /// `ip:port`.
    pub address: String,
    /// Its cluster.
    pub cluster: String,
    /// Its weight; `null` if it is no number.
    pub weight: f64,
    /// Whether the registry takes it for healthy.
    pub healthy: bool,
    /// Whether it takes traffic at all.
    pub enabled: bool,
    /// Whether it lives only as long as whoever registered it.
    pub ephemeral: bool,
    /// What this process makes of it, where it may call it: a [`Directory`] of the [`crate::Discovery`] watches its service,
    /// and nothing of the instance itself speaks against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<TrafficReport>,
}

impl StatusReport {
    pub(crate) fn new(nacos: &NamingService, records: &[Record], directories: &[Directory]) -> Self {
        let now = Instant::now();
        Self {
            namespace: nacos.config().namespace().as_str().to_owned(),
            connection: ConnectionReport::new(nacos.status().current(), now),
            login: LoginReport::new(nacos.login(), now),
            registrations: records.iter().map(RegistrationReport::new).collect(),
            subscriptions: nacos
                .subscribed_services()
                .iter()
                .map(|service| {
                    let report = SubscriptionReport::new(service, nacos.peek(&service.key).as_deref(), now);
                    report
                        .with_traffic(directories.iter().find_map(|directory| directory.peek(&service.key)).as_deref())
                })
                .collect(),
            routes: directories.iter().filter_map(|one| RoutesReport::new(one, tokio::time::Instant::now())).collect(),
        }
    }
}

impl ConnectionReport {
    fn new(status: ConnectionStatus, now: Instant) -> Self {
        let plain = |state| Self { state, server: None, protocol: None, for_ms: None, failures: 0, last_error: None };
        match status {
            ConnectionStatus::Connecting { server, failures, last_error } => {
                Self { server, failures, last_error, ..plain("connecting") }
            }
            ConnectionStatus::Connected { server, protocol, since, .. } => Self {
                server: Some(server),
                protocol: Some(protocol.to_string()),
                for_ms: Some(age(since, now)),
                ..plain("connected")
            },
            ConnectionStatus::Disconnected { since, failures, last_error } => {
                Self { for_ms: Some(age(since, now)), failures, last_error, ..plain("disconnected") }
            }
            ConnectionStatus::Closed => plain("closed"),
            _ => plain("idle"),
        }
    }
}

impl LoginReport {
    fn new(status: LoginStatus, now: Instant) -> Option<Self> {
        let pending = Self { state: "pending", for_ms: None, failures: 0, last_error: None, has_token: false };
        match status {
            LoginStatus::Off => None,
            LoginStatus::LoggedIn { since, .. } => {
                Some(Self { state: "loggedIn", for_ms: Some(age(since, now)), has_token: true, ..pending })
            }
            LoginStatus::Failing { since, attempts, error, has_token } => Some(Self {
                state: "failing",
                for_ms: Some(age(since, now)),
                failures: attempts,
                last_error: Some(error.to_string()),
                has_token,
            }),
            _ => Some(pending),
        }
    }
}

impl RegistrationReport {
    fn new(record: &Record) -> Self {
        let state: &RegistrationState = &record.state;
        Self {
            state: state.name(),
            detail: state.to_string(),
            service: record.wanted.as_ref().map(|wanted| wanted.service.to_string()),
            instance: record.wanted.as_ref().map(|wanted| InstanceReport::new(&wanted.instance)),
        }
    }
}

impl SubscriptionReport {
    fn new(service: &SubscribedService, snapshot: Option<&ServiceSnapshot>, now: Instant) -> Self {
        let instances = snapshot.map(ServiceSnapshot::instances).unwrap_or_default();
        let usable = instances.iter().filter(|instance| instance.is_pickable()).count();
        let unhealthy = instances.iter().filter(|instance| !instance.healthy).count();
        Self {
            service: service.key.to_string(),
            listeners: service.listeners,
            known: snapshot.is_some(),
            revision: snapshot.map(ServiceSnapshot::revision).unwrap_or_default(),
            age_ms: snapshot.map(|snapshot| age(snapshot.received_at(), now)),
            stale_for_ms: snapshot.and_then(ServiceSnapshot::stale_since).map(|since| age(since, now)),
            protected: snapshot.is_some_and(ServiceSnapshot::protected),
            held: snapshot.and_then(ServiceSnapshot::held).map(|held| held.count).unwrap_or_default(),
            usable,
            unhealthy,
            drained: instances.len() - usable - unhealthy,
            instances: instances.iter().map(|instance| InstanceReport::new(instance)).collect(),
        }
    }

    fn with_traffic(mut self, endpoints: Option<&Endpoints>) -> Self {
        let mut traffic = endpoints.map(traffic).unwrap_or_default();
        for instance in &mut self.instances {
            instance.traffic = traffic.remove(&instance.key);
        }
        self
    }
}

impl InstanceReport {
    fn new(instance: &nacos_client::Instance) -> Self {
        Self {
            key: instance.key(),
            address: instance.addr(),
            cluster: instance.cluster.clone(),
            weight: instance.weight,
            healthy: instance.healthy,
            enabled: instance.enabled,
            ephemeral: instance.ephemeral,
            traffic: None,
        }
    }
}

fn age(since: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(since).as_millis()).unwrap_or(u64::MAX)
}
