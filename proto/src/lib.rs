//! Wire types of the Nacos protocols.
//!
//! This crate knows what Nacos messages look like and nothing else: no sockets, no clock, no runtime.
//!
//! ```text
//!   application JSON            protobuf envelope               HTTP/2
//!   grpc::InstanceRequest  ⇄   Payload { metadata, body }   ⇄   (done by the users of this crate)
//! ```
//!
//! # Layout
//!
//! * [`Payload`], [`Metadata`], [`Any`] — the envelope of every gRPC message.
//! * [`grpc`] — the JSON messages of connection and naming, and the traits they share.
//! * [`http`] — the JSON of the HTTP naming API: beats, and answers that gRPC does not have.
//! * [`udp`] — the packets that push lists to clients which speak HTTP.
//! * [`code`] — result and error codes.
//! * [`param`] — the rules for names, addresses and metadata, with the texts a server answers.
//!
//! Reading is tolerant, as real peers need it: unknown, missing and null fields, numbers as strings, any field order, a
//! byte-order mark, text behind the object and repeated keys are all taken. Writing is strict: no nulls, proper types.

pub mod code;
pub mod grpc;
pub mod http;
pub mod param;
pub mod udp;

mod any;
mod error;
#[rustfmt::skip]
mod generated;
mod lenient;
mod payload;

pub use any::Any;
pub use error::{DecodeError, Failure, ResponseError};
pub use generated::{Metadata, Payload};
pub use payload::{MAX_MESSAGE_SIZE, REQUEST_PATH, STREAM_PATH};
