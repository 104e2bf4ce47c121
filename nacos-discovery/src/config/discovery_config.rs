use std::collections::BTreeMap;

use nacos_client::{ClientConfig, ConfigError, DEFAULT_CLUSTER, DEFAULT_GROUP, EmptyPolicy, Namespace};

use super::load_balancer::LoadBalancer;
use super::{AddressRules, ClientSettings, HeartBeat, Listen, Management, ShutdownSettings};
use crate::settings::BalanceSettings;

/// The server used when none is named.
pub(crate) const DEFAULT_SERVER: &str = "127.0.0.1:8848";

/// The validated settings of discovery and registration, by the names of Spring Cloud Alibaba. A name given here without a
/// prefix stands below `spring.cloud.nacos.discovery`.
///
/// # Sources
///
/// Code counts more than the environment, that more than a file, that more than the defaults; of a file's documents the
/// later one counts more. Documents of profiles are left out, with one line in the log for each. `server-addr` falls back
/// to `spring.cloud.nacos.server-addr`, `service` to `spring.application.name`.
///
/// Names are relaxed as in Spring: `server-addr`, `serverAddr`, and in the environment both
/// `SPRING_CLOUD_NACOS_DISCOVERY_SERVERADDR` and `…_SERVER_ADDR`. Keys of `metadata` stay as they are written, except that
/// those of variables are in lower case. Values may hold `${name}` and `${name:default}`, where a name is a key or a variable;
/// one that stands for nothing is an error.
///
/// # What is refused
///
/// Below the prefix an unknown key is an error that names the nearest known one, and a key whose feature is not built in
/// (cloud keys, address server, cache on disk) is one that names the feature, unless its value is empty. Keys that
/// have no effect here (such as `watch-delay`, `log-name`) are told once. Keys elsewhere are none of our business.
/// Every error tells key, value, place, and what is accepted; passwords and keys are never shown.
///
/// # Examples
///
/// ```
/// use nacos_discovery::DiscoveryConfig;
///
/// let config = DiscoveryConfig::from_yaml_str(
///     "
/// spring:
///   application.name: order-service
///   cloud.nacos.discovery:
///     server-addr: ${NACOS_SERVER:127.0.0.1:8848}
///     metadata: {version: v2}
/// ",
/// )?;
/// assert_eq!((config.service(), &*config.metadata()["version"]), (Some("order-service"), "v2"));
///
/// let error = DiscoveryConfig::builder().yaml_str("spring.cloud.nacos.discovery.server-adr: x")?.build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "YAML text, line 1: unknown key spring.cloud.nacos.discovery.server-adr, did you mean \
///      spring.cloud.nacos.discovery.server-addr?"
/// );
/// # Ok::<(), nacos_discovery::DiscoveryConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DiscoveryConfig {
    pub(crate) enabled: bool,
    pub(crate) servers: String,
    pub(crate) namespace: Namespace,
    pub(crate) group: String,
    pub(crate) service: Option<String>,
    pub(crate) application: Option<String>,
    pub(crate) cluster: String,
    pub(crate) weight: f64,
    pub(crate) ephemeral: bool,
    pub(crate) instance_enabled: bool,
    pub(crate) register_enabled: bool,
    pub(crate) fail_fast: bool,
    pub(crate) address: AddressRules,
    pub(crate) port: Option<u16>,
    pub(crate) secure: bool,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) heart_beat: HeartBeat,
    pub(crate) management: Management,
    pub(crate) listen: Listen,
    pub(crate) shutdown: ShutdownSettings,
    pub(crate) client: ClientSettings,
    pub(crate) load_balancer: LoadBalancer,
}

impl Default for DiscoveryConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            servers: DEFAULT_SERVER.to_owned(),
            namespace: Namespace::default(),
            group: DEFAULT_GROUP.to_owned(),
            service: None,
            application: None,
            cluster: DEFAULT_CLUSTER.to_owned(),
            weight: 1.0,
            ephemeral: true,
            instance_enabled: true,
            register_enabled: true,
            fail_fast: true,
            address: AddressRules::default(),
            port: None,
            secure: false,
            metadata: BTreeMap::new(),
            heart_beat: HeartBeat::default(),
            management: Management::default(),
            listen: Listen::default(),
            shutdown: ShutdownSettings::default(),
            client: ClientSettings::default(),
            load_balancer: LoadBalancer::default(),
        }
    }
}

impl DiscoveryConfig {
    /// Whether there is discovery at all; `enabled`, default true.
    #[must_use]
    pub const fn enabled(&self) -> bool {
        self.enabled
    }

    /// The servers, split by `,`; `server-addr`, default `127.0.0.1:8848`.
    #[must_use]
    pub fn servers(&self) -> &str {
        &self.servers
    }

    /// The namespace; `namespace`, an id, default `public`.
    #[must_use]
    pub const fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The group registered in, and that of [`crate::Discovery::service_key`]; `group`, default `DEFAULT_GROUP`.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The name to register; `service`, else `spring.application.name`. Without it nothing is registered.
    #[must_use]
    pub fn service(&self) -> Option<&str> {
        self.service.as_deref()
    }

    /// The cluster registered, and preferred when instances are chosen; `cluster-name`, default `DEFAULT`.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The name of the application; `spring.application.name`.
    #[must_use]
    pub fn application(&self) -> Option<&str> {
        self.application.as_deref()
    }

    /// The weight registered, 0 to 10000; `weight`, default 1.
    #[must_use]
    pub const fn weight(&self) -> f64 {
        self.weight
    }

    /// Whether the instance lives only as long as this process; `ephemeral`, default true.
    #[must_use]
    pub const fn ephemeral(&self) -> bool {
        self.ephemeral
    }

    /// Whether the instance is registered ready for traffic; `instance-enabled`, default true.
    #[must_use]
    pub const fn instance_enabled(&self) -> bool {
        self.instance_enabled
    }

    /// Whether anything is registered; `register-enabled`, default true.
    #[must_use]
    pub const fn register_enabled(&self) -> bool {
        self.register_enabled
    }

    /// Whether a failed registration is an error of the start (else it is tried again); `fail-fast`, default true.
    #[must_use]
    pub const fn fail_fast(&self) -> bool {
        self.fail_fast
    }

    /// How the address is found that is registered.
    #[must_use]
    pub const fn address(&self) -> &AddressRules {
        &self.address
    }

    /// The port registered; `port`, by default, or if negative, the one listened on.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        self.port
    }

    /// Whether the service speaks TLS; `secure`, default false.
    #[must_use]
    pub const fn secure(&self) -> bool {
        self.secure
    }

    /// What the user adds to the metadata; `metadata.*`.
    #[must_use]
    pub const fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The heart-beat settings.
    #[must_use]
    pub const fn heart_beat(&self) -> &HeartBeat {
        &self.heart_beat
    }

    /// Where the application is managed.
    #[must_use]
    pub const fn management(&self) -> &Management {
        &self.management
    }

    /// Where the application listens.
    #[must_use]
    pub const fn listen(&self) -> &Listen {
        &self.listen
    }

    /// How the application ends.
    #[must_use]
    pub const fn shutdown(&self) -> &ShutdownSettings {
        &self.shutdown
    }

    /// What is set of the client itself.
    #[must_use]
    pub const fn client(&self) -> &ClientSettings {
        &self.client
    }

    /// How requests are spread, as far as `spring.cloud.loadbalancer` says: what [`crate::Discovery::directory`] uses, and a
    /// beginning for settings of one's own.
    ///
    /// | key | setting |
    /// |---|---|
    /// | `zone` | [`crate::ServiceSettings::with_zone`] |
    /// | `x-forwarded.enabled` | [`crate::ServiceSettings::with_forwarded_headers`] |
    /// | `service-discovery.timeout` | [`crate::ServiceSettings::with_first_list_wait`] |
    /// | `retry.enabled` | `false`: [`crate::RetrySettings::off`] |
    /// | `retry.max-retries-on-next-service-instance` | one less than [`crate::RetrySettings::with_attempts`] |
    /// | `retry.retry-on-all-operations` | [`crate::RetrySettings::all_methods`] |
    /// | `retry.retryable-status-codes` | [`crate::RetrySettings::with_status`], beside 502, 503 and 504 |
    /// | `retry.backoff.{enabled,min-backoff,max-backoff}` | [`crate::RetrySettings::with_backoff`]; `false`: no pauses |
    /// | `clients.<id>.*` | the same, for a service of the configured group; variables can name only those of one word |
    ///
    /// All others are told once, in one line of the log.
    #[must_use]
    pub fn balance_settings(&self) -> BalanceSettings {
        self.load_balancer.settings(&self.group)
    }

    /// The settings of the client, for [`nacos_client::NamingService::new`] or a change before.
    ///
    /// # Errors
    /// If the client refuses one of them.
    pub fn client_config(&self) -> Result<ClientConfig, ConfigError> {
        let mut builder = ClientConfig::builder().servers([&self.servers]).namespace(self.namespace.as_str());
        if let Some(name) = &self.application {
            builder = builder.app_name(name);
        }
        if let Some(request) = self.client.request_timeout {
            builder = builder.deadline(request);
        }
        if let Some(path) = &self.client.context_path {
            builder = builder.context_path(path);
        }
        if let Some(credentials) = &self.client.credentials {
            builder = builder.user(credentials.clone());
        }
        if self.client.empty_protection {
            builder = builder.empty_policy(EmptyPolicy::HoldForever);
        }
        builder.build()
    }
}
