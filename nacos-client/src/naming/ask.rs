//! Questions that stand for themselves: asked on whatever connection there is, until the deadline.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::Instant;

use super::backoff::Backoff;
use super::client::Client;
use super::trouble::Trouble;
use crate::error::{QueryError, StartError, describe};
use crate::transport::{Call, Reply, Session};

impl Client {
    /// Asks until there is an answer, a refusal, or the deadline.
    pub(crate) async fn ask(&self, call: Call, limit: Duration) -> Result<Reply, QueryError> {
        self.start()?;
        needs_runtime()?;
        let mut last = None;
        match tokio::time::timeout(limit, self.ask_on(call, limit, &mut last)).await {
            Ok(result) => result,
            Err(_) => Err(match last {
                Some(Asking::Failed(trouble)) => trouble.into_query_error(limit),
                Some(Asking::Sent) => self.unanswered(limit),
                None => self.not_connected(limit),
            }),
        }
    }

    async fn ask_on(&self, call: Call, limit: Duration, last: &mut Option<Asking>) -> Result<Reply, QueryError> {
        let mut backoff = Backoff::default();
        loop {
            let session = self.session(last).await?;
            last.get_or_insert(Asking::Sent);
            match session.call(call.clone()).await {
                Ok(reply) => return Ok(reply),
                Err(error) => match Trouble::of(error) {
                    None => self.left(&session).await,
                    Some(trouble @ (Trouble::Failing(_) | Trouble::Unreachable(_) | Trouble::Login(_)))
                        if !trouble.is_final() =>
                    {
                        *last = Some(Asking::Failed(trouble));
                        tokio::time::sleep_until(backoff.next(Instant::now())).await;
                    }
                    Some(trouble) => return Err(trouble.into_query_error(limit)),
                },
            }
        }
    }

    /// The current connection, waited for.
    async fn session(&self, last: &mut Option<Asking>) -> Result<Arc<dyn Session>, QueryError> {
        let mut link = self.core.watch_link();
        loop {
            let closing = self.core.closing.notified();
            tokio::pin!(closing);
            closing.as_mut().enable();
            if self.core.is_closed() {
                return Err(StartError::Closed.into());
            }
            if let Some(session) = link.borrow_and_update().session() {
                return Ok(Arc::clone(session));
            }
            *last = None;
            tokio::select! {
                _ = link.changed() => {}
                () = closing => {}
            }
        }
    }

    /// Waits until `session` is not the current connection any more: its end was announced by the failed call.
    async fn left(&self, session: &Arc<dyn Session>) {
        let mut link = self.core.watch_link();
        // An error means that the client is gone, which the next look at it tells.
        let _ = link.wait_for(|link| link.epoch() != Some(session.epoch())).await;
    }

    /// Waits for a connection at most for `limit`.
    pub(crate) async fn connected(&self, limit: Duration) -> Result<(), QueryError> {
        self.start()?;
        needs_runtime()?;
        match tokio::time::timeout(limit, self.session(&mut None)).await {
            Ok(session) => session.map(drop),
            Err(_) => Err(self.not_connected(limit)),
        }
    }

    /// The error of a question that nothing came back to.
    pub(crate) fn unanswered(&self, waited: Duration) -> QueryError {
        self.core.auth.lack(waited).map_or(QueryError::Deadline { waited }, QueryError::Login)
    }

    pub(crate) fn not_connected(&self, waited: Duration) -> QueryError {
        let status = self.transport.status();
        let last_error = status.borrow().last_error.as_ref().map(|error| describe(error));
        QueryError::NotConnected { waited, last_error }
    }
}

/// Timers need a runtime where they are awaited, and a missing one would be a panic.
fn needs_runtime() -> Result<(), StartError> {
    Handle::try_current().map(drop).map_err(|_| StartError::NoRuntime)
}

/// How far a question has come.
enum Asking {
    Sent,
    Failed(Trouble),
}
