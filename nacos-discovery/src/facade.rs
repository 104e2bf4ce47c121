use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nacos_client::{ConfigError, NamingService, ServiceKey, ShutdownReport};

use crate::register::Records;
use crate::resolve::Directories;
use crate::settings::BalanceSettings;
use crate::{
    Directory, DiscoveryClient, DiscoveryConfig, Health, InMemoryDiscovery, NacosDiscovery, Registrar, Source,
    StatusReport,
};

/// Discovery by the settings of one application: registers it, finds others, and tells how both are doing. Cheap to clone;
/// all clones share one client of the registry.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use nacos_discovery::{Discovery, DiscoveryConfig};
///
/// let discovery = Discovery::new(DiscoveryConfig::from_file("application.yml")?)?;
/// for instance in &discovery.client().instances(&discovery.service_key("order-service")).await? {
///     println!("{}", instance.uri());
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Discovery {
    shared: Arc<Shared>,
}

struct Shared {
    config: Arc<DiscoveryConfig>,
    nacos: NamingService,
    client: Arc<dyn DiscoveryClient>,
    directory: OnceLock<Directory>,
    #[cfg(feature = "tonic")]
    grpc_directory: OnceLock<Directory>,
    /// Those that were made by this, for the report.
    directories: Directories,
    /// What was registered through this, for the report.
    records: Arc<Records>,
}

impl Discovery {
    /// Discovery by these settings. No I/O: the client connects at its first use.
    ///
    /// # Errors
    /// If the client refuses a setting.
    pub fn new(config: DiscoveryConfig) -> Result<Self, ConfigError> {
        let nacos = NamingService::new(config.client_config()?);
        Ok(Self::with_client(config, nacos))
    }

    /// Discovery by these settings, of which those of the client itself do not count, with a client that exists already.
    #[must_use]
    pub fn with_client(config: DiscoveryConfig, nacos: NamingService) -> Self {
        let client: Arc<dyn DiscoveryClient> = if config.enabled() {
            Arc::new(NacosDiscovery::new(nacos.clone()))
        } else {
            // Knows nobody, and its watches say so and go on.
            Arc::new(InMemoryDiscovery::new())
        };
        Self {
            shared: Arc::new(Shared {
                config: Arc::new(config),
                nacos,
                client,
                directory: OnceLock::new(),
                #[cfg(feature = "tonic")]
                grpc_directory: OnceLock::new(),
                directories: Directories::default(),
                records: Arc::default(),
            }),
        }
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &DiscoveryConfig {
        &self.shared.config
    }

    /// The client of the registry.
    #[must_use]
    pub fn nacos(&self) -> &NamingService {
        &self.shared.nacos
    }

    /// Tells who provides a service. With `enabled: false` it knows nobody.
    #[must_use]
    pub fn client(&self) -> &Arc<dyn DiscoveryClient> {
        &self.shared.client
    }

    /// The key of a service of the configured group, in which Spring Cloud looks up every service.
    #[must_use]
    pub fn service_key(&self, name: &str) -> ServiceKey {
        ServiceKey::new(self.config().group(), name)
    }

    /// Who can take requests, with the settings of [`DiscoveryConfig::balance_settings`]. With `enabled: false` nobody can.
    pub fn directory(&self) -> &Directory {
        self.shared.directory.get_or_init(|| self.directory_with(self.config().balance_settings()))
    }

    /// Who can take calls of gRPC, with the settings of [`Discovery::directory`] but for the port: that in the metadata under
    /// `gRPC_port`, or the registered one where there is no such entry. Another directory than that one.
    #[cfg(feature = "tonic")]
    pub fn grpc_directory(&self) -> &Directory {
        let settings = || self.config().balance_settings().with_all_ports(&crate::Ports::metadata("gRPC_port"));
        self.shared.grpc_directory.get_or_init(|| self.directory_with(settings()))
    }

    /// Who can take requests, with these settings: another directory than [`Discovery::directory`], with tables of its own.
    /// Where they say nothing of the own cluster and the group, these are `cluster-name` and `group` of the application's
    /// settings.
    #[must_use]
    pub fn directory_with(&self, settings: BalanceSettings) -> Directory {
        let config = self.config();
        let source: Arc<dyn Source> =
            if config.enabled() { Arc::new(self.shared.nacos.clone()) } else { Arc::new(InMemoryDiscovery::new()) };
        let settings = settings.with_default_cluster(config.cluster()).with_default_group(config.group());
        let directory = Directory::new(source, settings);
        self.shared.directories.add(&directory);
        directory
    }

    /// Registers this application, once it listens.
    pub fn registrar(&self) -> Registrar {
        let records = Arc::clone(&self.shared.records);
        Registrar::new(Arc::clone(&self.shared.config), self.shared.nacos.clone())
            .observed_by(move |record| records.add(record))
    }

    /// How everything is doing, as far as this process knows. Asks nobody, and keeps nothing up to date.
    #[must_use]
    pub fn status(&self) -> StatusReport {
        let records = self.shared.records.read();
        StatusReport::new(&self.shared.nacos, &records, &self.shared.directories.used())
    }

    /// Whether the registry answers: it is asked now, within the client's deadline.
    ///
    /// # Cancel safety
    /// Cancel safe: it only asks.
    pub async fn health(&self) -> Health {
        Health::of(self.shared.client.probe().await)
    }

    /// Ends the client within `limit`, and with it every watch. For applications that are not registered; a registered one
    /// is ended by [`crate::Registered::shutdown`].
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting; the shutdown goes on.
    pub async fn shutdown(&self, limit: Duration) -> ShutdownReport {
        self.shared.nacos.shutdown(limit).await
    }
}

impl fmt::Debug for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovery").field("config", &self.shared.config).finish_non_exhaustive()
    }
}
