//! What the worker has to look at next, handed over from any thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use super::entry::Entry;
use super::registrations::Records;

/// Something to look at. Each entry and each record set is in the queue at most once, so the queue is bounded by them.
#[derive(Debug)]
pub(crate) enum Work {
    Entry(Arc<Entry>),
    Records(Arc<Records>),
}

/// The worker's inbox.
#[derive(Debug, Default)]
pub(crate) struct WorkQueue {
    queue: Mutex<VecDeque<Work>>,
    /// A connection came or went: everything is to be looked at.
    link_changed: AtomicBool,
    wake: Notify,
}

impl WorkQueue {
    pub(crate) fn entry(&self, entry: &Arc<Entry>) {
        if !entry.queued.swap(true, Ordering::AcqRel) {
            self.put(Work::Entry(Arc::clone(entry)));
        }
    }

    pub(crate) fn records(&self, records: &Arc<Records>) {
        if !records.queued.swap(true, Ordering::AcqRel) {
            self.put(Work::Records(Arc::clone(records)));
        }
    }

    fn put(&self, work: Work) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(work);
        self.wake.notify_one();
    }

    pub(crate) fn link_changed(&self) {
        self.link_changed.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    pub(crate) fn take_link_changed(&self) -> bool {
        self.link_changed.swap(false, Ordering::AcqRel)
    }

    /// The next piece of work. It can be queued again from now on.
    pub(crate) fn pop(&self) -> Option<Work> {
        let work = self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?;
        match &work {
            Work::Entry(entry) => entry.queued.store(false, Ordering::Release),
            Work::Records(records) => records.queued.store(false, Ordering::Release),
        }
        Some(work)
    }

    /// Waits until something was put in.
    pub(crate) async fn wait(&self) {
        self.wake.notified().await;
    }
}
