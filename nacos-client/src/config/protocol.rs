use std::fmt;

/// What is spoken with the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// gRPC where a server offers it, else HTTP: found out within 3 s after the start and after each lost connection. Over
    /// HTTP a client looks for gRPC after 2, 5, 10 and 30 s, then once a minute, and moves without a gap when it is there.
    #[default]
    Auto,
    /// gRPC only: Nacos 2.0 and later, r-nacos.
    Grpc,
    /// HTTP with beats, polling and UDP pushes only: every Nacos since 1.1, r-nacos.
    Http,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Grpc => "gRPC",
            Self::Http => "HTTP",
        })
    }
}
