use std::collections::BTreeMap;
use std::future::{Ready, ready};

use axum::extract::{self, FromRequest, State};
use axum::http::Request;
use axum::response::Response;
use nacos_proto::param;

use crate::api::http::caller::Caller;
use crate::api::http::params::{Params, asked_path};
use crate::api::http::reply::{self, Refusal, filtered};
use crate::api::http::service::Shared;
use crate::api::http::{DEFAULT_GROUP, DEFAULT_NAMESPACE, values};
use crate::context::Context;
use crate::ops::{InstanceKey, ServiceKey};
use crate::registry::DEFAULT_CLUSTER;

/// What a handler comes to.
pub(super) type Outcome = Result<Response, Refusal>;

/// A handler without its wrapping.
pub(super) type Act = fn(&Context, &Asked) -> Outcome;

pub(super) fn run(act: Act) -> impl FnOnce(State<Shared>, Asked) -> Ready<Response> + Clone + Send + Sync + 'static {
    move |State(context), asked| ready(reply::settle(act(&context, &asked)))
}

const MALFORMED: &str = "Param 'serviceName' is illegal, it should be format as 'groupName@@serviceName'";

pub(super) fn refuse(text: impl Into<String>) -> Refusal {
    Box::new(reply::text(400, text))
}

pub(super) fn ok() -> Outcome {
    Ok(reply::text(200, "ok"))
}

pub(super) fn not_a_number(text: &str) -> Refusal {
    refuse(format!("For input string: \"{text}\""))
}

/// A request of this API: its parameters, and the path that error pages name.
#[derive(Debug)]
pub(super) struct Asked {
    params: Params,
    pub(super) path: String,
    pub(super) caller: Caller,
}

impl<S: Sync> FromRequest<S> for Asked {
    type Rejection = Response;

    async fn from_request(request: extract::Request, state: &S) -> Result<Self, Response> {
        let path = asked_path(request.extensions(), request.uri()).to_owned();
        let caller = Caller::of(&request);
        Ok(Self { params: Params::from_request(request, state).await?, path, caller })
    }
}

impl Asked {
    /// What a request asks that has no body and whose path nothing has changed.
    pub(super) fn without_body<B>(request: &Request<B>) -> Self {
        let uri = request.uri();
        let params = Params::of_query(uri.query().unwrap_or_default());
        Self { params, path: uri.path().to_owned(), caller: Caller::of(request) }
    }

    /// The value of that name; blank counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.params.get(name)
    }

    /// As [`Asked::get`]; absent is refused.
    pub(super) fn required(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| refuse(format!("Param '{name}' is required.")))
    }

    /// As [`Asked::required`], in the words of those handlers that take blank for a value.
    pub(super) fn present(&self, name: &str) -> Result<&str, Refusal> {
        self.params.raw(name).ok_or_else(|| refuse(format!("Parameter '{name}' is missing")))
    }

    /// The first of the names that has a value: true for a few words, false for everything else.
    pub(super) fn boolean(&self, names: &[&str]) -> Option<bool> {
        names.iter().find_map(|name| self.get(name)).map(is_true)
    }

    /// True for the word `true` alone.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|text| text.trim().eq_ignore_ascii_case("true"))
    }

    pub(super) fn integer(&self, name: &str) -> Result<Option<i32>, Refusal> {
        self.get(name).map(|text| text.trim().parse().map_err(|_| not_a_number(text))).transpose()
    }

    pub(super) fn double(&self, name: &str) -> Result<Option<f64>, Refusal> {
        self.get(name).map(|text| values::double(text).ok_or_else(|| not_a_number(text))).transpose()
    }

    pub(super) fn namespace(&self) -> Result<&str, Refusal> {
        let namespace = self.get("namespaceId").unwrap_or(DEFAULT_NAMESPACE);
        param::namespace(namespace).map_err(|error| filtered(&error))?;
        Ok(namespace.trim())
    }

    pub(super) fn group(&self) -> Result<&str, Refusal> {
        let group = self.get("groupName").unwrap_or(DEFAULT_GROUP);
        param::group(group).map_err(|error| filtered(&error))?;
        Ok(group.trim())
    }

    /// Namespace, group and bare name, whether the caller joined the latter two or not.
    pub(super) fn service(&self) -> Result<ServiceKey, Refusal> {
        match self.params.raw("serviceName") {
            None | Some("") => Err(refuse("Param 'serviceName' is required.")),
            Some(text) => self.named(text.trim()),
        }
    }

    /// As [`Asked::service`], in the words of those handlers that take blank for a value.
    pub(super) fn service_present(&self) -> Result<ServiceKey, Refusal> {
        self.named(self.present("serviceName")?.trim())
    }

    fn named(&self, full: &str) -> Result<ServiceKey, Refusal> {
        if full.is_empty() {
            return Err(refuse(MALFORMED));
        }
        let (group, name) = match full.split_once("@@") {
            Some((_, "")) => return Err(self.misnamed(MALFORMED)),
            Some(("", _)) => return Err(self.misnamed("Param 'serviceName' is illegal, groupName can't be empty")),
            Some(parts) => parts,
            None => (self.get("groupName").unwrap_or(DEFAULT_GROUP), full),
        };
        let namespace = self.namespace()?;
        param::service(name).and_then(|()| param::group(group)).map_err(|error| filtered(&error))?;
        Ok(ServiceKey { namespace: namespace.to_owned(), group: group.trim().to_owned(), name: name.to_owned() })
    }

    /// The filter that joins group and name speaks first, and in its own way.
    fn misnamed(&self, text: &str) -> Refusal {
        let message = format!("Service name filter error,caused: {text};");
        Box::new(reply::error_page(400, "Bad Request", &message, &self.path))
    }

    /// A key that names the whole service: `namespace##group@@name` or `group@@name`.
    pub(super) fn service_in(&self, key: &str) -> Result<ServiceKey, Refusal> {
        let (namespace, grouped) = key.trim().split_once("##").unwrap_or_else(|| (DEFAULT_NAMESPACE, key.trim()));
        let (group, name) = grouped.split_once("@@").ok_or_else(|| refuse(MALFORMED))?;
        Ok(ServiceKey { namespace: namespace.to_owned(), group: group.to_owned(), name: name.to_owned() })
    }

    /// Address and port, both required and both as the filter wants them.
    pub(super) fn address(&self) -> Result<(&str, u16), Refusal> {
        self.required("ip")?;
        self.required("port")?;
        self.optional_address()
    }

    /// As [`Asked::address`]; what is absent is blank or 0.
    pub(super) fn optional_address(&self) -> Result<(&str, u16), Refusal> {
        let ip = self.get("ip").unwrap_or_default();
        let port = self.get("port").map_or(0, |port| port.parse::<i32>().unwrap_or(-1));
        param::ip(ip).and_then(|()| param::port(port)).map_err(|error| filtered(&error))?;
        // Checked to be 0…65535.
        Ok((ip, u16::try_from(port).unwrap_or_default()))
    }

    /// The cluster by the first of these names that has a value, or the default one.
    pub(super) fn cluster(&self, names: &[&str]) -> Result<&str, Refusal> {
        let cluster = names.iter().find_map(|name| self.get(name)).unwrap_or(DEFAULT_CLUSTER);
        param::cluster(cluster).map_err(|error| filtered(&error))?;
        Ok(cluster)
    }

    /// The instance by address and cluster.
    pub(super) fn instance(&self, cluster_names: &[&str]) -> Result<InstanceKey, Refusal> {
        let (ip, port) = self.address()?;
        Ok(InstanceKey::new(ip, port, self.cluster(cluster_names)?))
    }

    /// The metadata, read and checked; empty when absent.
    pub(super) fn metadata(&self, context: &Context) -> Result<BTreeMap<String, String>, Refusal> {
        let read = values::metadata(self.get("metadata").unwrap_or_default());
        let metadata = read.map_err(|error| refuse(format!("Param 'metadata' is illegal, {error}")))?;
        param::metadata(&metadata, context.settings.max_metadata).map_err(|error| filtered(&error))?;
        Ok(metadata)
    }
}

pub(super) fn is_true(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "true" | "on" | "yes" | "y" | "t")
}
