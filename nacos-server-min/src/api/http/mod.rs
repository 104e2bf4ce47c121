//! The HTTP port: registration, deregistration and list of the v1 API, and what operators and probes ask.

mod console;
mod instance;
mod params;
mod reply;
mod service;

pub(crate) use service::{HttpService, http_service};
