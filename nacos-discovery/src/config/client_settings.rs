use std::time::Duration;

use nacos_client::Credentials;

/// Settings of the Nacos client that may stand among those of discovery, or below `client`, by the names the Java client
/// has for them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ClientSettings {
    /// Whether a list without any instance is never believed; `naming-push-empty-protection`, default false. See
    /// [`nacos_client::EmptyPolicy::HoldForever`].
    pub empty_protection: bool,
    /// How long a request may take; `naming-request-timeout`, default 3 s.
    pub request_timeout: Option<Duration>,
    /// Whom to log in as; `username` and `password`, each else from `spring.cloud.nacos`, default nobody. Blanks around either
    /// are dropped.
    pub credentials: Option<Credentials>,
    /// What the paths of servers begin with over HTTP; `context-path`, default `/nacos`.
    pub context_path: Option<String>,
}
