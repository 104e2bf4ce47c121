//! The operator's client.

use http::{Method, header};
use tokio::sync::OnceCell;

use super::{
    error::MaintainError,
    judge::{Rejected, judge},
    model::{Generation, ServerState},
    read,
};
use crate::{
    auth::{Auth, LoginStatus},
    config::ClientConfig,
    exchange::{Http, Request},
    model::Namespace,
    servers::ServerList,
};

/// Operators' own programs are named, other than clients, for which servers keep lists of names and versions.
const AGENT: &str = concat!("Nacos-Rust-Maintain:v", env!("CARGO_PKG_VERSION"));

/// Does what operators do, over HTTP.
///
/// Takes servers, context path, user, namespace and time limits (`timeouts.connect`, `timeouts.http`) from the settings of a client. Which generation of the interface a server offers is
/// found out by the first call.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use nacos_client::{ClientConfig, InstanceKey, ServiceKey};
/// use nacos_client::maintain::{InstanceChange, Maintain};
///
/// let operator = Maintain::new(ClientConfig::builder().servers(["127.0.0.1:8848"]).build()?);
/// println!("{:?}", operator.state().await?);
///
/// let orders = ServiceKey::new("", "order-service");
/// operator.update_instance(&orders, &InstanceKey::new(("10.0.0.9", 8080), ""), &InstanceChange::default().weight(0.0)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Maintain {
    pub(super) servers: ServerList,
    pub(super) http: Http,
    pub(super) auth: Auth,
    pub(super) namespace: Namespace,
    pub(super) config: ClientConfig,
    pub(super) generation: OnceCell<Generation>,
}

impl Maintain {
    /// An operator's client with the settings of a client. Does nothing yet.
    #[must_use]
    pub fn new(config: ClientConfig) -> Self {
        Self {
            servers: config.servers.clone(),
            http: Http::new(&config, AGENT),
            auth: Auth::new(&config),
            namespace: config.namespace.clone(),
            config,
            generation: OnceCell::new(),
        }
    }

    /// The same operator in another namespace.
    #[must_use]
    pub fn in_namespace(&self, id: impl AsRef<str>) -> Self {
        let config = ClientConfig { namespace: Namespace::new(id), ..self.config.clone() };
        // It is the same server: what it offers is known.
        Self { generation: self.generation.clone(), auth: self.auth.clone(), ..Self::new(config) }
    }

    /// Whether this operator is logged in, and why not; it logs in at its first call.
    #[must_use]
    pub fn login(&self) -> LoginStatus {
        self.auth.status()
    }

    /// What the first server that answers says of itself.
    ///
    /// # Errors
    ///
    /// When none answers, or what answers is no Nacos server.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only asks.
    pub async fn state(&self) -> Result<ServerState, MaintainError> {
        let generation = self.generation().await?;
        let path = match generation {
            Generation::V1 => "/v1/console/server/state",
            Generation::V3 => "/v3/admin/core/state",
        };
        // Servers without console tell no version, and are servers all the same.
        let told = match judge(&self.ask_openly(&Request::plain(Method::GET, path)).await?) {
            Ok(told) => told,
            Err(Rejected::Failed(refusal)) => return Err(MaintainError::Server(refusal)),
            Err(_) => serde_json::Value::Null,
        };
        let health = Request::plain(Method::GET, "/v1/ns/operator/metrics");
        let answer = self.ask_openly(&health).await?;
        let clock = answer.headers.get(header::DATE).and_then(|date| date.to_str().ok());
        let clock = clock.and_then(|date| httpdate::parse_http_date(date).ok());
        let status = match judge(&answer) {
            Ok(metrics) => read::text(&metrics, "status").map(str::to_owned),
            Err(Rejected::Foreign(text)) => return Err(MaintainError::Protocol(text)),
            Err(Rejected::Failed(refusal)) => Some(refusal.message),
            Err(rejected @ Rejected::Denied(_)) if !told.is_object() => {
                return Err(self.error(rejected, &health, "server state"));
            }
            Err(_) => None,
        };
        if status.is_none() && !told.is_object() {
            return Err(MaintainError::Protocol(format!("status {} to {}", answer.status, health.name())));
        }
        let mode = read::text(&told, "startup_mode").or_else(|| read::text(&told, "standalone_mode"));
        Ok(ServerState {
            version: read::text(&told, "version").map(str::to_owned),
            mode: mode.map(str::to_owned),
            status,
            auth: read::flag(&told, "auth_enabled"),
            generation,
            clock,
            server: answer.server,
        })
    }
}
