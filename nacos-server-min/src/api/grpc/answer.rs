use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use nacos_proto::grpc::{
    BATCH_REGISTER, BatchInstanceResponse, DEREGISTER, ErrorResponse, HealthCheckResponse, InstanceResponse, Message,
    REGISTER, Response,
};
use nacos_proto::{Payload, code};

use crate::push::{Frame, ListFrames, encode};
use crate::registry::Service;

/// What a unary request is answered with, framed and ready.
pub(crate) struct Answer {
    pub(crate) frame: Frame,
    pub(crate) success: bool,
    /// A first subscription, whose push follows the answer.
    pub(crate) subscribed: Option<Arc<Service>>,
    /// Held back for a while, so that whoever overloads the server slows down.
    pub(crate) overload: bool,
}

impl Answer {
    pub(crate) fn of<R: Response>(response: &R) -> Self {
        Self { frame: frame(response), success: response.is_success(), subscribed: None, overload: false }
    }

    fn ready(bytes: &'static LazyLock<Bytes>) -> Self {
        Self { frame: Frame::One(Bytes::clone(bytes)), success: true, subscribed: None, overload: false }
    }

    pub(crate) fn list(frame: Frame) -> Self {
        Self { frame, success: true, subscribed: None, overload: false }
    }

    // === answers without content ===

    pub(crate) fn healthy() -> Self {
        static HEALTHY: LazyLock<Bytes> = LazyLock::new(|| bytes(&HealthCheckResponse::default()));
        Self::ready(&HEALTHY)
    }

    pub(crate) fn registered() -> Self {
        static REGISTERED: LazyLock<Bytes> = LazyLock::new(|| bytes(&instance_response(REGISTER)));
        Self::ready(&REGISTERED)
    }

    pub(crate) fn deregistered() -> Self {
        static DEREGISTERED: LazyLock<Bytes> = LazyLock::new(|| bytes(&instance_response(DEREGISTER)));
        Self::ready(&DEREGISTERED)
    }

    pub(crate) fn batch_registered() -> Self {
        static BATCH: LazyLock<Bytes> = LazyLock::new(|| {
            bytes(&BatchInstanceResponse { kind: Some(BATCH_REGISTER.to_owned()), ..BatchInstanceResponse::default() })
        });
        Self::ready(&BATCH)
    }

    // === failures of the shape `ErrorResponse` ===

    /// Refused before a handler was asked, or by an unexpected error of one: `resultCode` is 500.
    pub(crate) fn error(error_code: i32, message: impl Into<String>) -> Self {
        Self::of(&ErrorResponse::failure(error_code, message))
    }

    /// Refused by a handler: `resultCode` repeats the code.
    pub(crate) fn raised(error_code: i32, message: impl Into<String>) -> Self {
        Self::of(&ErrorResponse::raised(error_code, message))
    }

    /// As [`Answer::raised`], with the text wrapped the way nested errors are.
    pub(crate) fn wrapped(error_code: i32, message: &str) -> Self {
        Self::raised(error_code, format!("errCode: {error_code}, errMsg: {message} "))
    }

    pub(crate) fn overload(message: impl Into<String>) -> Self {
        Self { overload: true, ..Self::error(code::OVER_THRESHOLD, message) }
    }

    pub(crate) fn unregistered() -> Self {
        Self::error(code::UNREGISTERED, "Connection is unregistered.")
    }

    pub(crate) fn no_handler() -> Self {
        Self::error(code::NO_HANDLER, "RequestHandler Not Found")
    }

    /// Any failure in the type `kind`, without that type's own content.
    pub(crate) fn typed(kind: &str, error_code: i32, message: impl Into<String>) -> Self {
        let json = ErrorResponse::failure(error_code, message).to_json();
        Self { frame: Frame::One(encode(&Payload::new(kind, json))), success: false, subscribed: None, overload: false }
    }
}

fn instance_response(kind: &str) -> InstanceResponse {
    InstanceResponse { kind: Some(kind.to_owned()), ..InstanceResponse::default() }
}

fn bytes<M: Message>(message: &M) -> Bytes {
    encode(&Payload::encode_json(message))
}

fn frame<M: Message>(message: &M) -> Frame {
    Frame::One(bytes(message))
}

/// Puts a list into the answer to a query.
pub(crate) fn query_answer(list: &Bytes) -> Answer {
    static FRAMES: LazyLock<ListFrames> = LazyLock::new(|| ListFrames::new("QueryServiceResponse", "", TAIL));
    Answer::list(FRAMES.wrap(r#"{"resultCode":200,"errorCode":0,"serviceInfo":"#, list))
}

/// Puts a list into the answer to a subscription.
pub(crate) fn subscribe_answer(list: &Bytes) -> Answer {
    static FRAMES: LazyLock<ListFrames> = LazyLock::new(|| ListFrames::new("SubscribeServiceResponse", "", TAIL));
    Answer::list(FRAMES.wrap(r#"{"resultCode":200,"errorCode":0,"message":"success","serviceInfo":"#, list))
}

const TAIL: &[u8] = br#","success":true}"#;

/// The response type that belongs to a request type, for failures that are typed.
pub(crate) fn response_type(request: &str) -> String {
    match request {
        "PersistentInstanceRequest" => "InstanceResponse".to_owned(),
        "ServiceQueryRequest" => "QueryServiceResponse".to_owned(),
        other => {
            other.strip_suffix("Request").map_or_else(|| "ErrorResponse".to_owned(), |stem| format!("{stem}Response"))
        }
    }
}
