/// Which `X-Forwarded-*` headers a request gets, like `spring.cloud.loadbalancer.x-forwarded.enabled`. One that is there
/// already stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ForwardedHeaders {
    /// None.
    #[default]
    Off,
    /// `X-Forwarded-Host`, the name by which the request named the service, and `X-Forwarded-Proto`, the scheme that it
    /// asked for: the instance's own for `lb://`.
    HostAndProto,
}
