//! What can be asked of the server, as plain functions: every generation of the HTTP API calls them and puts what they say
//! into its own words.
//!
//! Nothing here knows of a status code, a text or a JSON key; nothing here waits.

mod beats;
mod catalog;
mod error;
mod instances;
mod keys;
mod metrics;
mod services;
mod subscribers;
mod switches;

pub(crate) use beats::{BeatAnswer, beat};
pub(crate) use catalog::{ServiceFilter, ServiceSummary, instances_of, services, summary};
pub(crate) use error::OpError;
pub(crate) use instances::{
    IdRule, InstancePatch, MetadataChange, Shown, batch_metadata, deregister, find, list, patch, register, rows,
    set_health, update,
};
pub(crate) use keys::{InstanceKey, ServiceKey};
pub(crate) use metrics::{PushState, metrics, push_state};
pub(crate) use services::{ServiceDetail, create, delete, detail, names, page, set_cluster, set_metadata};
pub(crate) use subscribers::{SubscriberInfo, by_udp, subscribers};
pub(crate) use switches::{ServerStatus, SwitchError, Switches};
