//! Calls as HTTP requests.
//!
//! All parameters stand in the query: 1.4 does not read the body of a POST, and proxies may read nothing else. The one exception is the content of a full beat, which Java
//! clients put into the form as well. The service is named in full, as `group@@name`, and by its group once more.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use nacos_proto::http::BeatInfo;

use super::{query::Query, server::Request};
use crate::model::{Instance, ServiceKey};

const INSTANCE: &str = "/v1/ns/instance";
const BEAT: &str = "/v1/ns/instance/beat";
const LIST: &str = "/v1/ns/instance/list";
const SERVICES: &str = "/v1/ns/service/list";
const STATE: &str = "/v1/ns/operator/metrics";

/// Where pushes of a service are to go.
#[derive(Debug, Clone, Copy)]
pub(super) struct PushTarget<'a> {
    pub(super) client_ip: &'a str,
    pub(super) port: u16,
}

/// Writes the requests of one client.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    pub(super) namespace: Arc<str>,
    pub(super) app_name: Arc<str>,
}

impl Writer {
    /// Registers an instance, or changes it.
    pub(super) fn register(&self, key: &ServiceKey, instance: &Instance) -> Request {
        let metadata = serde_json::to_string(&instance.metadata).unwrap_or_default();
        let query = self
            .instance(INSTANCE, key, instance)
            .with("groupName", key.group())
            .with_plain("weight", instance.weight)
            .with_plain("enable", instance.enabled)
            .with_plain("healthy", instance.healthy)
            .with_plain("ephemeral", instance.ephemeral)
            .with("metadata", &metadata);
        request(Method::POST, query)
    }

    /// Removes an instance.
    pub(super) fn deregister(&self, key: &ServiceKey, instance: &Instance) -> Request {
        let query = self.instance(INSTANCE, key, instance).with_plain("ephemeral", instance.ephemeral);
        request(Method::DELETE, query)
    }

    /// Says that a known instance lives.
    pub(super) fn light_beat(&self, key: &ServiceKey, instance: &Instance) -> Request {
        request(Method::PUT, self.instance(BEAT, key, instance))
    }

    /// Says that an instance lives, and everything a server needs to register it if it does not know it.
    pub(super) fn full_beat(&self, key: &ServiceKey, instance: &Instance, period_ms: i64) -> Request {
        let beat = BeatInfo {
            ip: Some(instance.ip.clone()),
            port: i32::from(instance.port),
            weight: instance.weight,
            service_name: Some(key.to_string()),
            cluster: Some(instance.cluster.clone()),
            metadata: instance.metadata.clone().into(),
            period: period_ms,
            ..BeatInfo::default()
        };
        let json = serde_json::to_string(&beat).unwrap_or_default();
        Request { form: Bytes::from(Query::form().with("beat", &json).finish()), ..self.light_beat(key, instance) }
    }

    /// Asks for the list of a service, and for pushes of it if there is a target.
    pub(super) fn list(&self, key: &ServiceKey, push: Option<PushTarget<'_>>) -> Request {
        let mut query = self
            .service(LIST, key)
            .with("groupName", key.group())
            // Always the whole service: clusters are a view on it.
            .with("clusters", "")
            .with_plain("healthyOnly", false);
        if let Some(PushTarget { client_ip, port }) = push {
            query = query.with_plain("udpPort", port).with("clientIP", client_ip);
        }
        request(Method::GET, query)
    }

    /// Asks for one page of the service names of a group.
    pub(super) fn services(&self, group: &str, page: u32, size: u32) -> Request {
        let query = Query::of(SERVICES)
            .with("namespaceId", &self.namespace)
            .with("groupName", group)
            .with_plain("pageNo", page)
            .with_plain("pageSize", size);
        request(Method::GET, query)
    }

    /// Asks whether the server serves.
    pub(super) fn state(&self) -> Request {
        Request { method: Method::GET, target: Arc::from(STATE), form: Bytes::new() }
    }

    fn service(&self, path: &str, key: &ServiceKey) -> Query {
        Query::of(path)
            .with("namespaceId", &self.namespace)
            .with("serviceName", &key.to_string())
            .with("app", &self.app_name)
    }

    fn instance(&self, path: &str, key: &ServiceKey, instance: &Instance) -> Query {
        self.service(path, key)
            .with("clusterName", &instance.cluster)
            .with("ip", &instance.ip)
            .with_plain("port", instance.port)
    }
}

fn request(method: Method, query: Query) -> Request {
    Request { method, target: Arc::from(query.finish()), form: Bytes::new() }
}
