//! The JSON of the HTTP naming API, version 1.
//!
//! The list of a service is [`ServiceInfo`](crate::grpc::ServiceInfo), in both forms that servers write: 1.x puts `group@@name` in `name` and has no `groupName`.

mod answer;
mod beat;
mod login;

pub use answer::{ErrorPage, ServerState, ServiceNames, read};
pub use beat::{BeatAnswer, BeatInfo};
pub use login::LoginAnswer;
