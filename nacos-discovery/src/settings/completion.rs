/// When a call counts as ended, for the number of calls in flight and the latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Completion {
    /// When the response's body has ended, with its trailers, or was dropped. gRPC says only there how a call ended.
    #[default]
    Body,
    /// When the response's headers are there.
    Headers,
}
