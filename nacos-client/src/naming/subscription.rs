//! Being told of changes: a stream, a current value, or a handler.
//!
//! Each listener keeps one thing: what it saw last. Whatever happened since is one difference against the newest
//! snapshot, so a slow listener costs no queue and never misses the last state.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::Stream;
use tokio::sync::futures::OwnedNotified;

use super::client::Client;
use super::entry::Entry;
use crate::error::StartError;
use crate::model::{ChangeCause, Difference, Instance, Select, ServiceChange, ServiceKey, ServiceSnapshot};

/// A stream of what changes in one service, for one selection. Dropping it unsubscribes.
///
/// The first item is the current list, also if it is empty; then come changes of what is selected, each with the newest
/// state, and markers when the connection is lost and when the next one has confirmed the list. Revisions strictly
/// increase. The stream ends when the client is shut down, and never otherwise.
#[must_use = "dropping a subscription unsubscribes"]
pub struct Subscription {
    client: Arc<Client>,
    entry: Arc<Entry>,
    select: Select,
    seen: Option<Seen>,
    rung: Pin<Box<OwnedNotified>>,
    ended: Option<StartError>,
}

/// What a listener saw last.
struct Seen {
    instances: Arc<[Arc<Instance>]>,
    revision: u64,
    resyncs: u64,
    stale: bool,
}

impl Subscription {
    pub(crate) fn new(client: Arc<Client>, entry: Arc<Entry>, select: Select) -> Self {
        // Outside a runtime the first poll starts the client; if it cannot either, the stream ends and says why.
        let ended = client.start().err().filter(|error| *error == StartError::Closed);
        if entry.add_listener() {
            client.core.queue.entry(&entry);
        }
        let rung = Box::pin(Arc::clone(entry.changed()).notified_owned());
        Self { client, entry, select, seen: None, rung, ended }
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &ServiceKey {
        self.entry.key()
    }

    /// Why the stream ended; `None` while it has not.
    #[must_use]
    pub const fn end(&self) -> Option<&StartError> {
        self.ended.as_ref()
    }

    /// The next item; `None` once the client is shut down.
    ///
    /// # Cancel safety
    /// Cancel safe: an item is either returned or comes again, newer.
    pub async fn next(&mut self) -> Option<ServiceChange> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    pub(crate) fn snapshot(&self) -> Option<Arc<ServiceSnapshot>> {
        self.entry.snapshot()
    }

    pub(crate) const fn selection(&self) -> &Select {
        &self.select
    }

    /// What there is to tell, if anything.
    fn news(&mut self) -> Option<ServiceChange> {
        let snapshot = self.entry.snapshot()?;
        if self.seen.as_ref().is_some_and(|seen| seen.revision >= snapshot.revision()) {
            return None;
        }
        let stale = snapshot.stale_since();
        let cause = match (&self.seen, stale) {
            (None, _) => ChangeCause::Initial,
            (Some(seen), Some(since)) if !seen.stale => ChangeCause::Stale { since },
            (Some(seen), None) if seen.stale || seen.resyncs != snapshot.resyncs() => ChangeCause::Resynced,
            _ => ChangeCause::Changed,
        };
        let instances: Arc<[Arc<Instance>]> = if self.select.is_all() {
            Arc::clone(snapshot.list().hosts())
        } else {
            snapshot.select(&self.select).cloned().collect()
        };
        let before = self.seen.as_ref().map(|seen| &*seen.instances).unwrap_or_default();
        let difference = Difference::between(before, &instances);
        let (revision, resyncs) = (snapshot.revision(), snapshot.resyncs());
        self.seen = Some(Seen { instances: Arc::clone(&instances), revision, resyncs, stale: stale.is_some() });
        if cause == ChangeCause::Changed && difference.is_empty() {
            return None;
        }
        Some(ServiceChange::new(snapshot, instances, difference, cause))
    }
}

impl Stream for Subscription {
    type Item = ServiceChange;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ServiceChange>> {
        let this = self.get_mut();
        loop {
            if this.ended.is_none() {
                this.ended = this.client.start().err();
            }
            if this.ended.is_some() {
                return Poll::Ready(None);
            }
            // Listening begins before looking, so that nothing falls between.
            this.rung.as_mut().enable();
            if let Some(change) = this.news() {
                return Poll::Ready(Some(change));
            }
            ready!(this.rung.as_mut().poll(cx));
            this.rung.set(Arc::clone(this.entry.changed()).notified_owned());
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if self.entry.remove_listener() {
            self.client.core.queue.entry(&self.entry);
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription")
            .field("service", self.service())
            .field("select", &self.select)
            .finish_non_exhaustive()
    }
}

/// The current value of a selection, kept up to date. Dropping it unsubscribes.
#[derive(Debug)]
#[must_use = "dropping a watch unsubscribes"]
pub struct ServiceWatch {
    subscription: Subscription,
}

impl ServiceWatch {
    pub(crate) const fn new(subscription: Subscription) -> Self {
        Self { subscription }
    }

    /// The selected instances as they are now; `None` until the first list has arrived.
    #[must_use]
    pub fn current(&self) -> Option<Vec<Arc<Instance>>> {
        let snapshot = self.subscription.snapshot()?;
        Some(snapshot.select(self.subscription.selection()).cloned().collect())
    }

    /// The whole list as it is now; `None` until the first one has arrived.
    #[must_use]
    pub fn snapshot(&self) -> Option<Arc<ServiceSnapshot>> {
        self.subscription.snapshot()
    }

    /// Waits for the next change since the last call; the first call gets the first list.
    ///
    /// # Errors
    /// When the client is shut down, or cannot be started where this is called.
    ///
    /// # Cancel safety
    /// Cancel safe: a change is either returned or comes again, newer.
    pub async fn changed(&mut self) -> Result<ServiceChange, StartError> {
        let change = self.subscription.next().await;
        change.ok_or_else(|| self.subscription.end().cloned().unwrap_or(StartError::Closed))
    }
}
