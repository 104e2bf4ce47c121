//! A session under the number that naming knows it by.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::transport::{Call, CallError, Epoch, Reply, Session, SessionInfo};

/// A session of either protocol, its epoch numbered among those of both.
pub(super) struct RelayedSession {
    epoch: Epoch,
    inner: Arc<dyn Session>,
}

impl RelayedSession {
    pub(super) fn new(epoch: Epoch, inner: Arc<dyn Session>) -> Self {
        Self { epoch, inner }
    }
}

impl Session for RelayedSession {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn info(&self) -> &SessionInfo {
        self.inner.info()
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Result<Reply, CallError>> {
        self.inner.call(call)
    }
}
