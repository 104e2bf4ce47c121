//! Rules made ready for requests: names parsed, expressions compiled, labels as indices, shares as thresholds. Making them
//! is what checks them, so that what was checked is what is used.

mod compile;
mod condition;
mod cookies;
mod expression;
mod labels;
mod limits;
mod matcher;
mod parts;
mod planned;
mod query;
mod reader;
mod reads;
mod route;
#[expect(clippy::module_inception, reason = "the type that the module is there for")]
mod router;
mod shares;
mod sight;
mod watched_headers;
mod ways;

pub(crate) use route::{Goal, Miss, Route};
pub(crate) use router::Router;
pub(crate) use ways::Ways;
