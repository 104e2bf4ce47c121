//! The push stream as messages: what the server says on it and how it is acknowledged.

use std::{collections::BTreeMap, sync::Arc};

use nacos_proto::{
    Payload, code,
    grpc::{
        Ack, ClientDetectionRequest, ClientDetectionResponse, ConnectResetRequest, ConnectResetResponse, Message,
        NotifySubscriberRequest, NotifySubscriberResponse, Response, ServiceInfo, SetupAckRequest,
    },
};

use super::{
    channel::{StreamReader, StreamWriter},
    rpc_error::{RpcError, transport_fault},
};
use crate::transport::LinkFault;

/// One message of the server.
#[derive(Debug)]
pub(super) enum Incoming {
    /// The set-up is acknowledged; what the server can do.
    SetupAck(BTreeMap<String, bool>),
    /// The server wants a sign of life.
    Detection { id: String },
    /// The server asks the client to move, perhaps to a server it names by host and main port.
    Reset { id: String, target: Option<(String, Option<u16>)> },
    /// The full list of a service.
    Push { id: String, info: Option<ServiceInfo> },
    /// A push or another known message that cannot be read; the id if at least that can.
    Unreadable { kind: String, id: Option<String>, why: String },
    /// A message of this size that is larger than taken; the id if it is the push of a list.
    Oversized { id: Option<String>, size: u32 },
    /// A message this client has no use for.
    Unknown { kind: String },
}

/// Both halves of the stream. Dropping it resets the stream.
pub(super) struct PushStream {
    reader: StreamReader,
    writer: StreamWriter,
    client_ip: Arc<str>,
}

impl PushStream {
    pub(super) fn new((reader, writer): (StreamReader, StreamWriter), client_ip: Arc<str>) -> Self {
        Self { reader, writer, client_ip }
    }

    /// The next message.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Incoming, LinkFault> {
        match self.reader.next().await {
            Ok(Some(payload)) => Ok(parse(&payload)),
            Ok(None) => Err(LinkFault::StreamEnded),
            Err(RpcError::Unreadable(why)) => Ok(Incoming::Unreadable { kind: String::new(), id: None, why }),
            Err(RpcError::Oversized { size, head }) => Ok(Incoming::Oversized { id: id_of_push(&head), size }),
            Err(RpcError::Connection(error)) => Err(transport_fault(error)),
            Err(RpcError::Reset(_) | RpcError::Status { .. }) => Err(LinkFault::StreamEnded),
            Err(error) => Err(error.into_setup_fault()),
        }
    }

    /// Acknowledges a [`Incoming::Detection`].
    pub(super) async fn ack_detection(&mut self, id: String) -> Result<(), LinkFault> {
        self.send(&ClientDetectionResponse { request_id: Some(id), ..Default::default() }).await
    }

    /// Acknowledges a [`Incoming::Reset`].
    pub(super) async fn ack_reset(&mut self, id: String) -> Result<(), LinkFault> {
        self.send(&ConnectResetResponse { request_id: Some(id), ..Default::default() }).await
    }

    /// Acknowledges a [`Incoming::Push`].
    pub(super) async fn ack_push(&mut self, id: String) -> Result<(), LinkFault> {
        self.send(&NotifySubscriberResponse { request_id: Some(id), ..Default::default() }).await
    }

    /// Says that a message with this id could not be handled.
    pub(super) async fn nack(&mut self, id: String) -> Result<(), LinkFault> {
        let failure = NotifySubscriberResponse::failure(code::CLIENT_ERROR, "the message cannot be read");
        self.send(&NotifySubscriberResponse { request_id: Some(id), ..failure }).await
    }

    async fn send<M: Response>(&mut self, answer: &M) -> Result<(), LinkFault> {
        let payload = Payload::encode_json(answer).with_client_ip(&*self.client_ip);
        self.writer.send(&payload).await.map_err(|error| match error {
            RpcError::Connection(error) => transport_fault(error),
            _ => LinkFault::StreamEnded,
        })
    }
}

fn parse(payload: &Payload) -> Incoming {
    match payload.kind() {
        NotifySubscriberRequest::TYPE => read(payload, |push: NotifySubscriberRequest| Incoming::Push {
            id: push.request_id,
            info: push.service_info,
        }),
        ClientDetectionRequest::TYPE => {
            read(payload, |detection: ClientDetectionRequest| Incoming::Detection { id: detection.request_id })
        }
        ConnectResetRequest::TYPE => {
            read(payload, |reset: ConnectResetRequest| Incoming::Reset { target: target(&reset), id: reset.request_id })
        }
        SetupAckRequest::TYPE => {
            read(payload, |ack: SetupAckRequest| Incoming::SetupAck(ack.ability_table.unwrap_or_default()))
        }
        kind => Incoming::Unknown { kind: kind.to_owned() },
    }
}

fn read<M: Message>(payload: &Payload, found: impl FnOnce(M) -> Incoming) -> Incoming {
    match payload.decode_json::<M>() {
        Ok(message) => found(message),
        Err(error) => {
            // Any response has the id in the same place; the reader is used for that alone.
            let id = Ack::from_payload(&Payload { metadata: response_kind(), body: payload.body.clone() });
            let id = id.and_then(Result::ok).and_then(|ack| ack.request_id);
            Incoming::Unreadable { kind: M::TYPE.to_owned(), id, why: error.to_string() }
        }
    }
}

/// The id of a push of which there is only the beginning: servers write it before the list.
fn id_of_push(head: &[u8]) -> Option<String> {
    const KEY: &str = r#""requestId":""#;
    let text = String::from_utf8_lossy(head);
    let (_, rest) = text.split_once(NotifySubscriberRequest::TYPE)?.1.split_once(KEY)?;
    let (id, _) = rest.split_once('"')?;
    Some(id.to_owned())
}

fn response_kind() -> Option<nacos_proto::Metadata> {
    Payload::new(NotifySubscriberResponse::TYPE, bytes::Bytes::new()).metadata
}

fn target(reset: &ConnectResetRequest) -> Option<(String, Option<u16>)> {
    let host = reset.server_ip.as_deref().map(str::trim).filter(|host| !host.is_empty())?;
    let port = reset.server_port.as_deref().and_then(|port| port.trim().parse().ok());
    Some((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, json: &'static str) -> Incoming {
        parse(&Payload::new(kind, json.into()))
    }

    #[test]
    fn a_push_that_cannot_be_read_keeps_its_id() {
        match message("NotifySubscriberRequest", r#"{"requestId":"7","serviceInfo":[1]}"#) {
            Incoming::Unreadable { kind, id, why } => {
                assert_eq!((kind.as_str(), id.as_deref()), ("NotifySubscriberRequest", Some("7")));
                assert!(!why.is_empty());
            }
            other => panic!("{other:?}"),
        }
        match message("NotifySubscriberRequest", "{") {
            Incoming::Unreadable { id: None, .. } => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn numbers_as_ids_and_nulls_are_read() {
        match message("NotifySubscriberRequest", r#"{"requestId":7,"headers":null,"serviceInfo":null,"x":1}"#) {
            Incoming::Push { id, info: None } => assert_eq!(id, "7"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_id_of_a_push_is_in_its_beginning() {
        let head = |kind, json: &'static str| prost::Message::encode_to_vec(&Payload::new(kind, json.into()));
        let push = head(NotifySubscriberRequest::TYPE, r#"{"headers":{},"requestId":"7","serviceInfo":{"name":"#);
        assert_eq!(id_of_push(&push).as_deref(), Some("7"));
        assert_eq!(id_of_push(&head(NotifySubscriberRequest::TYPE, r#"{"serviceInfo":{"#)), None);
        assert_eq!(id_of_push(&head("ConfigChangeNotifyRequest", r#"{"requestId":"7"}"#)), None);
        assert_eq!(id_of_push(&head(NotifySubscriberRequest::TYPE, r#"{"requestId":"7"#)), None);
        assert_eq!(id_of_push(&[0xff; 100]), None);
    }

    #[test]
    fn a_reset_names_a_target_or_none() {
        let target = |json| match message("ConnectResetRequest", json) {
            Incoming::Reset { target, .. } => target,
            other => panic!("{other:?}"),
        };
        assert_eq!(target(r#"{"requestId":"1"}"#), None);
        assert_eq!(target(r#"{"requestId":"1","serverIp":null,"serverPort":null}"#), None);
        assert_eq!(target(r#"{"requestId":"1","serverIp":" "}"#), None);
        let host = || "10.0.0.2".to_owned();
        assert_eq!(
            target(r#"{"requestId":"1","serverIp":"10.0.0.2","serverPort":"8848"}"#),
            Some((host(), Some(8848)))
        );
        assert_eq!(target(r#"{"requestId":"1","serverIp":"10.0.0.2","serverPort":8848}"#), Some((host(), Some(8848))));
        assert_eq!(target(r#"{"requestId":"1","serverIp":"10.0.0.2","serverPort":"x"}"#), Some((host(), None)));
    }

    #[test]
    fn other_types_are_unknown_not_errors() {
        assert!(matches!(message("ConfigChangeNotifyRequest", "{}"), Incoming::Unknown { .. }));
        assert!(matches!(parse(&Payload::default()), Incoming::Unknown { .. }));
    }
}
