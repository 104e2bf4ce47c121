//! Services as a whole.

use http::Method;
use nacos_proto::param;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::{
    client::Maintain,
    error::MaintainError,
    judge::Rejected,
    model::{Generation, ServiceDetail, ServiceFilter, ServiceSettings, ServiceSummary, Subscriber},
    read,
};
use crate::{
    error::InvalidArgument,
    exchange::Request,
    model::{IntoServiceKey, ServiceKey},
    naming::validate,
    transport::http::Query,
};

const V1_SERVICE: &str = "/v1/ns/service";
const V3_SERVICE: &str = "/v3/admin/ns/service";

const fn path(generation: Generation) -> &'static str {
    match generation {
        Generation::V1 => V1_SERVICE,
        Generation::V3 => V3_SERVICE,
    }
}

impl Maintain {
    /// The services of the namespace that `filter` lets through, in the order of their names.
    ///
    /// # Errors
    ///
    /// [`MaintainError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only asks.
    pub async fn services(&self, filter: &ServiceFilter) -> Result<Vec<ServiceSummary>, MaintainError> {
        let path = match self.generation().await? {
            Generation::V1 => "/v1/ns/catalog/services",
            Generation::V3 => "/v3/admin/ns/service/list",
        };
        let query = || {
            self.query(path)
                .with("groupNameParam", &filter.group)
                .with("serviceNameParam", &filter.name)
                .with_plain("withInstances", false)
        };
        let rows = self.pages(query, &["serviceList", "pageItems"], "service").await;
        let rows = rows.map_err(|error| error.of_list(path))?;
        let mut services: Vec<ServiceSummary> = rows.iter().filter_map(summary).collect();
        services.sort_by(|a, b| a.key.cmp(&b.key));
        // Pages are cut from a list without order: one may repeat what another showed.
        services.dedup_by(|a, b| a.key == b.key);
        Ok(services)
    }

    /// One service.
    ///
    /// # Errors
    ///
    /// [`MaintainError::NotFound`] if there is none of this name, and others.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only asks.
    pub async fn service(&self, service: impl IntoServiceKey) -> Result<ServiceDetail, MaintainError> {
        let key = service.service_key();
        validate::service(&self.config, &key)?;
        let generation = self.generation().await?;
        let answer = self.of_service(Method::GET, self.about(generation, path(generation), &key), &key).await?;
        Ok(detail(&answer, key))
    }

    /// Creates a service, which is persistent: on 2.x and 3.x no ephemeral instance can be registered in it.
    ///
    /// # Errors
    ///
    /// [`MaintainError::Exists`], and others.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been carried out.
    pub async fn create_service(
        &self,
        service: impl IntoServiceKey,
        settings: &ServiceSettings,
    ) -> Result<(), MaintainError> {
        let key = service.service_key();
        let query = self.settings(&key, settings).await?;
        if self.knows(&key).await? {
            return Err(MaintainError::Exists { what: what(&key) });
        }
        self.call(Method::POST, query, &what(&key)).await.map(drop)
    }

    /// Replaces threshold, metadata and selector of a service.
    ///
    /// # Errors
    ///
    /// [`MaintainError::NotFound`] if there is none of this name, and others.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been carried out.
    pub async fn update_service(
        &self,
        service: impl IntoServiceKey,
        settings: &ServiceSettings,
    ) -> Result<(), MaintainError> {
        let key = service.service_key();
        let query = self.settings(&key, settings).await?;
        self.of_service(Method::PUT, query, &key).await.map(drop)
    }

    /// Sets the share of healthy instances, 0 to 1, at or below which consumers get unhealthy ones too. The rest of the service stays as it was a moment before: two operators at the
    /// same time may undo each other's change.
    ///
    /// # Errors
    ///
    /// [`MaintainError::NotFound`] if there is none of this name, and others.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been carried out.
    pub async fn set_protect_threshold(&self, service: impl IntoServiceKey, share: f64) -> Result<(), MaintainError> {
        check_threshold(share)?;
        let ServiceDetail { key, metadata, selector, .. } = self.service(service).await?;
        self.update_service(&key, &ServiceSettings { protect_threshold: share, metadata, selector }).await
    }

    /// Removes a service, which must be empty; 1.x removes it with its instances.
    ///
    /// # Errors
    ///
    /// [`MaintainError::NotFound`] if there is none of this name, [`MaintainError::Refused`] if it has instances, and others.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been carried out.
    pub async fn delete_service(&self, service: impl IntoServiceKey) -> Result<(), MaintainError> {
        let key = service.service_key();
        validate::service(&self.config, &key)?;
        let generation = self.generation().await?;
        self.of_service(Method::DELETE, self.about(generation, path(generation), &key), &key).await.map(drop)
    }

    /// Who is pushed the list of a service.
    ///
    /// # Errors
    ///
    /// [`MaintainError`]; a service that nobody knows has no subscribers, which is no error.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only asks.
    pub async fn subscribers(&self, service: impl IntoServiceKey) -> Result<Vec<Subscriber>, MaintainError> {
        let key = service.service_key();
        validate::service(&self.config, &key)?;
        let generation = self.generation().await?;
        let path = match generation {
            Generation::V1 => "/v1/ns/service/subscribers",
            Generation::V3 => "/v3/admin/ns/service/subscribers",
        };
        let query = || self.about(generation, path, &key).with_plain("aggregation", true);
        let rows = self.pages(query, &["subscribers", "pageItems"], &what(&key)).await?;
        // Servers look for parts of names.
        Ok(rows.iter().map(|row| subscriber(row, &key)).filter(|subscriber| subscriber.key == key).collect())
    }

    /// Whether there is a service of this name, instances or not.
    pub(super) async fn knows(&self, key: &ServiceKey) -> Result<bool, MaintainError> {
        let filter = ServiceFilter::all().group(key.group()).name(key.name());
        Ok(self.services(&filter).await?.iter().any(|service| service.key == *key))
    }

    /// Makes a call about a service. That it does not exist is said with the status of any error by 1.x and 2.x, so it is looked for.
    pub(super) async fn of_service(
        &self,
        method: Method,
        query: Query,
        key: &ServiceKey,
    ) -> Result<Value, MaintainError> {
        let request = Request::plain(method, query.finish());
        let rejected = match self.try_call(&request).await? {
            Ok(value) => return Ok(value),
            Err(rejected) => rejected,
        };
        if matches!(rejected, Rejected::Refused(_) | Rejected::Failed(_)) && !self.knows(key).await? {
            return Err(MaintainError::NotFound { what: what(key) });
        }
        Err(self.error(rejected, &request, &what(key)))
    }

    async fn settings(&self, key: &ServiceKey, settings: &ServiceSettings) -> Result<Query, MaintainError> {
        validate::service(&self.config, key)?;
        check_threshold(settings.protect_threshold)?;
        let generation = self.generation().await?;
        let metadata = serde_json::to_string(&settings.metadata).unwrap_or_default();
        let query = self
            .about(generation, path(generation), key)
            .with_plain("protectThreshold", settings.protect_threshold)
            .with("metadata", &metadata);
        Ok(match (&settings.selector, generation) {
            (None, _) => query,
            (Some(selector), Generation::V3) => query.with("selector", selector),
            // It is decoded twice.
            (Some(selector), Generation::V1) => {
                query.with("selector", &utf8_percent_encode(selector, NON_ALPHANUMERIC).to_string())
            }
        })
    }
}

fn check_threshold(share: f64) -> Result<(), InvalidArgument> {
    if (0.0..=1.0).contains(&share) {
        return Ok(());
    }
    Err(InvalidArgument::new("protect_threshold", format!("{share} is not between 0 and 1")))
}

/// How errors name a service.
pub(super) fn what(key: &ServiceKey) -> String {
    format!("service {} in group {}", key.name(), key.group())
}

/// Checks nothing but what goes into a weight.
pub(super) fn check_weight(weight: f64) -> Result<(), InvalidArgument> {
    param::weight(weight).map_err(|error| InvalidArgument::new("weight", error.to_string()))
}

fn summary(row: &Value) -> Option<ServiceSummary> {
    Some(ServiceSummary {
        key: ServiceKey::new(read::text(row, "groupName").unwrap_or_default(), read::text(row, "name")?),
        clusters: read::count(row, "clusterCount"),
        instances: read::count(row, "ipCount"),
        healthy: read::count(row, "healthyInstanceCount"),
        protected: read::flag(row, "triggerFlag").unwrap_or(false),
    })
}

fn detail(answer: &Value, key: ServiceKey) -> ServiceDetail {
    let clusters = match (read::list(answer, &["clusters"]), answer.get("clusterMap").and_then(Value::as_object)) {
        (Some(list), _) => list.iter().filter_map(|cluster| read::text(cluster, "name")).map(str::to_owned).collect(),
        (None, Some(map)) => map.keys().cloned().collect(),
        (None, None) => Vec::new(),
    };
    ServiceDetail {
        key,
        protect_threshold: read::number(answer, "protectThreshold").unwrap_or_default(),
        metadata: read::entries(answer, "metadata"),
        selector: answer.get("selector").and_then(selector),
        clusters,
        ephemeral: read::flag(answer, "ephemeral"),
    }
}

/// What a selector was made from, without what a server adds to it.
fn selector(json: &Value) -> Option<String> {
    let kind = read::text(json, "type").filter(|kind| *kind != "none")?;
    let expression = read::text(json, "expression").unwrap_or_default();
    Some(serde_json::json!({ "type": kind, "expression": expression }).to_string())
}

fn subscriber(row: &Value, asked: &ServiceKey) -> Subscriber {
    let name = read::text(row, "serviceName").unwrap_or_else(|| asked.name());
    let (group, name) = match name.split_once("@@") {
        Some(parts) => parts,
        None => (read::text(row, "groupName").unwrap_or_else(|| asked.group()), name),
    };
    let addr = read::text(row, "addrStr").map_or_else(
        || format!("{}:{}", read::text(row, "ip").unwrap_or_default(), read::count(row, "port")),
        str::to_owned,
    );
    let agent = read::text(row, "agent").unwrap_or_default().to_owned();
    let app = read::text(row, "app").or_else(|| read::text(row, "appName")).unwrap_or_default().to_owned();
    Subscriber { key: ServiceKey::new(group, name), addr, agent, app }
}
