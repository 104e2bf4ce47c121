//! Calls as messages, and answers as replies.

use std::sync::Arc;

use nacos_proto::{
    Payload, ResponseError, code,
    grpc::{
        BATCH_REGISTER, BatchInstanceRequest, BatchInstanceResponse, DEREGISTER, Instance as WireInstance,
        InstanceRequest, InstanceResponse, PersistentInstanceRequest, QueryServiceResponse, REGISTER, Response,
        ServiceListRequest, ServiceListResponse, ServiceQueryRequest, SubscribeServiceRequest,
        SubscribeServiceResponse,
    },
};

use crate::{
    model::{Instance, ServiceKey},
    transport::{Call, CallError, Refusal, RefusalShape, Reply},
};

/// First servers that know batches and persistent instances over gRPC.
const BATCH_SINCE: &str = "2.1.1";
pub(super) const PERSISTENT_SINCE: &str = "2.3.0";
const NAMING_SINCE: &str = "2.0.0";

/// The message for `call` in `namespace`.
pub(super) fn encode(call: &Call, namespace: &str) -> Payload {
    let namespace = || Some(namespace.to_owned());
    let name = |key: &ServiceKey| Some(key.name().to_owned());
    let group = |key: &ServiceKey| Some(key.group().to_owned());
    let single = |key, instance: &Arc<Instance>, kind: &str| InstanceRequest {
        namespace: namespace(),
        service_name: name(key),
        group_name: group(key),
        kind: Some(kind.to_owned()),
        instance: Some(wire(instance)),
    };
    let persistent = |key, instance: &Arc<Instance>, kind: &str| PersistentInstanceRequest {
        namespace: namespace(),
        service_name: name(key),
        group_name: group(key),
        kind: Some(kind.to_owned()),
        instance: Some(wire(instance)),
    };
    let subscription = |key, subscribe| SubscribeServiceRequest {
        namespace: namespace(),
        service_name: name(key),
        group_name: group(key),
        subscribe,
        // Always the whole service: clusters are a view on it, and a second filter would replace the first.
        clusters: Some(String::new()),
    };
    match call {
        Call::Register { key, instance } => Payload::encode_json(&single(key, instance, REGISTER)),
        Call::Deregister { key, instance } => Payload::encode_json(&single(key, instance, DEREGISTER)),
        Call::RegisterBatch { key, instances } => Payload::encode_json(&BatchInstanceRequest {
            namespace: namespace(),
            service_name: name(key),
            group_name: group(key),
            kind: Some(BATCH_REGISTER.to_owned()),
            instances: Some(instances.iter().map(|instance| Some(wire(instance))).collect()),
        }),
        Call::RegisterPersistent { key, instance } => Payload::encode_json(&persistent(key, instance, REGISTER)),
        Call::DeregisterPersistent { key, instance } => Payload::encode_json(&persistent(key, instance, DEREGISTER)),
        Call::Subscribe { key } => Payload::encode_json(&subscription(key, true)),
        Call::Unsubscribe { key } => Payload::encode_json(&subscription(key, false)),
        Call::Query { key } => Payload::encode_json(&ServiceQueryRequest {
            namespace: namespace(),
            service_name: name(key),
            group_name: group(key),
            cluster: Some(String::new()),
            healthy_only: false,
            udp_port: 0,
        }),
        Call::List { group, page, size } => Payload::encode_json(&ServiceListRequest {
            namespace: namespace(),
            service_name: Some(String::new()),
            group_name: Some(group.clone()),
            page_no: saturated(*page),
            page_size: saturated(*size),
            selector: None,
        }),
    }
}

/// The meaning of the answer to `call`.
pub(super) fn decode(call: &Call, answer: &Payload) -> Result<Reply, CallError> {
    match call {
        Call::Register { .. } | Call::Deregister { .. } => done::<InstanceResponse>(answer, NAMING_SINCE),
        Call::RegisterBatch { .. } => done::<BatchInstanceResponse>(answer, BATCH_SINCE),
        Call::RegisterPersistent { .. } | Call::DeregisterPersistent { .. } => {
            done::<InstanceResponse>(answer, PERSISTENT_SINCE)
        }
        Call::Unsubscribe { .. } => done::<SubscribeServiceResponse>(answer, NAMING_SINCE),
        Call::Subscribe { .. } => {
            read::<SubscribeServiceResponse>(answer, NAMING_SINCE).map(|answer| Reply::Service(answer.service_info))
        }
        Call::Query { .. } => {
            read::<QueryServiceResponse>(answer, NAMING_SINCE).map(|answer| Reply::Service(answer.service_info))
        }
        Call::List { .. } => read::<ServiceListResponse>(answer, NAMING_SINCE).map(|answer| Reply::Services {
            count: usize::try_from(answer.count).unwrap_or(0),
            names: answer.service_names,
        }),
    }
}

fn done<M: Response>(answer: &Payload, since: &'static str) -> Result<Reply, CallError> {
    read::<M>(answer, since).map(|_| Reply::Done)
}

fn read<M: Response>(answer: &Payload, since: &'static str) -> Result<M, CallError> {
    answer.decode_response::<M>().map_err(|error| match error {
        ResponseError::Refused(failure) if failure.code() == code::NO_HANDLER && !failure.typed => {
            CallError::Unsupported { needs: since }
        }
        ResponseError::Refused(failure) => CallError::Refused(Refusal {
            code: failure.code(),
            shape: if failure.typed { RefusalShape::Typed } else { RefusalShape::General },
            message: failure.message,
        }),
        other => CallError::Decode(other.to_string()),
    })
}

fn wire(instance: &Instance) -> WireInstance {
    WireInstance {
        instance_id: instance.instance_id.clone(),
        ip: Some(instance.ip.clone()),
        port: i32::from(instance.port),
        weight: instance.weight,
        healthy: instance.healthy,
        enabled: instance.enabled,
        ephemeral: instance.ephemeral,
        cluster_name: Some(instance.cluster.clone()),
        // Servers check it as a bare name and put `group@@name` there themselves.
        service_name: None,
        metadata: instance.metadata.clone().into(),
    }
}

fn saturated(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
