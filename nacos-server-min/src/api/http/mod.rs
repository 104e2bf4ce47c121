//! The HTTP port: registration, deregistration and list of the v1 API, and what operators and probes ask.

mod api_error;
mod console;
mod loader;
mod modern;
mod multipart;
mod namespaces;
mod negotiate;
mod node;
mod params;
mod reply;
mod service;
mod v1;
mod values;

/// Group of requests that name none.
const DEFAULT_GROUP: &str = "DEFAULT_GROUP";
/// Namespace of requests that name none.
const DEFAULT_NAMESPACE: &str = "public";

pub(crate) use service::{HttpService, http_service};
