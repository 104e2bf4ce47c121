use nacos_client::{ConfigError, NamingService};

/// Which service of which registry, for the command line.
#[derive(Debug, Clone, clap::Args)]
pub struct RegistryOptions {
    /// Nacos servers, as host:port; repeat it for several.
    #[arg(long = "server", default_value = "127.0.0.1:8848")]
    pub servers: Vec<String>,
    /// Namespace id.
    #[arg(long, default_value = "public")]
    pub namespace: String,
    /// Service.
    #[arg(long, default_value = "order-service")]
    pub service: String,
}

impl RegistryOptions {
    /// A client of that registry. No I/O.
    ///
    /// # Errors
    ///
    /// If a server or the namespace is ill-formed.
    pub fn client(&self) -> Result<NamingService, ConfigError> {
        NamingService::builder().servers(&self.servers).namespace(&self.namespace).build()
    }
}
