//! Who can take requests for a service: lists become tables, one service at a time.

mod builder;
mod directory;
mod endpoints;
mod list;
mod snapshot;
mod source;
mod updater;

pub use directory::Directory;
pub use endpoints::{Applied, Endpoints};
pub use list::ServiceList;
pub use source::{Lists, Source};
