//! What can be wrong with a server address.

use std::fmt;

/// A server address, or a list of them, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("server address {text:?}: {field} {reason}")]
pub(crate) struct ServerAddressError {
    /// The text as given.
    pub(crate) text: String,
    /// The part at fault.
    pub(crate) field: AddressField,
    /// What is wrong with it.
    pub(crate) reason: AddressReason,
}

/// A part of a server address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressField {
    /// The list as a whole.
    List,
    /// What stands before `://`.
    Scheme,
    /// Name or IP address.
    Host,
    /// What stands behind `%` in an IPv6 address.
    Zone,
    /// The main port.
    Port,
    /// What stands behind `/`: the context path.
    Path,
    /// What stands behind `?`.
    Query,
    /// The gRPC port, given or derived.
    GrpcPort,
}

/// What is wrong with a part of a server address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressReason {
    /// Nothing there.
    #[error("is empty")]
    Empty,
    /// A port that is no number, or none from 1 to 65535.
    #[error("is no number from 1 to 65535")]
    NotAPort,
    /// Main port plus offset exceeds 65535.
    #[error("is beyond 65535; give it with ?grpc_port=")]
    Overflow,
    /// Looks like an IPv4 address but is none.
    #[error("is no valid IPv4 address")]
    BadIpv4,
    /// Looks like an IPv6 address but is none.
    #[error("is no valid IPv6 address")]
    BadIpv6,
    /// A bracket without its partner, or something between `]` and the port.
    #[error("has unbalanced brackets")]
    Brackets,
    /// A name of more than 253 characters, or a label of none or more than 63; likewise a path and its segments.
    #[error("has a part that is empty or too long, or is too long")]
    Length,
    /// A character that does not belong there.
    #[error("has the illegal character {0:?}")]
    Character(char),
    /// A scheme other than `http`. With `https` the client would have to speak TLS, which it does not yet.
    #[error("is not supported, only http:// is")]
    Unsupported,
    /// Something is given that has no meaning there.
    #[error("has no meaning here, write host:port or host:port/path")]
    Unexpected,
    /// A parameter given twice, or two that exclude each other.
    #[error("is given twice")]
    Twice,
}

impl fmt::Display for AddressField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "the list",
            Self::Scheme => "the scheme",
            Self::Host => "the host",
            Self::Zone => "the zone",
            Self::Port => "the port",
            Self::Path => "the path",
            Self::Query => "the query",
            Self::GrpcPort => "the gRPC port",
        })
    }
}
