/// Where the application is managed, published for tools such as Spring Boot Admin and the discovery of Prometheus.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Management {
    /// `management.server.port`.
    pub port: Option<u16>,
    /// `management.server.servlet.context-path`.
    pub context_path: Option<String>,
    /// `management.server.address`.
    pub address: Option<String>,
    /// `management.endpoints.web.base-path`.
    pub base_path: Option<String>,
}
