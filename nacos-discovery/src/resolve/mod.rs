//! Who can take requests for a service: lists become tables, one service at a time.
//!
//! ```text
//!   Source ── lists ──▶ updater ── apply ──▶ Endpoints ◀── picks
//!                          │                    ▲
//!                   pace, age, idleness     Directory: one per service
//! ```
//!
//! A list is merged with the one before by identity, so that what this process knows of an instance from its own calls stays.
//! Filters and preferences give every instance a verdict and make tiers of those that take requests.

mod builder;
mod content;
mod directory;
mod discover;
mod endpoints;
mod field;
mod following;
mod graveyard;
mod group;
mod idle;
mod list;
mod list_status;
mod made;
mod named;
mod pacer;
mod route_book;
mod routed;
mod routes_follower;
mod row;
mod snapshot;
mod source;
mod tables;
#[cfg(test)]
mod tests;
mod updater;
mod view;
mod way;

pub use directory::Directory;
pub use discover::Change;
pub use endpoints::{Applied, Endpoints};
pub use list::ServiceList;
pub use list_status::ListStatus;
pub(crate) use made::Directories;
pub use routes_follower::RoutesFollower;
pub use source::{Lists, Source};
pub(crate) use view::{RoutedView, Side, View};
