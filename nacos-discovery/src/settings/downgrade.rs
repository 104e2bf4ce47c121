/// Whether a request for `https` or `wss` may go to an instance without TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Downgrade {
    /// Never: only instances with TLS are picked for it.
    #[default]
    Never,
    /// Yes, as plain `http` or `ws`: for networks in which something else encrypts.
    Allowed,
}
