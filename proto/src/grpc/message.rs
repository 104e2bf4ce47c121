use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::code;

/// A JSON message that travels in a [`Payload`](crate::Payload).
pub trait Message: Serialize + DeserializeOwned {
    /// `metadata.type`: the name that both sides dispatch by.
    const TYPE: &'static str;

    /// The JSON text.
    fn to_json(&self) -> Bytes;

    /// False when the tolerant reader left something out that a server refuses.
    fn is_well_formed(&self) -> bool {
        true
    }
}

/// A message that answers another.
pub trait Response: Message {
    /// 200 is success, everything else a failure; absent on the wire means 200.
    fn result_code(&self) -> i32;
    /// The cause of a failure; may be 0 even then.
    fn error_code(&self) -> i32;
    /// Text for humans.
    fn message(&self) -> Option<&str>;
    /// The id of the request it answers; only acknowledgements on the stream carry it.
    fn request_id(&self) -> Option<&str>;

    /// Decides by `resultCode` alone, as the field `success` is not written reliably.
    fn is_success(&self) -> bool {
        self.result_code() == code::OK
    }
}

/// An object without keys.
#[derive(Serialize)]
pub(crate) struct NoHeaders {}

#[derive(Serialize)]
struct RequestFrame<'a, M> {
    headers: NoHeaders,
    #[serde(flatten)]
    message: &'a M,
    module: &'static str,
}

pub(crate) fn request_json<M: Serialize>(message: &M, module: &'static str) -> Bytes {
    to_bytes(&RequestFrame { headers: NoHeaders {}, message, module })
}

#[derive(Serialize)]
struct ResponseFrame<'a, M> {
    #[serde(flatten)]
    message: &'a M,
    success: bool,
}

pub(crate) fn response_json<M: Response>(message: &M) -> Bytes {
    to_bytes(&ResponseFrame { message, success: message.is_success() })
}

fn to_bytes<T: Serialize>(value: &T) -> Bytes {
    // Every message has text keys and values that JSON can hold, so writing to memory cannot fail.
    serde_json::to_vec(value).map(Bytes::from).unwrap_or_default()
}

/// Defines a request: its own fields, its type name and its module.
macro_rules! request {
    (
        $(#[$doc:meta])* $name:ident, $module:literal, { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }
        $(, well_formed: $check:expr)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl crate::grpc::Message for $name {
            const TYPE: &'static str = stringify!($name);

            fn to_json(&self) -> bytes::Bytes {
                crate::grpc::message::request_json(self, $module)
            }

            $(fn is_well_formed(&self) -> bool {
                let check: fn(&Self) -> bool = $check;
                check(self)
            })?
        }
    };
}

/// Defines a response: the common fields and its own.
macro_rules! response {
    ($(#[$doc:meta])* $name:ident, { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name {
            /// 200 is success, everything else a failure.
            #[serde(default = "crate::grpc::message::ok", deserialize_with = "crate::lenient::integer")]
            pub result_code: i32,
            /// The cause of a failure; 0 on success.
            #[serde(default, deserialize_with = "crate::lenient::integer")]
            pub error_code: i32,
            /// Text for humans; left out when there is none.
            #[serde(default, deserialize_with = "crate::lenient::text", skip_serializing_if = "Option::is_none")]
            pub message: Option<String>,
            /// Copied from the request in acknowledgements on the stream, left out elsewhere.
            #[serde(default, deserialize_with = "crate::lenient::text", skip_serializing_if = "Option::is_none")]
            pub request_id: Option<String>,
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    result_code: crate::code::OK,
                    error_code: 0,
                    message: None,
                    request_id: None,
                    $($field: Default::default(),)*
                }
            }
        }

        impl $name {
            /// A failure with the given error code.
            pub fn failure(error_code: i32, message: impl Into<String>) -> Self {
                Self { result_code: crate::code::FAIL, error_code, message: Some(message.into()), ..Self::default() }
            }
        }

        impl crate::grpc::Message for $name {
            const TYPE: &'static str = stringify!($name);

            fn to_json(&self) -> bytes::Bytes {
                crate::grpc::message::response_json(self)
            }
        }

        impl crate::grpc::Response for $name {
            fn result_code(&self) -> i32 {
                self.result_code
            }

            fn error_code(&self) -> i32 {
                self.error_code
            }

            fn message(&self) -> Option<&str> {
                self.message.as_deref()
            }

            fn request_id(&self) -> Option<&str> {
                self.request_id.as_deref()
            }
        }
    };
}

pub(crate) use {request, response};

pub(crate) fn ok() -> i32 {
    code::OK
}
