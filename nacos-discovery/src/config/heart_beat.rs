use std::time::Duration;

/// Heart-beat settings, published as metadata for registries that count beats (Nacos 1.x over HTTP). A connection over
/// gRPC needs none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct HeartBeat {
    /// Time between two beats; `heart-beat-interval`, the registry's default is 5 s.
    pub interval: Option<Duration>,
    /// Silence after which the instance is unhealthy; `heart-beat-timeout`, the registry's default is 15 s.
    pub timeout: Option<Duration>,
    /// Silence after which it is removed; `ip-delete-timeout`, the registry's default is 30 s.
    pub delete: Option<Duration>,
}
