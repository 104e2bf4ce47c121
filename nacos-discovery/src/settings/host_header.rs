/// What the `Host` header of a request says that is sent to an instance, unless the request has one already.
///
/// In HTTP/2 `:authority` stands for it, which clients take from the URI: there it is always the instance's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HostHeader {
    /// The address of the instance, as clients write it by themselves.
    #[default]
    Instance,
    /// The name by which the request named the service: for servers that tell applications apart by it.
    Service,
}
