use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nacos_proto::Payload;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use super::Status;

/// Something that came by a stream.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inbound {
    /// Label of the stream.
    pub stream: String,
    /// What came.
    pub event: Event,
    /// True once a test has looked at it.
    pub taken: bool,
}

/// What came by a stream.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "a stream brings nothing else")]
pub enum Event {
    /// A message.
    Message(Payload),
    /// The end of the stream.
    Ended(Status),
}

/// Everything that came by the streams of one connection, in order.
#[derive(Debug, Default)]
pub struct Inbox {
    items: Mutex<Vec<Inbound>>,
    changed: Notify,
}

impl Inbox {
    pub(super) fn put(&self, stream: &str, event: Event) {
        let item = Inbound { stream: stream.to_owned(), event, taken: false };
        self.items.lock().unwrap_or_else(PoisonError::into_inner).push(item);
        self.changed.notify_waiters();
    }

    /// Looks at everything that has come so far.
    pub fn look<T>(&self, look: impl FnOnce(&mut Vec<Inbound>) -> T) -> T {
        look(&mut self.items.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks at everything that has come, again after each arrival, until `find` is content; `None` after `within`.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost; what `find` has marked stays marked.
    pub async fn wait<T>(&self, within: Duration, mut find: impl FnMut(&mut Vec<Inbound>) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + within;
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(found) = self.look(&mut find) {
                return Some(found);
            }
            timeout_at(deadline, changed).await.ok()?;
        }
    }

    /// Returns once nothing has come for `quiet`, or after `longest` if something keeps coming.
    ///
    /// # Cancel safety
    ///
    /// It only watches.
    pub async fn settle(&self, quiet: Duration, longest: Duration) {
        let until_quiet = async { while timeout(quiet, self.changed.notified()).await.is_ok() {} };
        // Either is good enough.
        drop(timeout(longest, until_quiet).await);
    }
}
