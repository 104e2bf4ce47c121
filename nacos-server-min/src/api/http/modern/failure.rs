use crate::api::http::api_error::ApiError;
use crate::api::http::reply::Refusal;
use crate::ops::{OpError, ServiceKey};
use crate::registry::Kind;

/// What is said about an operation that was not done, as far as that does not depend on which one it was.
pub(super) fn failure(key: &ServiceKey, error: &OpError) -> Refusal {
    let service = key.grouped();
    match error {
        OpError::Param(error) => ApiError::Instance.refuse(400, &error.to_string()),
        OpError::IdGenerator => ApiError::Server.refuse(500, "The InstanceIdGenerator type is not found "),
        OpError::OtherKind(present) => ApiError::Server.refuse(400, &other_kind(&service, *present)),
        OpError::TooMany(what) => ApiError::Server.refuse(503, &format!("too many {what}")),
        OpError::Closing => ApiError::Server.refuse(500, "the instance is being removed"),
        OpError::ServiceNotFound => ApiError::ServiceMissing.refuse(400, &format!("service {service} not found!")),
        OpError::ServiceExists => {
            ApiError::ServiceExists.refuse(400, &format!("specified service {service} already exists!"))
        }
        OpError::ServiceNotEmpty => ApiError::ServiceDelete
            .refuse(400, &format!("Service {service} is not empty, can't be delete. Please unregister instance first")),
        OpError::ClusterNotFound | OpError::InstanceNotFound => ApiError::NotFound.refuse(404, "no matched ip found!"),
        OpError::CheckerWorking => {
            ApiError::Server.refuse(400, &format!("health check is still working, service: {service}"))
        }
    }
}

fn other_kind(service: &str, present: Kind) -> String {
    let wanted = match present {
        Kind::Ephemeral => Kind::Persistent,
        Kind::Persistent => Kind::Ephemeral,
    };
    format!("errCode: 400, errMsg: Current service {service} is {present} service, can't register {wanted} instance. ")
}

/// What is said about one instance that is not there.
pub(super) fn no_instance(key: &ServiceKey, cluster: &str, error: &OpError) -> Refusal {
    let text = match error {
        OpError::ServiceNotFound => format!("no ips found for cluster {cluster} in service {}", key.grouped()),
        OpError::InstanceNotFound => "no matched ip found!".to_owned(),
        other => return failure(key, other),
    };
    ApiError::NotFound.refuse(404, &text)
}

/// What is said about an instance whose service is not there.
pub(super) fn no_service(key: &ServiceKey, kind: Kind, error: &OpError) -> Refusal {
    let OpError::ServiceNotFound = error else { return failure(key, error) };
    let ServiceKey { namespace, group, name } = key;
    let ephemeral = kind == Kind::Ephemeral;
    let text = format!(
        "service not found, namespace: {namespace}, service: Service{{namespace='{namespace}', group='{group}', \
         name='{name}', ephemeral={ephemeral}, revision=0}}"
    );
    ApiError::Instance.refuse(400, &text)
}
