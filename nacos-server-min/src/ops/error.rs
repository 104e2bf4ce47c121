use nacos_proto::param::ParamError;

use crate::registry::{AdminError, Kind, WriteError};

/// Why an operation was not done. Nothing is changed then.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OpError {
    /// A value breaks a rule that comes after the parameter filter.
    Param(ParamError),
    /// There is no such generator of instance ids.
    IdGenerator,
    /// The service is of this kind, which is not the registrant's.
    OtherKind(Kind),
    /// A limit of the server.
    TooMany(&'static str),
    /// The instance's own client is just being closed.
    Closing,
    ServiceNotFound,
    ServiceExists,
    ServiceNotEmpty,
    ClusterNotFound,
    InstanceNotFound,
    /// The health of this cluster's instances is found out by the server, so nobody else may say it.
    CheckerWorking,
}

impl From<ParamError> for OpError {
    fn from(error: ParamError) -> Self {
        Self::Param(error)
    }
}

impl From<WriteError> for OpError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::ClientClosed => Self::Closing,
            WriteError::OtherKind(present) => Self::OtherKind(present),
            WriteError::TooMany(what) => Self::TooMany(what),
        }
    }
}

impl From<AdminError> for OpError {
    fn from(error: AdminError) -> Self {
        match error {
            AdminError::NotFound => Self::ServiceNotFound,
            AdminError::Exists => Self::ServiceExists,
            AdminError::NotEmpty => Self::ServiceNotEmpty,
        }
    }
}
