//! Instances, as operators see them.

use http::Method;
use nacos_proto::{grpc, param};

use super::{
    client::Maintain,
    error::MaintainError,
    model::{Generation, InstanceChange},
    read,
    services::{check_weight, what},
};
use crate::{
    error::InvalidArgument,
    model::{Instance, InstanceKey, IntoServiceKey, ServiceKey},
    naming::validate,
    transport::http::Query,
};

impl Maintain {
    /// All instances of a service in all its clusters: other than consumers, an operator sees the disabled ones too, and never an unhealthy one as healthy.
    ///
    /// # Errors
    ///
    /// [`MaintainError::NotFound`] if there is no such service, and others.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only asks.
    pub async fn instances(&self, service: impl IntoServiceKey) -> Result<Vec<Instance>, MaintainError> {
        let detail = self.service(service).await?;
        let mut all = Vec::new();
        for cluster in &detail.clusters {
            match self.instances_of(&detail.key, cluster).await {
                Ok(instances) => all.extend(instances),
                // It has lost its last instance since.
                Err(MaintainError::NotFound { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        all.sort_by(Instance::cmp_key);
        Ok(all)
    }

    async fn instances_of(&self, key: &ServiceKey, cluster: &str) -> Result<Vec<Instance>, MaintainError> {
        let generation = self.generation().await?;
        let rows = match generation {
            Generation::V1 => {
                let query = || self.about(generation, "/v1/ns/catalog/instances", key).with("clusterName", cluster);
                self.pages(query, &["list"], &what(key)).await?
            }
            Generation::V3 => {
                let query = self.about(generation, "/v3/admin/ns/instance/list", key).with("clusterName", cluster);
                let answer = self.call(Method::GET, query, &what(key)).await?;
                read::list(&answer, &["pageItems"]).unwrap_or_default().to_vec()
            }
        };
        let read = |row| serde_json::from_value::<grpc::Instance>(row).ok().and_then(Instance::from_wire);
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// Changes weight, visibility or metadata of an instance; what `change` does not name stays.
    ///
    /// With 3.x the rest is read and written again: two operators at the same time may undo each other's change.
    ///
    /// # Errors
    ///
    /// [`MaintainError::NotFound`] if there is no such instance, and others.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been carried out.
    pub async fn update_instance(
        &self,
        service: impl IntoServiceKey,
        instance: &InstanceKey,
        change: &InstanceChange,
    ) -> Result<(), MaintainError> {
        let key = service.service_key();
        self.check(change)?;
        let known = self.instances(&key).await?.into_iter().find(|known| instance.is(known));
        let known = known.ok_or_else(|| not_found(&key, instance))?;
        let generation = self.generation().await?;
        let (method, path) = match generation {
            Generation::V1 => (Method::PATCH, "/v1/ns/instance"),
            Generation::V3 => (Method::PUT, "/v3/admin/ns/instance/partial"),
        };
        let mut query = self.about(generation, path, &key).with("clusterName", &known.cluster);
        query = address(query, &known);
        // 3.x sets a part that is not named to its default.
        let all = generation == Generation::V3;
        if let Some(weight) = change.weight.or_else(|| all.then_some(known.weight)) {
            query = query.with_plain("weight", weight);
        }
        if let Some(enabled) = change.enabled.or_else(|| all.then_some(known.enabled)) {
            query = query.with_plain("enabled", enabled);
        }
        if all {
            query = query.with_plain("ephemeral", known.ephemeral);
        }
        if let Some(metadata) = change.metadata.as_ref() {
            query = query.with("metadata", &serde_json::to_string(metadata).unwrap_or_default());
        }
        self.call(method, query, &named(&key, instance)).await.map(drop)
    }

    /// Removes an instance. Servers say yes in any case, so look at the list. An ephemeral one that its own client keeps alive stays or comes back: over gRPC it belongs to that
    /// client's connection, and over HTTP its next beat registers it again.
    ///
    /// # Errors
    ///
    /// [`MaintainError`].
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have been carried out.
    pub async fn deregister(&self, service: impl IntoServiceKey, instance: &Instance) -> Result<(), MaintainError> {
        let key = service.service_key();
        validate::service(&self.config, &key)?;
        let generation = self.generation().await?;
        let path = match generation {
            Generation::V1 => "/v1/ns/instance",
            Generation::V3 => "/v3/admin/ns/instance",
        };
        let query = self.about(generation, path, &key).with("clusterName", &instance.cluster);
        let query = address(query, instance).with_plain("ephemeral", instance.ephemeral);
        self.call(Method::DELETE, query, &named(&key, &instance.key())).await.map(drop)
    }

    fn check(&self, change: &InstanceChange) -> Result<(), InvalidArgument> {
        if change.weight.is_none() && change.enabled.is_none() && change.metadata.is_none() {
            return Err(InvalidArgument::new("change", "names nothing to change"));
        }
        change.weight.map_or(Ok(()), check_weight)?;
        let Some(metadata) = &change.metadata else { return Ok(()) };
        let checked = param::metadata(metadata, self.config.max_metadata);
        checked.map_err(|error| InvalidArgument::new("metadata", error.to_string()))
    }
}

fn address(query: Query, instance: &Instance) -> Query {
    query.with("ip", &instance.ip).with_plain("port", instance.port)
}

fn named(key: &ServiceKey, instance: &InstanceKey) -> String {
    format!("instance {instance} of {}", what(key))
}

fn not_found(key: &ServiceKey, instance: &InstanceKey) -> MaintainError {
    MaintainError::NotFound { what: named(key, instance) }
}
