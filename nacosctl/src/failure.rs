//! How a command ends.

use nacos_client::{
    AddressError, ConfigError, ConfirmError, InvalidArgument, LoginError, QueryError, RegisterError, StartError,
    maintain::MaintainError,
};

/// Exit code of a command that worked and found something wrong: a difference, a failed check.
pub(crate) const FOUND: u8 = 1;

/// What a command that worked came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// Everything is as it should be.
    Fine,
    /// A difference, or a failed check; it is in the output.
    Found,
}

/// Why a command did not work: for each kind one exit code, and a text that says what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// 2, as clap ends on wrong usage.
    #[error("{0}")]
    Usage(String),
    /// 3: no server answered in time.
    #[error("{0}")]
    Unreachable(String),
    /// 4: a server refused, denied or failed.
    #[error("{0}")]
    Refused(String),
    /// 5: there is no such service, instance or namespace.
    #[error("{0}")]
    NotFound(String),
    /// 6: the output could not be written, or the process hinders itself in another way.
    #[error("{0}")]
    Here(String),
}

impl Failure {
    /// The same, said of one of several servers.
    pub(crate) fn at(self, server: &str) -> Self {
        self.told(|text| format!("{server}: {text}"))
    }

    /// Both, of the kind of this one.
    pub(crate) fn and(self, other: Self) -> Self {
        self.told(|text| format!("{text}; {other}"))
    }

    fn told(self, tell: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Usage(text) => Self::Usage(tell(text)),
            Self::Unreachable(text) => Self::Unreachable(tell(text)),
            Self::Refused(text) => Self::Refused(tell(text)),
            Self::NotFound(text) => Self::NotFound(tell(text)),
            Self::Here(text) => Self::Here(tell(text)),
        }
    }

    /// The exit code.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Unreachable(_) => 3,
            Self::Refused(_) => 4,
            Self::NotFound(_) => 5,
            Self::Here(_) => 6,
        }
    }
}

/// An error and its causes on one line.
pub(crate) fn described(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(described(&error))
    }
}

impl From<InvalidArgument> for Failure {
    fn from(error: InvalidArgument) -> Self {
        Self::Usage(described(&error))
    }
}

impl From<AddressError> for Failure {
    fn from(error: AddressError) -> Self {
        Self::Usage(described(&error))
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::Here(described(&error))
    }
}

impl From<RegisterError> for Failure {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::Invalid(invalid) => invalid.into(),
            other => Self::Here(described(&other)),
        }
    }
}

impl From<ConfirmError> for Failure {
    fn from(error: ConfirmError) -> Self {
        let text = described(&error);
        match error {
            ConfirmError::Deadline { .. } => Self::Unreachable(unreachable(&text)),
            ConfirmError::Invalid(_) => Self::Usage(text),
            ConfirmError::Unsupported { .. } => Self::Refused(format!("{text}; try --protocol http")),
            ConfirmError::Refused(_) | ConfirmError::Denied(_) | ConfirmError::Login(_) => Self::Refused(text),
            _ => Self::Here(text),
        }
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        let text = described(&error);
        match error {
            QueryError::NotConnected { .. } | QueryError::Deadline { .. } => Self::Unreachable(unreachable(&text)),
            QueryError::Login(LoginError::Unfinished { .. }) => Self::Unreachable(unreachable(&text)),
            QueryError::Invalid(_) => Self::Usage(text),
            QueryError::Start(_) => Self::Here(text),
            _ => Self::Refused(text),
        }
    }
}

fn unreachable(text: &str) -> String {
    format!("{text}; `nacosctl doctor` finds out why")
}

impl From<MaintainError> for Failure {
    fn from(error: MaintainError) -> Self {
        let text = described(&error);
        match error {
            MaintainError::Unreachable { .. } | MaintainError::Login(LoginError::Unfinished { .. }) => {
                Self::Unreachable(text)
            }
            MaintainError::NotFound { .. } => Self::NotFound(text),
            MaintainError::Invalid(_) => Self::Usage(text),
            _ => Self::Refused(text),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Here(error.to_string())
    }
}
