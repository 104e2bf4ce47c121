//! Somebody who is not the client under test, and asks the server what it holds or changes it.

use std::net::SocketAddr;
use std::sync::Arc;

use nacos_proto::grpc::{
    BATCH_REGISTER, BatchInstanceRequest, BatchInstanceResponse, ClientDetectionRequest, ClientDetectionResponse,
    ConnectionSetupRequest, DEREGISTER, Instance, InstanceRequest, InstanceResponse, Message,
    PersistentInstanceRequest, QueryServiceResponse, REGISTER, Response, ServerCheckRequest, ServerCheckResponse,
    ServiceQueryRequest,
};
use nacos_proto::{Payload, REQUEST_PATH, ResponseError, code};
use nacos_tests::raw::Connection;
use prost::Message as _;

use super::wait::{eventually, in_time};

const STREAM: &str = "witness";

/// A connection of its own to a server, with nothing of the client in it. Dropping it ends the connection and what it registered.
#[derive(Debug)]
pub(crate) struct Witness {
    connection: Connection,
    namespace: String,
    /// The server's id of the connection.
    pub(crate) id: String,
}

impl Witness {
    /// Joins the server whose gRPC port is given.
    pub(crate) async fn join(grpc: SocketAddr) -> Self {
        Self::join_in(grpc, "public").await
    }

    /// Joins, to look into that namespace.
    pub(crate) async fn join_in(grpc: SocketAddr, namespace: &str) -> Self {
        let mut connection =
            eventually("the server listens", async || Connection::open(grpc, Arc::new(live)).await.ok()).await;
        let check: ServerCheckResponse =
            eventually("the server is up", async || call(&connection, &ServerCheckRequest::default()).await.ok()).await;
        connection.open_stream(STREAM).await;
        let setup = ConnectionSetupRequest {
            client_version: Some("Witness".to_owned()),
            tenant: Some(namespace.to_owned()),
            labels: Some([("source", "sdk"), ("module", "naming")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()),
            ability_table: None,
        };
        connection.send(STREAM, &Payload::encode_json(&setup));
        let witness = Self { connection, namespace: namespace.to_owned(), id: check.connection_id };
        witness.ask("nobody", "knows-this-service").await;
        witness
    }

    /// The list of a service, as the server shows it: by ip, port and cluster.
    pub(crate) async fn instances(&self, service: &str) -> Vec<Instance> {
        self.ask("DEFAULT_GROUP", service).await
    }

    /// The same for a service of another group.
    pub(crate) async fn ask(&self, group: &str, service: &str) -> Vec<Instance> {
        let query = ServiceQueryRequest {
            namespace: Some(self.namespace.clone()),
            service_name: Some(service.to_owned()),
            group_name: Some(group.to_owned()),
            cluster: Some(String::new()),
            ..ServiceQueryRequest::default()
        };
        let answer: QueryServiceResponse = eventually("the query is answered", async || {
            match call(&self.connection, &query).await {
                Ok(answer) => Some(answer),
                // A server may know a connection only a moment after its set-up.
                Err(ResponseError::Refused(failure)) if failure.code() == code::UNREGISTERED => None,
                Err(ResponseError::Refused(failure)) if failure.code() == code::INVALID_SERVER_STATUS => None,
                Err(other) => panic!("a query of {service} was answered {other:?}"),
            }
        })
        .await;
        let mut hosts = answer.service_info.and_then(|info| info.hosts).unwrap_or_default();
        hosts.sort_by(|a, b| key(a).cmp(&key(b)));
        hosts
    }

    /// The ports of a service's instances, sorted.
    pub(crate) async fn ports(&self, service: &str) -> Vec<i32> {
        let mut ports: Vec<i32> = self.instances(service).await.iter().map(|instance| instance.port).collect();
        ports.sort_unstable();
        ports
    }

    /// Waits until the service has instances of exactly these ports.
    pub(crate) async fn sees(&self, service: &str, ports: &[i32]) {
        let what = format!("{service} has {ports:?}");
        eventually(&what, async || (self.ports(service).await == ports).then_some(())).await;
    }

    /// Waits until the list of the service satisfies `content`.
    pub(crate) async fn sees_that(&self, service: &str, what: &str, content: impl Fn(&[Instance]) -> bool) {
        eventually(what, async || content(&self.instances(service).await).then_some(())).await;
    }

    /// Makes `instances` all that this connection publishes into the service, in one write.
    pub(crate) async fn publish(&self, service: &str, instances: Vec<Instance>) {
        let batch = BatchInstanceRequest {
            namespace: Some(self.namespace.clone()),
            service_name: Some(service.to_owned()),
            group_name: Some("DEFAULT_GROUP".to_owned()),
            kind: Some(BATCH_REGISTER.to_owned()),
            instances: Some(instances.into_iter().map(Some).collect()),
        };
        self.call::<_, BatchInstanceResponse>(&batch).await.expect("the batch is accepted");
    }

    /// Makes `instance` this connection's record of the service.
    pub(crate) async fn register(&self, service: &str, instance: Instance) {
        let request = InstanceRequest {
            namespace: Some(self.namespace.clone()),
            service_name: Some(service.to_owned()),
            group_name: Some("DEFAULT_GROUP".to_owned()),
            kind: Some(REGISTER.to_owned()),
            instance: Some(instance),
        };
        call::<_, InstanceResponse>(&self.connection, &request).await.expect("the registration is accepted");
    }

    /// Removes this connection's record of the service.
    pub(crate) async fn deregister(&self, service: &str, instance: Instance) {
        let request = InstanceRequest {
            namespace: Some(self.namespace.clone()),
            service_name: Some(service.to_owned()),
            group_name: Some("DEFAULT_GROUP".to_owned()),
            kind: Some(DEREGISTER.to_owned()),
            instance: Some(instance),
        };
        call::<_, InstanceResponse>(&self.connection, &request).await.expect("the deregistration is accepted");
    }

    /// Removes a persistent instance, as an operator may.
    pub(crate) async fn remove_persistent(&self, service: &str, instance: Instance) {
        let request = PersistentInstanceRequest {
            namespace: Some(self.namespace.clone()),
            service_name: Some(service.to_owned()),
            group_name: Some("DEFAULT_GROUP".to_owned()),
            kind: Some(DEREGISTER.to_owned()),
            instance: Some(Instance { ephemeral: false, ..instance }),
        };
        call::<_, InstanceResponse>(&self.connection, &request).await.expect("the removal is accepted");
    }

    /// Asks anything.
    pub(crate) async fn call<M: Message, R: Response>(&self, request: &M) -> Result<R, ResponseError> {
        call(&self.connection, request).await
    }
}

/// An instance as foreign clients register it.
pub(crate) fn foreign(port: i32) -> Instance {
    Instance { ip: Some("10.9.8.7".to_owned()), port, ..Instance::default() }
}

fn key(instance: &Instance) -> (Option<&str>, i32, Option<&str>) {
    (instance.ip.as_deref(), instance.port, instance.cluster_name.as_deref())
}

/// Shows the server that the witness is alive.
fn live(asked: &Payload) -> Option<Payload> {
    let probe: ClientDetectionRequest =
        (asked.kind() == ClientDetectionRequest::TYPE).then(|| asked.decode_json().ok())??;
    let request_id = Some(probe.request_id);
    Some(Payload::encode_json(&ClientDetectionResponse { request_id, ..ClientDetectionResponse::default() }))
}

async fn call<M: Message, R: Response>(connection: &Connection, request: &M) -> Result<R, ResponseError> {
    let bytes = Payload::encode_json(request).encode_to_vec();
    let answer = in_time(M::TYPE, connection.call(REQUEST_PATH, &bytes, false)).await;
    let answer = answer.unwrap_or_else(|status| panic!("{} was answered with {status}", M::TYPE));
    Payload::decode(answer).expect("an answer is a payload").decode_response()
}
