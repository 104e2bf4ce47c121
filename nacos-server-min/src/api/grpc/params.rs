use std::borrow::Cow;

use nacos_proto::code;
use nacos_proto::grpc::{Instance, Response};
use nacos_proto::param::{self, ParamError};

use super::answer::Answer;
use super::dispatch::Caller;
use crate::registry::{KeyRef, WriteError};

/// Namespace of requests that name none.
pub(crate) const DEFAULT_NAMESPACE: &str = "public";
/// With the recorded habits, a subscription without a namespace lives in a place that no other request can reach.
const NULL_NAMESPACE: &str = "\0null";

/// The three names every naming request carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) namespace: Option<&'a str>,
    pub(super) service: Option<&'a str>,
    pub(super) group: Option<&'a str>,
}

impl<'a> Names<'a> {
    pub(super) fn new(namespace: &'a Option<String>, service: &'a Option<String>, group: &'a Option<String>) -> Self {
        Self { namespace: namespace.as_deref(), service: service.as_deref(), group: group.as_deref() }
    }

    /// The part of the parameter filter that all requests share.
    pub(super) fn check(&self) -> Result<(), ParamError> {
        param::namespace(self.namespace.unwrap_or_default())?;
        param::service(self.service.unwrap_or_default())?;
        param::group(self.group.unwrap_or_default())
    }

    pub(super) fn service(&self) -> &'a str {
        self.service.unwrap_or_default()
    }

    pub(super) fn group(&self) -> &'a str {
        self.group.unwrap_or_default()
    }

    /// The namespace meant: none and blank are the default one, except with the recorded habits, where only a text is a
    /// namespace and every text is one of its own.
    pub(super) fn namespace(&self, caller: &Caller<'_>) -> Result<Cow<'a, str>, Answer> {
        let recorded = caller.connection.context.oddities.is_some();
        match self.namespace {
            None if recorded => Err(Answer::error(code::FAIL, "the request has no namespace")),
            Some(text) if recorded || !text.trim().is_empty() => Ok(Cow::Borrowed(text)),
            _ => Ok(Cow::Borrowed(DEFAULT_NAMESPACE)),
        }
    }

    /// As [`Names::namespace`], for the one request that is taken without.
    pub(super) fn subscribed_namespace(&self, caller: &Caller<'_>) -> Cow<'a, str> {
        self.namespace(caller).unwrap_or(Cow::Borrowed(NULL_NAMESPACE))
    }

    /// Service and group must be there.
    pub(super) fn require(&self) -> Result<(), Answer> {
        let required =
            param::required("serviceName", self.service()).and_then(|()| param::required("groupName", self.group()));
        required.map_err(|error| Answer::error(code::FAIL, error.to_string()))
    }

    pub(super) fn key<'b>(&'b self, namespace: &'b str) -> KeyRef<'b> {
        KeyRef { namespace, group: self.group(), name: self.service() }
    }
}

/// A refusal by the parameter filter: in the response type of the request.
pub(super) fn filtered<R: Response>(error: &ParamError) -> Answer {
    // The weight has never been part of the filter, and its text stands alone.
    let message = match error.rule {
        param::Rule::WeightRange => error.to_string(),
        _ => format!("Param check invalid:{error}"),
    };
    Answer::typed(R::TYPE, code::INVALID_PARAM, message)
}

/// What the filter looks at in a single instance; its own service name is not among it.
pub(super) fn check_instance(caller: &Caller<'_>, instance: &Instance) -> Result<(), ParamError> {
    param::ip(instance.ip.as_deref().unwrap_or_default())?;
    param::port(instance.port)?;
    param::cluster(instance.cluster_name.as_deref().unwrap_or_default())?;
    param::metadata(&*instance.metadata, caller.connection.context.settings.max_metadata)?;
    check_weight(caller, instance)
}

/// In a batch each instance's own service name is looked at too.
pub(super) fn check_batched(caller: &Caller<'_>, instance: &Instance) -> Result<(), ParamError> {
    param::instance(instance, caller.connection.context.settings.max_metadata)?;
    check_weight(caller, instance)
}

fn check_weight(caller: &Caller<'_>, instance: &Instance) -> Result<(), ParamError> {
    if caller.connection.context.oddities.is_some() { Ok(()) } else { param::weight(instance.weight) }
}

/// A write that the registry refused. `what` ends the text for a service of the other kind.
pub(super) fn refused(caller: &Caller<'_>, key: KeyRef<'_>, what: &str, error: &WriteError) -> Answer {
    match error {
        WriteError::ClientClosed => no_client(caller),
        WriteError::OtherKind(kind) => {
            let text = format!("Current service {}@@{} is {kind} service, can't {what}.", key.group, key.name);
            Answer::wrapped(code::INVALID_PARAM, &text)
        }
        WriteError::TooMany(what) => Answer::overload(format!("too many {what}")),
    }
}

/// The connection has no naming client.
pub(super) fn no_client(caller: &Caller<'_>) -> Answer {
    let id = &caller.connection.id;
    let text = format!("Client [{id}] connection already disconnect, can't register ephemeral instance.");
    Answer::wrapped(code::CLIENT_DISCONNECT, &text)
}
