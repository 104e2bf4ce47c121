use ::metrics::Label;
use http::{Method, StatusCode};
use nacos_client::ServiceKey;

use crate::ServiceInstance;

/// Where there is nothing to tell, as in Spring.
pub(super) const UNKNOWN: &str = "UNKNOWN";

pub(super) fn of_service(service: &ServiceKey) -> Vec<Label> {
    // Room for what is added to them at most.
    let mut labels = Vec::with_capacity(9);
    labels.push(Label::new("serviceId", service.name().to_owned()));
    labels.push(Label::new("group", service.group().to_owned()));
    labels
}

pub(super) fn of_instance(instance: &ServiceInstance) -> Vec<Label> {
    let mut labels = of_service(instance.service());
    let id = instance.instance_id().unwrap_or(UNKNOWN).to_owned();
    labels.push(Label::new("serviceInstance.instanceId", id));
    labels.push(Label::new("serviceInstance.host", instance.host().to_owned()));
    labels.push(Label::new("serviceInstance.port", instance.port().to_string()));
    labels
}

/// The method, if it is a common one: others may be anything that somebody sent.
pub(super) fn method(method: &Method) -> Label {
    let common = [
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::DELETE,
        Method::PATCH,
        Method::HEAD,
        Method::OPTIONS,
        Method::TRACE,
        Method::CONNECT,
    ];
    let name = if common.contains(method) { method.as_str().to_owned() } else { "OTHER".to_owned() };
    Label::new("method", name)
}

/// The name of a routing rule.
pub(super) fn rule(name: Option<&str>) -> Label {
    name.map_or_else(|| Label::from_static_parts("rule", UNKNOWN), |name| Label::new("rule", name.to_owned()))
}

pub(super) fn status(status: StatusCode) -> Label {
    Label::new("status", status.as_str().to_owned())
}

/// The words of Micrometer's `Outcome`.
pub(super) fn outcome(status: StatusCode) -> Label {
    let word = match status.as_u16() {
        100..=199 => "INFORMATIONAL",
        200..=299 => "SUCCESS",
        300..=399 => "REDIRECTION",
        400..=499 => "CLIENT_ERROR",
        500..=599 => "SERVER_ERROR",
        _ => UNKNOWN,
    };
    Label::from_static_parts("outcome", word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_take_few_values_whatever_is_sent() {
        let invented = Method::from_bytes(b"PURGE-7f3a").unwrap();
        assert_eq!(method(&invented).value(), "OTHER");
        assert_eq!(method(&Method::PATCH).value(), "PATCH");
        for (code, word) in [(101, "INFORMATIONAL"), (204, "SUCCESS"), (304, "REDIRECTION"), (429, "CLIENT_ERROR")] {
            assert_eq!(outcome(StatusCode::from_u16(code).unwrap()).value(), word);
        }
        assert_eq!(outcome(StatusCode::BAD_GATEWAY).value(), "SERVER_ERROR");
        assert_eq!(outcome(StatusCode::from_u16(999).unwrap()).value(), UNKNOWN);
    }
}
