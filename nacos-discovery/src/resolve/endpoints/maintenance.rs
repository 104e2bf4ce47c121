use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;
use tokio::time::Instant;

use super::super::builder::Builder;
use super::super::content::Content;
use super::super::list_status::ListStatus;
use super::super::snapshot::Snapshot;
use super::super::updater::Updater;
use super::{Endpoints, ServiceList, lock};
use crate::DiscoveryError;
use crate::eject::Ejector;
use crate::pick::NoInstanceReason;

/// For the updater.
impl Endpoints {
    /// Who keeps it up to date, as long as it is there.
    pub(in crate::resolve) fn kept_by(&self, updater: Updater) {
        // There is one directory that made it, and it does this once.
        let _ = self.updater.set(updater);
    }

    /// Somebody asked for it. Written only where it changes something: many threads do this at once.
    #[inline]
    pub(in crate::resolve) fn mark_used(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether somebody asked for it since the last call.
    pub(in crate::resolve) fn was_used(&self) -> bool {
        self.used.swap(false, Ordering::Relaxed)
    }

    /// Whether the list takes somebody away.
    pub(in crate::resolve) fn loses_by(&self, list: &ServiceList) -> bool {
        lock(&self.builder).loses_by(list)
    }

    /// The source cannot tell a list at the moment.
    pub(in crate::resolve) fn report(&self, trouble: DiscoveryError) {
        tracing::debug!(service = %self.service, error = %trouble, "no list at the moment");
        *lock(&self.trouble) = Some(Arc::new(trouble));
    }

    /// The source has ended: there will be no other list.
    pub(in crate::resolve) fn close(&self) {
        let builder = lock(&self.builder);
        let now = Instant::now();
        let (content, status) = self.current.load().as_ref().map_or_else(
            || (Arc::new(Content::none()), ListStatus::new(&ServiceList::new(0, []), now)),
            |current| (Arc::clone(&current.content), current.status),
        );
        self.publish(Snapshot::refused(content, status, NoInstanceReason::Closed), now);
        drop(builder);
    }

    /// Does what is due by time alone, and tells when something will be.
    pub(in crate::resolve) fn refresh(&self, now: Instant) -> Option<Instant> {
        let builder = lock(&self.builder);
        let current = self.current.load_full()?;
        if matches!(current.empty, NoInstanceReason::Stale { .. } | NoInstanceReason::Closed) {
            return None;
        }
        let expires = current.expires(self.settings.upkeep().max_stale());
        let steps = current.content.next_step;
        let is_due = |when: Option<Instant>| when.is_some_and(|when| when <= now);
        let content = if is_due(steps) { self.weighed(&builder, now) } else { Arc::clone(&current.content) };
        let steps = content.next_step;
        if is_due(expires) || !Arc::ptr_eq(&content, &current.content) {
            self.publish(Snapshot::new(content, current.status), now);
        }
        drop(builder);
        [expires.filter(|expires| *expires > now), steps].into_iter().flatten().min()
    }

    /// An instance came back from its ejection: where new ones are started slowly, this one begins anew.
    pub(in crate::resolve) fn restart(&self, now: Instant) {
        let builder = lock(&self.builder);
        let Some(current) = self.current.load_full() else { return };
        if self.settings.slow_start().is_some() && !matches!(current.empty, NoInstanceReason::Closed) {
            let content = self.weighed(&builder, now);
            self.publish(Snapshot::new(content, current.status), now);
        }
        drop(builder);
    }

    /// Rung when an instance came back from its ejection.
    pub(in crate::resolve) const fn ejector(&self) -> &Arc<Ejector> {
        &self.ejector
    }

    /// The same instances with the weights that they have now.
    fn weighed(&self, builder: &Builder, now: Instant) -> Arc<Content> {
        Arc::new(builder.rebuild(fastrand::u64(..), now))
    }

    pub(in crate::resolve) fn published(&self) -> watch::Receiver<u64> {
        self.published.subscribe()
    }

    pub(in crate::resolve) fn current(&self) -> Option<Arc<Snapshot>> {
        self.current.load_full()
    }

    /// Publishes a snapshot of other instances, of which the ejector is told in the same moment. Under the builder's lock.
    pub(super) fn replace(&self, snapshot: Snapshot, now: Instant) {
        let content = Arc::clone(&snapshot.content);
        // What was there is dropped after the ejector's lock.
        let _before = self.ejector.members_changed(content.tables.endpoints(), now, || self.swap(snapshot, now));
        self.announce();
    }

    /// Publishes a snapshot of the same instances. Under the builder's lock.
    pub(super) fn publish(&self, snapshot: Snapshot, now: Instant) {
        let _before = self.swap(snapshot, now);
        self.announce();
    }

    fn announce(&self) {
        self.published.send_modify(|count| *count += 1);
    }

    /// Puts a snapshot in the place of the one before. A list that nobody has kept up to date for too long counts as none.
    fn swap(&self, snapshot: Snapshot, now: Instant) -> Option<Arc<Snapshot>> {
        let expires = snapshot.expires(self.settings.upkeep().max_stale());
        let snapshot = match expires.filter(|expires| *expires <= now) {
            Some(_) if !matches!(snapshot.empty, NoInstanceReason::Closed) => {
                let age = snapshot.status.stale_since().map(|since| now.duration_since(since)).unwrap_or_default();
                Snapshot::refused(snapshot.content, snapshot.status, NoInstanceReason::Stale { age })
            }
            _ => snapshot,
        };
        let before = self.current.swap(Some(Arc::new(snapshot)));
        self.known.store(true, Ordering::Release);
        before
    }
}
