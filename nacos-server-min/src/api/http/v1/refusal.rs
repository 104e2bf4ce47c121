use super::asked::refuse;
use crate::api::http::reply::{self, Refusal};
use crate::ops::{OpError, ServiceKey};
use crate::registry::Kind;

/// What this API says about what was not done, where all its handlers say the same.
pub(super) fn of(error: &OpError, service: &ServiceKey, kind: Kind) -> Refusal {
    let grouped = service.grouped();
    match error {
        OpError::Param(error) => refuse(error.to_string()),
        OpError::IdGenerator => Box::new(reply::text(500, "caused: The InstanceIdGenerator type is not found ;")),
        OpError::OtherKind(present) => refuse(format!(
            "errCode: 400, errMsg: Current service {grouped} is {present} service, can't register {kind} instance. "
        )),
        OpError::TooMany(what) => Box::new(reply::text(503, format!("too many {what}"))),
        OpError::Closing => Box::new(reply::text(500, "the instance is being removed")),
        OpError::ServiceNotFound => refuse(format!("service {grouped} not found!")),
        OpError::ServiceExists => refuse(format!("specified service {grouped} already exists!")),
        OpError::ServiceNotEmpty => {
            refuse(format!("Service {grouped} is not empty, can't be delete. Please unregister instance first"))
        }
        OpError::ClusterNotFound => Box::new(reply::text(404, "cluster is not found!")),
        OpError::InstanceNotFound => Box::new(reply::text(404, "no matched ip found!")),
        OpError::CheckerWorking => refuse(format!("health check is still working, service: {grouped}")),
    }
}
