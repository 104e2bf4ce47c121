//! Beats, which the first two generations take and answer alike.

use axum::response::Response;
use nacos_proto::grpc::Instance as WireInstance;
use nacos_proto::param::{self, ParamError};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::reply;
use super::values::Broken;
use crate::context::Context;
use crate::ops::{self, BeatAnswer, OpError, ServiceKey};
use crate::registry::Kind;

/// What is known of the instance.
const KNOWN: i32 = 10_200;
/// The client is to register.
const UNKNOWN: i32 = 20_404;

/// A beat as it stands in a request.
#[derive(Debug)]
pub(super) struct Beat<'a> {
    pub(super) ip: &'a str,
    pub(super) port: u16,
    pub(super) cluster: &'a str,
    /// The JSON of a full beat, blank in a light one.
    pub(super) json: &'a str,
}

/// Why a beat was not taken.
#[derive(Debug)]
pub(super) enum BeatError {
    Unreadable,
    Param(ParamError),
    /// The instance could not be registered as one of this kind.
    Op(OpError, Kind),
}

/// What is said of JSON that cannot be read.
pub(super) const UNREADABLE: &str = "Param 'beat' is illegal, it should be the JSON of a beat";

/// Takes a beat; the answer has no envelope in either generation.
pub(super) fn take(context: &Context, key: &ServiceKey, beat: &Beat<'_>) -> Result<Response, BeatError> {
    let full = described(beat).map_err(|Broken| BeatError::Unreadable)?;
    let Some((kind, instance)) = full else {
        return ops::beat(context, key, (beat.ip, beat.port), None)
            .map(answered)
            .map_err(|error| BeatError::Op(error, Kind::Ephemeral));
    };
    param::required("ip", instance.ip.as_deref().unwrap_or_default()).map_err(BeatError::Param)?;
    let checked = param::instance(&instance, context.settings.max_metadata);
    checked.and_then(|()| param::weight(instance.weight)).map_err(BeatError::Param)?;
    // Checked to be 0…65535.
    let (ip, port) = (instance.ip.clone().unwrap_or_default(), u16::try_from(instance.port).unwrap_or_default());
    let taken = ops::beat(context, key, (&ip, port), Some((kind, instance)));
    taken.map(answered).map_err(|error| BeatError::Op(error, kind))
}

/// The instance that a full beat describes; `None` for a light beat. What the JSON says counts before what the request says.
fn described(beat: &Beat<'_>) -> Result<Option<(Kind, WireInstance)>, Broken> {
    if beat.json.trim().is_empty() {
        return Ok(None);
    }
    let mut said: Map<String, Value> = serde_json::from_str(beat.json).map_err(|_| Broken)?;
    let mut take = |key: &str| said.remove(key).filter(|value| !value.is_null());
    // Everything else that clients write is of no interest: the period, the load, and the service, which the request names.
    let wire: Map<String, Value> = [
        ("ip", take("ip")),
        ("port", take("port").or_else(|| Some(beat.port.into()))),
        ("metadata", take("metadata")),
        ("ephemeral", take("ephemeral")),
        ("clusterName", take("cluster")),
        // Unlike in a registration, no weight is none.
        ("weight", take("weight").or_else(|| Some(0.into()))),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key.to_owned(), value?)))
    .collect();
    let mut instance = WireInstance::deserialize(Value::Object(wire)).map_err(|_| Broken)?;
    let filled = |said: Option<String>, asked: &str| {
        Some(said.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| asked.to_owned()))
    };
    instance.ip = filled(instance.ip, beat.ip);
    instance.cluster_name = filled(instance.cluster_name, beat.cluster);
    let kind = if instance.ephemeral { Kind::Ephemeral } else { Kind::Persistent };
    Ok(Some((kind, instance)))
}

fn answered(BeatAnswer { known, interval, light }: BeatAnswer) -> Response {
    let code = if known { KNOWN } else { UNKNOWN };
    let body = format!(r#"{{"clientBeatInterval":{interval},"code":{code},"lightBeatEnabled":{light}}}"#);
    reply::json(body.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Option<(Kind, WireInstance)>, Broken> {
        described(&Beat { ip: "10.6.9.9", port: 1, cluster: "q", json })
    }

    #[test]
    fn what_clients_write_is_read() {
        let java = r#"{"port":8080,"ip":"10.6.0.1","weight":2.0,"serviceName":"DEFAULT_GROUP@@bt","cluster":"c1",
            "metadata":{"zone":"a","n":1},"scheduled":false,"period":5000,"stopped":false}"#;
        let (kind, one) = read(java).expect("JSON").expect("a full beat");
        assert_eq!((kind, one.ip.as_deref(), one.port, one.weight), (Kind::Ephemeral, Some("10.6.0.1"), 8080, 2.0));
        assert_eq!((one.cluster_name.as_deref(), one.service_name), (Some("c1"), None));
        let metadata = ["zone", "n"].map(|key| one.metadata.get(key).map(String::as_str));
        assert_eq!(metadata, [Some("a"), Some("1")]);
        assert!(one.healthy && one.enabled);
    }

    #[test]
    fn what_is_missing_is_what_it_is_on_real_servers() {
        let text = r#"{"ip":"10.6.0.1","port":"80","metadata":null,"x":{"y":1}}"#;
        let (kind, one) = read(text).expect("JSON").expect("a full beat");
        assert_eq!((kind, one.port, one.weight, one.cluster_name.as_deref()), (Kind::Ephemeral, 80, 0.0, Some("q")));
        assert!(one.metadata.is_empty());
        let (kind, one) = read(r#"{"ephemeral":false}"#).expect("JSON").expect("a full beat");
        assert_eq!((kind, one.ip.as_deref(), one.port), (Kind::Persistent, Some("10.6.9.9"), 1));
        assert_eq!(read(" "), Ok(None));
        for text in
            ["{\"ip\":", "hello", "[]", "7", r#"{"port":{}}"#, r#"{"port":80000000000}"#, r#"{"weight":"much"}"#]
        {
            assert_eq!(read(text), Err(Broken), "{text}");
        }
    }
}
