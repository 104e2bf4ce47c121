use super::{Downgrade, ForwardedHeaders, HashOn, HostHeader};

/// What is done with each request to a service, beside choosing where it goes.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestRules {
    pub(crate) host_header: HostHeader,
    pub(crate) forwarded_headers: ForwardedHeaders,
    pub(crate) downgrade: Downgrade,
    pub(crate) hash_on: HashOn,
}
