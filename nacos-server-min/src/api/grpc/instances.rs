use std::sync::Arc;

use nacos_proto::code;
use nacos_proto::grpc::{
    BATCH_REGISTER, BatchInstanceRequest, BatchInstanceResponse, DEREGISTER, Instance as WireInstance, InstanceRequest,
    InstanceResponse, Message, PersistentInstanceRequest, REGISTER,
};
use nacos_proto::param;

use super::answer::Answer;
use super::dispatch::Caller;
use super::params::{Names, check_batched, check_instance, filtered, no_client, refused};
use crate::instance_id;
use crate::registry::{Instance, KeyRef, Kind, Published, WriteError};

const REGISTER_EPHEMERAL: &str = "register ephemeral instance";
const REGISTER_BATCH: &str = "batch register ephemeral instance";
const REGISTER_PERSISTENT: &str = "register persistent instance";

/// Answer and refusal are of one type; the question mark is for what ends early.
type Outcome = Result<Answer, Answer>;

fn either(outcome: Outcome) -> Answer {
    outcome.unwrap_or_else(|refusal| refusal)
}

/// `InstanceRequest`: the one record of this connection in the service.
pub(super) fn ephemeral(caller: &Caller<'_>, request: InstanceRequest) -> Answer {
    either(ephemeral_outcome(caller, request))
}

fn ephemeral_outcome(caller: &Caller<'_>, request: InstanceRequest) -> Outcome {
    let names = Names::new(&request.namespace, &request.service_name, &request.group_name);
    check_single(caller, &names, request.instance.as_ref())?;
    names.require()?;
    let namespace = names.namespace(caller)?;
    let key = names.key(&namespace);
    match request.kind.as_deref() {
        Some(REGISTER) => register(caller, key, request.instance),
        Some(DEREGISTER) => deregister(caller, key),
        kind => Err(unsupported(kind)),
    }
}

fn register(caller: &Caller<'_>, key: KeyRef<'_>, instance: Option<WireInstance>) -> Outcome {
    let instance = instance.ok_or_else(|| Answer::raised(code::INVALID_PARAM, "Instance can not be null."))?;
    param::beat_times(&instance)
        .and_then(|()| param::registering_cluster(instance.cluster_name.as_deref().unwrap_or_default()))
        .map_err(|error| Answer::raised(code::INVALID_PARAM, error.to_string()))?;
    let published = Published::One(Arc::new(stored(caller, key, instance)));
    publish(caller, key, published, REGISTER_EPHEMERAL).map(|()| Answer::registered())
}

fn deregister(caller: &Caller<'_>, key: KeyRef<'_>) -> Outcome {
    let context = &caller.connection.context;
    if context.registry.find(key).is_some() {
        let client = caller.registration.client.as_ref().ok_or_else(|| no_client(caller))?;
        // Nothing published is a success too.
        context.registry.withdraw(client, key, context.clock.seconds());
    }
    Ok(Answer::deregistered())
}

/// `BatchInstanceRequest`: replaces the connection's record by a whole set.
pub(super) fn batch(caller: &Caller<'_>, request: BatchInstanceRequest) -> Answer {
    either(batch_outcome(caller, request))
}

fn batch_outcome(caller: &Caller<'_>, request: BatchInstanceRequest) -> Outcome {
    let names = Names::new(&request.namespace, &request.service_name, &request.group_name);
    names.check().map_err(|error| filtered::<BatchInstanceResponse>(&error))?;
    for instance in request.instances.iter().flatten() {
        let Some(instance) = instance else {
            let text = "Param check invalid:an item of instances is null";
            return Err(Answer::typed(BatchInstanceResponse::TYPE, code::INVALID_PARAM, text));
        };
        check_batched(caller, instance).map_err(|error| filtered::<BatchInstanceResponse>(&error))?;
    }
    names.require()?;
    let namespace = names.namespace(caller)?;
    let key = names.key(&namespace);
    let kind = request.kind.as_deref();
    if kind != Some(BATCH_REGISTER) {
        return Err(unsupported(kind));
    }
    let instances = request.instances.ok_or_else(|| Answer::error(code::FAIL, "the list of instances is null"))?;
    let stored = instances.into_iter().flatten().map(|instance| Arc::new(stored(caller, key, instance)));
    publish(caller, key, Published::Many(stored.collect()), REGISTER_BATCH).map(|()| Answer::batch_registered())
}

fn publish(caller: &Caller<'_>, key: KeyRef<'_>, published: Published, what: &str) -> Result<(), Answer> {
    let registry = &caller.connection.context.registry;
    let result = match &caller.registration.client {
        Some(client) => registry.publish(client, key, Kind::Ephemeral, published),
        // The kind is looked at first.
        None => match registry.find(key).and_then(|service| service.kind()) {
            Some(Kind::Persistent) => Err(WriteError::OtherKind(Kind::Persistent)),
            _ => Err(WriteError::ClientClosed),
        },
    };
    result.map_err(|error| refused(caller, key, what, &error))
}

/// `PersistentInstanceRequest`: belongs to no connection; one record per address.
pub(super) fn persistent(caller: &Caller<'_>, request: PersistentInstanceRequest) -> Answer {
    either(persistent_outcome(caller, request))
}

fn persistent_outcome(caller: &Caller<'_>, request: PersistentInstanceRequest) -> Outcome {
    let names = Names::new(&request.namespace, &request.service_name, &request.group_name);
    check_single(caller, &names, request.instance.as_ref())?;
    names.require()?;
    let namespace = names.namespace(caller)?;
    let key = names.key(&namespace);
    let kind = request.kind.as_deref();
    if !matches!(kind, Some(REGISTER | DEREGISTER)) {
        return Err(unsupported(kind));
    }
    let instance = request.instance.ok_or_else(|| Answer::error(code::FAIL, "the instance is null"))?;
    let context = &caller.connection.context;
    if kind == Some(DEREGISTER) {
        let port = u16::try_from(instance.port).unwrap_or_default();
        let ip = instance.ip.as_deref();
        context.registry.withdraw_internal(key, Kind::Persistent, ip, port, context.clock.seconds());
        return Ok(Answer::deregistered());
    }
    context.note_memory_only_persistence();
    context
        .registry
        .publish_internal(key, Kind::Persistent, stored(caller, key, instance))
        .map(|_| Answer::registered())
        .map_err(|error| refused(caller, key, REGISTER_PERSISTENT, &error))
}

/// The parameter filter for a request with at most one instance.
fn check_single(caller: &Caller<'_>, names: &Names<'_>, instance: Option<&WireInstance>) -> Result<(), Answer> {
    names
        .check()
        .and_then(|()| instance.map_or(Ok(()), |instance| check_instance(caller, instance)))
        .map_err(|error| filtered::<InstanceResponse>(&error))
}

fn stored(caller: &Caller<'_>, key: KeyRef<'_>, instance: WireInstance) -> Instance {
    let context = &caller.connection.context;
    let id = instance_id::of(&instance, key, || context.snowflake());
    Instance::from_wire(&context.registry.names, instance, id)
}

fn unsupported(kind: Option<&str>) -> Answer {
    match kind {
        Some(kind) => Answer::raised(code::INVALID_PARAM, format!("Unsupported request type {kind}")),
        None => Answer::error(code::FAIL, "the request has no type"),
    }
}
