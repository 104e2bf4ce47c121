use std::sync::Arc;
use std::time::Duration;

use nacos_proto::grpc::{
    BatchInstanceRequest, HealthCheckRequest, InstanceRequest, Message, PersistentInstanceRequest, ServerCheckRequest,
    ServerCheckResponse, ServiceListRequest, ServiceQueryRequest, SubscribeServiceRequest,
};
use nacos_proto::{DecodeError, Payload, code};

use super::answer::{Answer, response_type};
use super::{instances, lists};
use crate::auth::{Denial, Pass};
use crate::conn::{Connection, Registration};
use crate::fault::Injected;

/// How long a request waits for the set-up it overtook.
const SETUP_WAIT: Duration = Duration::from_millis(200);
/// An overload answer is held back for so long, which slows the client down.
const OVERLOAD_DELAY: Duration = Duration::from_secs(1);

/// Who asks.
pub(super) struct Caller<'a> {
    pub(super) connection: &'a Arc<Connection>,
    pub(super) registration: Arc<Registration>,
}

/// Answers a unary request, with the checks in the order real servers have them: wrong port, starting, server check, unknown
/// type, unknown connection, unreadable body, and only then what the handler says.
pub(super) async fn answer(connection: &Arc<Connection>, payload: &Payload) -> Answer {
    let fault = &connection.context.fault;
    if !fault.armed() {
        return dispatch(connection, payload).await;
    }
    let (delay, injected) = fault.verdict(payload);
    let answer = match injected {
        None => dispatch(connection, payload).await,
        Some(Injected::Silence) => {
            connection.close.cancelled().await;
            Answer::unregistered()
        }
        Some(Injected::Crash) => panic!("a fault asked for it"),
        Some(Injected::Error { result_code, error_code, message }) if result_code == error_code => {
            Answer::raised(error_code, message)
        }
        Some(Injected::Error { error_code, message, .. }) => Answer::error(error_code, message),
        Some(Injected::Typed { error_code, message }) => {
            Answer::typed(&response_type(payload.kind()), error_code, message)
        }
    };
    if !delay.is_zero() {
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = connection.close.cancelled() => {}
        }
    }
    answer
}

async fn dispatch(connection: &Arc<Connection>, payload: &Payload) -> Answer {
    let kind = payload.kind();
    if is_cluster_only(kind) {
        return Answer::error(code::BAD_GATEWAY, format!(" invoke {kind} from sdk is forbidden"));
    }
    if !connection.context.ready() {
        return Answer::error(code::INVALID_SERVER_STATUS, "Server is starting,please try later.");
    }
    // The body is not even looked at.
    if kind == ServerCheckRequest::TYPE {
        return Answer::of(&ServerCheckResponse {
            connection_id: connection.id.to_string(),
            support_ability_negotiation: true,
            ..ServerCheckResponse::default()
        });
    }
    let Some(handler) = Handler::of(kind) else { return Answer::no_handler() };
    let Some(registration) = registration(connection).await else { return Answer::unregistered() };
    if handler != Handler::Health
        && let Err(denial) = admit(connection, payload)
    {
        connection.context.counters.denials.add();
        return Answer::typed(&response_type(kind), code::NO_RIGHT, denial.text());
    }
    let answer = handler.run(&Caller { connection, registration }, payload);
    if answer.overload {
        tokio::time::sleep(OVERLOAD_DELAY).await;
    }
    answer
}

/// Whether the request is one of a user, where not everybody is let in.
fn admit(connection: &Connection, payload: &Payload) -> Result<(), Denial> {
    let Some(guard) = connection.context.guard.as_ref() else { return Ok(()) };
    let header =
        |name: &str| payload.metadata.as_ref().and_then(|metadata| metadata.headers.get(name)).map(String::as_str);
    guard.admit(Pass::of(header("Authorization"), header))
}

fn is_cluster_only(kind: &str) -> bool {
    matches!(
        kind,
        "DistroDataRequest"
            | "MemberReportRequest"
            | "ServerLoaderInfoRequest"
            | "ServerReloadRequest"
            | "ConfigChangeClusterSyncRequest"
    )
}

/// The connection's registration. A request may overtake the set-up that is already on its way; it waits for that.
async fn registration(connection: &Connection) -> Option<Arc<Registration>> {
    if let Some(known) = connection.registration() {
        return Some(known);
    }
    if connection.setup_gate.is_undecided() {
        // Whether the wait ended or was given up, what counts is whether the connection is known now.
        drop(tokio::time::timeout(SETUP_WAIT, connection.setup_gate.wait()).await);
    }
    connection.registration()
}

/// The requests that this server handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handler {
    Health,
    Instance,
    Persistent,
    Batch,
    Query,
    List,
    Subscribe,
}

impl Handler {
    fn of(kind: &str) -> Option<Self> {
        Some(match kind {
            HealthCheckRequest::TYPE => Self::Health,
            InstanceRequest::TYPE => Self::Instance,
            PersistentInstanceRequest::TYPE => Self::Persistent,
            BatchInstanceRequest::TYPE => Self::Batch,
            ServiceQueryRequest::TYPE => Self::Query,
            ServiceListRequest::TYPE => Self::List,
            SubscribeServiceRequest::TYPE => Self::Subscribe,
            _ => return None,
        })
    }

    fn run(self, caller: &Caller<'_>, payload: &Payload) -> Answer {
        match self {
            Self::Health => read(caller, payload, |_, _: HealthCheckRequest| Answer::healthy()),
            Self::Instance => read(caller, payload, instances::ephemeral),
            Self::Persistent => read(caller, payload, instances::persistent),
            Self::Batch => read(caller, payload, instances::batch),
            Self::Query => read(caller, payload, lists::query),
            Self::List => read(caller, payload, lists::page),
            Self::Subscribe => read(caller, payload, lists::subscribe),
        }
    }
}

/// Reads the body and hands it to the handler; only a body that could be read is a sign of life.
fn read<M: Message>(caller: &Caller<'_>, payload: &Payload, handle: impl FnOnce(&Caller<'_>, M) -> Answer) -> Answer {
    match payload.decode_request::<M>() {
        Ok(request) => {
            caller.connection.touch();
            handle(caller, request)
        }
        Err(DecodeError::Null) => Answer::error(code::BAD_GATEWAY, "Invalid request"),
        Err(_) => Answer::error(code::BAD_GATEWAY, "errCode: 101, errMsg: Nacos deserialize failed.  "),
    }
}
