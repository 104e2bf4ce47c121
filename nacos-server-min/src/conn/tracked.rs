use std::future::Future;
use std::sync::Arc;

use crate::context::Context;

/// Lets the HTTP/2 implementation spawn its per-stream tasks where the server can wait for them.
///
/// Each ends with its stream, and all streams end with their connection.
#[derive(Debug, Clone)]
pub(crate) struct TrackedExecutor(pub(crate) Arc<Context>);

impl<F> hyper::rt::Executor<F> for TrackedExecutor
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}
