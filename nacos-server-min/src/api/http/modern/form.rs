use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::response::Response;
use nacos_proto::grpc::Instance as WireInstance;
use nacos_proto::param::{self, ParamError};

use crate::api::http::api_error::{ApiError, mistyped};
use crate::api::http::caller::Caller;
use crate::api::http::params::{Params, asked_path};
use crate::api::http::reply::{self, Refusal};
use crate::api::http::{DEFAULT_GROUP, DEFAULT_NAMESPACE, values};
use crate::context::Context;
use crate::ops::{InstanceKey, ServiceKey};
use crate::registry::{DEFAULT_CLUSTER, Kind, Page};

const SEPARATOR: &str = "@@";
/// What the real server says where it wants group and name in one.
const NOT_GROUPED: &str = "Param 'serviceName' is illegal, it should be format as 'groupName@@serviceName'";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    V2,
    V3,
}

/// The parameters of a request, after the filter that all of them pass, with their types.
#[derive(Debug)]
pub(super) struct Form {
    params: Params,
    pub(super) caller: Caller,
    pub(super) generation: Generation,
    pub(super) metadata: BTreeMap<String, String>,
}

impl FromRequest<Arc<Context>> for Form {
    type Rejection = Response;

    async fn from_request(request: Request, context: &Arc<Context>) -> Result<Self, Response> {
        let path = asked_path(request.extensions(), request.uri()).to_owned();
        let caller = Caller::of(&request);
        let params = Params::from_request(request, context).await?;
        let metadata = values::metadata(params.get("metadata").unwrap_or_default()).map_err(|text| {
            let refusal = ApiError::ParameterInvalid.refuse(400, &format!("Param 'metadata' is illegal, {text}"));
            *refusal
        })?;
        filter(&params).and_then(|()| param::metadata(&metadata, context.settings.max_metadata)).map_err(|error| {
            let response = reply::filtered(&error);
            *response
        })?;
        let generation = if path.contains("/v3/") { Generation::V3 } else { Generation::V2 };
        Ok(Self { params, caller, generation, metadata })
    }
}

/// The rules of the parameter filter, in its order. It looks at the texts as they were sent.
fn filter(params: &Params) -> Result<(), ParamError> {
    let text = |name: &str| params.get(name).unwrap_or_default();
    let full = text("serviceName").trim();
    let (group, service) = full.split_once(SEPARATOR).unwrap_or_else(|| (text("groupName"), full));
    param::namespace(text("namespaceId"))?;
    param::service(service)?;
    param::group(group)?;
    param::clusters(params.get("clusterName").or_else(|| params.get("cluster")).unwrap_or_default())?;
    param::ip(text("ip"))?;
    params.get("port").map_or(Ok(()), |port| param::port(port.parse().unwrap_or(-1)))
}

impl Form {
    /// The trimmed value; blank counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(str::trim)
    }

    /// A parameter of a form.
    pub(super) fn required(&self, name: &str, kind: &str) -> Result<&str, Refusal> {
        let text = || format!("Required parameter '{name}' type {kind} is not present");
        self.get(name).ok_or_else(|| ApiError::ParameterMissing.refuse(400, &text()))
    }

    /// A parameter that the second generation's framework asks for by itself, in its own words.
    pub(super) fn asked(&self, name: &str, kind: &str) -> Result<&str, Refusal> {
        if self.generation == Generation::V3 {
            return self.required(name, kind);
        }
        let text = || format!("Required request parameter '{name}' for method parameter type {kind} is not present");
        self.get(name).ok_or_else(|| ApiError::ParameterMissing.refuse(400, &text()))
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "yes" | "1" => Ok(Some(true)),
            "false" | "off" | "no" | "0" => Ok(Some(false)),
            _ => Err(mistyped(name, text, "Boolean")),
        }
    }

    pub(super) fn integer(&self, name: &str) -> Result<Option<i32>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| mistyped(name, text, "Integer"))
    }

    pub(super) fn double(&self, name: &str) -> Result<Option<f64>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        values::double(text).map(Some).ok_or_else(|| mistyped(name, text, "Double"))
    }

    /// The page asked for; a negative size is one too many.
    pub(super) fn page(&self, default_size: i32, max_size: i32) -> Result<(Page, i32, i32), Refusal> {
        let number = self.integer("pageNo")?.unwrap_or(1).max(1);
        let size = self.integer("pageSize")?.unwrap_or(default_size).min(max_size);
        let page = Page::new(number, size);
        let page = page.map_err(|_| ApiError::ParameterInvalid.refuse(400, "'pageSize' must not be negative"))?;
        Ok((page, number, size))
    }

    pub(super) fn namespace(&self) -> &str {
        self.get("namespaceId").unwrap_or(DEFAULT_NAMESPACE)
    }

    /// The service that a form names.
    pub(super) fn key(&self) -> Result<ServiceKey, Refusal> {
        self.required("serviceName", "String").map(|name| self.key_of(name))
    }

    /// As [`Form::key`], with the words of [`Form::asked`].
    pub(super) fn asked_key(&self) -> Result<ServiceKey, Refusal> {
        self.asked("serviceName", "String").map(|name| self.key_of(name))
    }

    fn key_of(&self, name: &str) -> ServiceKey {
        let group = self.get("groupName").unwrap_or(DEFAULT_GROUP);
        // Group and name are separate here. Of a name that holds both, the second generation takes the wrong half.
        let name = match self.generation {
            Generation::V2 => name.split(SEPARATOR).next().unwrap_or(name),
            Generation::V3 => name,
        };
        ServiceKey { namespace: self.namespace().to_owned(), group: group.to_owned(), name: name.to_owned() }
    }

    /// The service of a call that takes group and name in one.
    pub(super) fn grouped_key(&self) -> Result<ServiceKey, Refusal> {
        self.grouped_key_of(self.asked("serviceName", "String")?)
    }

    pub(super) fn grouped_key_of(&self, full: &str) -> Result<ServiceKey, Refusal> {
        match full.split_once(SEPARATOR) {
            Some((group, name)) if !group.is_empty() && !name.is_empty() => Ok(ServiceKey {
                namespace: self.namespace().to_owned(),
                group: group.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(ApiError::ParameterInvalid.refuse(400, NOT_GROUPED)),
        }
    }

    /// The cluster that `name` names, or the default one.
    pub(super) fn cluster(&self, name: &str) -> &str {
        self.get(name).unwrap_or(DEFAULT_CLUSTER)
    }

    /// Address and cluster, in a form's words.
    pub(super) fn instance_key(&self) -> Result<InstanceKey, Refusal> {
        let ip = self.required("ip", "String")?;
        Ok(InstanceKey::new(ip, port(self.required("port", "Integer")?), self.cluster("clusterName")))
    }

    /// Address and cluster, in the words of [`Form::asked`].
    pub(super) fn asked_instance_key(&self, cluster: &str) -> Result<InstanceKey, Refusal> {
        let ip = self.asked("ip", "String")?;
        Ok(InstanceKey::new(ip, port(self.asked("port", "Integer")?), self.cluster(cluster)))
    }

    /// Address and port; what is absent is blank or 0.
    pub(super) fn optional_address(&self) -> (&str, u16) {
        (self.get("ip").unwrap_or_default(), self.get("port").map_or(0, port))
    }

    pub(super) fn kind(&self, context: &Context) -> Result<Kind, Refusal> {
        let ephemeral = self.flag("ephemeral")?.unwrap_or_else(|| context.switches().default_instance_ephemeral);
        Ok(if ephemeral { Kind::Ephemeral } else { Kind::Persistent })
    }

    /// The instance that a form describes, its weight checked.
    pub(super) fn instance(&self) -> Result<WireInstance, Refusal> {
        // Values of the wrong type are noticed before missing ones.
        let (healthy, enabled, weight) = (self.flag("healthy")?, self.flag("enabled")?, self.weight()?);
        let ip = self.required("ip", "String")?.to_owned();
        let port = port(self.required("port", "Integer")?);
        param::weight(weight).map_err(|error| ApiError::Weight.refuse(400, &error.to_string()))?;
        Ok(WireInstance {
            ip: Some(ip),
            port: port.into(),
            weight,
            healthy: healthy.unwrap_or(true),
            enabled: enabled.unwrap_or(true),
            cluster_name: Some(self.cluster("clusterName").to_owned()),
            metadata: self.metadata.clone().into(),
            ..WireInstance::default()
        })
    }

    pub(super) fn weight(&self) -> Result<f64, Refusal> {
        Ok(self.double("weight")?.unwrap_or(1.0))
    }
}

/// The filter has seen that it is one.
fn port(text: &str) -> u16 {
    text.parse().unwrap_or_default()
}
