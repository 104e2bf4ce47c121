//! Which servers there are, where they listen, and in which order they are tried.

mod address;
mod address_error;
mod connector;
mod context_path;
mod list;
mod resolver;
mod rotation;

pub(crate) use address::{DEFAULT_GRPC_OFFSET, Host, ServerAddress};
pub(crate) use address_error::{AddressField, AddressReason, ServerAddressError};
pub(crate) use connector::{Connector, DialError, Io, Link, TcpConnector};
pub(crate) use context_path::ContextPath;
pub(crate) use list::ServerList;
pub(crate) use resolver::{Resolve, SystemResolver};
pub(crate) use rotation::Rotation;
