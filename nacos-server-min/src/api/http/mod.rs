//! The HTTP port: registration, deregistration and list of the v1 API, and what operators and probes ask.

mod api_error;
mod console;
mod instance;
mod loader;
mod multipart;
mod namespaces;
mod negotiate;
mod node;
mod params;
mod reply;
mod service;

pub(crate) use service::{HttpService, http_service};
