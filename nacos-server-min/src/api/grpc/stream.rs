use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame as HttpFrame;
use hyper::body::Incoming;
use nacos_proto::Payload;
use nacos_proto::grpc::{Ack, ConnectionSetupRequest, Message};
use prost::Message as _;
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::body::GrpcBody;
use super::message::MessageReader;
use super::status::{Status, ok_response};
use crate::conn::{Connection, SetUp};
use crate::push::{Outgoing, StreamId};

/// Opens a bidirectional stream: a task reads what the client says, the response's body writes what the outbox has.
pub(crate) fn open(connection: Arc<Connection>, request: Request<Incoming>) -> Response<GrpcBody> {
    let context = &connection.context;
    let (parts, body) = request.into_parts();
    let limit = context.settings.max_message_size;
    let reader = match MessageReader::new(body, &parts.headers, limit, Arc::clone(&context.connections.budget)) {
        Ok(reader) => reader,
        Err(status) => return status.response(),
    };
    let Some(id) = connection.outbox().open_stream(context.settings.max_bi_streams) else {
        return Status::exhausted("too many streams on one connection".into()).response();
    };
    connection.setup_gate.stream_opened();
    let undecided = Undecided { connection: Arc::clone(&connection), pending: true };
    // Ends with either half of the stream, or with the connection.
    let over = connection.close.child_token();
    context.spawn(read(reader, undecided, id, over.clone()));
    ok_response(GrpcBody::Stream(Box::new(StreamBody::new(connection, id, over.drop_guard()))))
}

/// A stream whose first message has not been handled.
struct Undecided {
    connection: Arc<Connection>,
    pending: bool,
}

impl Undecided {
    fn decide(&mut self) {
        if std::mem::take(&mut self.pending) {
            self.connection.setup_gate.stream_decided();
        }
    }
}

impl Drop for Undecided {
    fn drop(&mut self) {
        self.decide();
    }
}

async fn read(mut reader: MessageReader, mut undecided: Undecided, id: StreamId, over: CancellationToken) {
    let connection = Arc::clone(&undecided.connection);
    let status = loop {
        let message = tokio::select! {
            message = reader.next() => message,
            () = over.cancelled() => break Status::OK,
        };
        match message {
            Ok(Some(message)) => match Payload::decode(message) {
                Ok(payload) => {
                    if let Err(status) = handle(&connection, id, &payload, &mut undecided).await {
                        break status;
                    }
                }
                Err(_) => break Status::BROKEN,
            },
            Ok(None) => break Status::OK,
            Err(status) => break status,
        }
        undecided.decide();
    };
    // Ending the stream does not end the registration; the end of the connection does.
    connection.outbox().end_stream(id, status);
}

/// Unknown and unreadable messages are dropped without a word. An error ends the stream.
async fn handle(
    connection: &Connection,
    id: StreamId,
    payload: &Payload,
    undecided: &mut Undecided,
) -> Result<(), Status> {
    if payload.kind() == ConnectionSetupRequest::TYPE {
        let Ok(request) = payload.decode_json::<ConnectionSetupRequest>() else { return Ok(()) };
        if let Some(lag) = connection.context.oddities.as_ref().and_then(|odd| odd.registration_lag()) {
            // Requests that come before it is over are not to wait for it.
            undecided.decide();
            tokio::time::sleep(lag).await;
        }
        return match connection.set_up(id, request, payload.client_ip()) {
            SetUp::Accepted => Ok(()),
            SetUp::Malformed => Err(Status::BROKEN),
            SetUp::Rejected => {
                connection.close.cancel();
                Err(Status::OK)
            }
        };
    }
    if let Some(Ok(ack)) = Ack::from_payload(payload) {
        connection.acknowledged(&ack);
    }
    Ok(())
}

/// The server's half of a stream.
pub(crate) struct StreamBody {
    connection: Arc<Connection>,
    id: StreamId,
    /// Pieces of a message that was begun, last first.
    pieces: Vec<Bytes>,
    timer: Option<Pin<Box<Sleep>>>,
    over: bool,
    /// Ends the reader too.
    _reader: DropGuard,
}

impl StreamBody {
    fn new(connection: Arc<Connection>, id: StreamId, reader: DropGuard) -> Self {
        Self { connection, id, pieces: Vec::new(), timer: None, over: false, _reader: reader }
    }

    /// Called by the HTTP/2 implementation when the peer has room for more: until then nothing is taken from the outbox.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<HttpFrame<Bytes>>> {
        loop {
            if let Some(piece) = self.pieces.pop() {
                return Poll::Ready(Some(HttpFrame::data(piece)));
            }
            if self.over {
                return Poll::Ready(None);
            }
            match self.connection.outbox().poll(self.id, cx.waker()) {
                Outgoing::Frame(frame) => {
                    self.pieces = frame.pieces().collect();
                    self.pieces.reverse();
                }
                Outgoing::End(status) => {
                    self.over = true;
                    return Poll::Ready(Some(HttpFrame::trailers(status.trailers())));
                }
                Outgoing::GiveUp => {
                    self.over = true;
                    self.connection.give_up();
                    return Poll::Ready(Some(HttpFrame::trailers(Status::OK.trailers())));
                }
                Outgoing::Wait(None) => return Poll::Pending,
                Outgoing::Wait(Some(until)) => {
                    let until = self.connection.context.clock.at(until);
                    let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
                    if timer.deadline() != until {
                        timer.as_mut().reset(until);
                    }
                    if timer.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.connection.outbox().close_stream(self.id);
    }
}
