use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures_util::{Stream, stream};
use nacos_client::InstanceKey;
use tokio::sync::watch;

use super::Endpoints;
use crate::Endpoint;
use crate::pick::NoInstanceReason;

/// What happens to the endpoints of a service, for balancers that own the connections themselves.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Change {
    /// It takes requests from now on, or is now another one of the same identity.
    Insert(InstanceKey, Arc<Endpoint>),
    /// It takes none any longer.
    Remove(InstanceKey),
}

/// All changes, from nothing on. It holds the endpoints, so that the service stays watched.
pub(super) fn discover(endpoints: Arc<Endpoints>) -> impl Stream<Item = Change> + Send + Unpin {
    let mut published = endpoints.published();
    published.mark_changed();
    let told = Told { endpoints, published, there: BTreeMap::new(), changes: VecDeque::new(), ended: false };
    Box::pin(stream::unfold(told, |mut told| async {
        loop {
            if let Some(change) = told.changes.pop_front() {
                return Some((change, told));
            }
            if told.ended {
                return None;
            }
            told.published.changed().await.ok()?;
            told.look();
        }
    }))
}

struct Told {
    endpoints: Arc<Endpoints>,
    published: watch::Receiver<u64>,
    there: BTreeMap<InstanceKey, Arc<Endpoint>>,
    changes: VecDeque<Change>,
    /// There will be nothing new.
    ended: bool,
}

impl Told {
    /// Notes what is new.
    fn look(&mut self) {
        let Some(current) = self.endpoints.current() else { return };
        let now: BTreeMap<_, _> =
            current.preferred().map(|endpoint| (endpoint.instance().key(), Arc::clone(endpoint))).collect();
        let gone = self.there.keys().filter(|key| !now.contains_key(key)).cloned();
        self.changes.extend(gone.map(Change::Remove));
        for (key, endpoint) in &now {
            if self.there.get(key).is_none_or(|there| !Arc::ptr_eq(there, endpoint)) {
                self.changes.push_back(Change::Insert(key.clone(), Arc::clone(endpoint)));
            }
        }
        self.there = now;
        self.ended = matches!(current.empty, NoInstanceReason::Closed);
    }
}
