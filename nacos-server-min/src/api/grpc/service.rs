use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use nacos_proto::{Payload, REQUEST_PATH, STREAM_PATH};
use prost::Message as _;

use super::answer::Answer;
use super::body::{GrpcBody, UnaryBody};
use super::message::MessageReader;
use super::status::{Status, ok_response};
use super::{dispatch, stream};
use crate::conn::Connection;

/// Answers the HTTP/2 requests of one connection.
#[derive(Clone)]
pub(crate) struct GrpcService {
    connection: Arc<Connection>,
}

impl GrpcService {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Self { connection }
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<GrpcBody>, Infallible>> + Send>>;

impl hyper::service::Service<Request<Incoming>> for GrpcService {
    type Response = Response<GrpcBody>;
    type Error = Infallible;
    type Future = Answering;

    fn call(&self, request: Request<Incoming>) -> Answering {
        let connection = Arc::clone(&self.connection);
        if let Some(refusal) = refuse(&request) {
            return Box::pin(async { Ok(refusal) });
        }
        match request.uri().path() {
            REQUEST_PATH => {
                // Only what is needed goes into the future: it is made anew for every request.
                let reader = reader(&connection, request);
                Box::pin(async move { Ok(unary(connection, reader).await) })
            }
            // Opened right here, in the order of arrival: requests behind it know that a set-up is on its way.
            STREAM_PATH => {
                let response = stream::open(connection, request);
                Box::pin(async { Ok(response) })
            }
            path => {
                let method = path.strip_prefix('/').unwrap_or(path);
                let response = Status::unimplemented(format!("Method not found: {method}")).response();
                Box::pin(async { Ok(response) })
            }
        }
    }
}

/// What is no gRPC at all.
fn refuse(request: &Request<Incoming>) -> Option<Response<GrpcBody>> {
    let content_type = request.headers().get(http::header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let status = if request.method() != Method::POST {
        StatusCode::METHOD_NOT_ALLOWED
    } else if !content_type.starts_with(b"application/grpc") {
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    } else {
        return None;
    };
    let mut response = Response::new(GrpcBody::Empty);
    *response.status_mut() = status;
    Some(response)
}

/// What reads the one message of a unary request.
fn reader(connection: &Connection, request: Request<Incoming>) -> Result<MessageReader, Status> {
    let context = &connection.context;
    let (parts, body) = request.into_parts();
    let budget = Arc::clone(&context.connections.budget);
    MessageReader::new(body, &parts.headers, context.settings.max_message_size, budget)
}

async fn unary(connection: Arc<Connection>, reader: Result<MessageReader, Status>) -> Response<GrpcBody> {
    let context = &connection.context;
    let message = match reader {
        Ok(reader) => reader.only().await,
        Err(status) => Err(status),
    };
    let message = match message {
        Ok(message) => message,
        Err(status) => return status.response(),
    };
    let Ok(payload) = Payload::decode(message) else { return Status::BROKEN.response() };
    let Answer { frame, success, subscribed, .. } = dispatch::answer(&connection, &payload).await;
    context.counters.requests.add();
    if !success {
        context.counters.requests_refused.add();
    }
    let subscribed = subscribed.map(|service| (Arc::clone(&connection), service));
    ok_response(GrpcBody::Unary(UnaryBody::new(frame, subscribed)))
}
