//! The HTTP port.
//!
//! ```text
//!   beats without a body ──▶ v1::beat, at once; everything else:
//!
//!   negotiate ── count, gate ──▶ v1      texts and bare JSON            ─┐
//!   (types)                      modern  v2 and v3, in an envelope      ─┼──▶ ops ──▶ registry
//!                                console, namespaces, node, loader      ─┘
//! ```
//!
//! `params` reads parameters wherever they stand, `values` reads those with a language of their own, `reply` writes answers.

mod api_error;
mod beat;
mod caller;
mod console;
mod loader;
mod login;
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
