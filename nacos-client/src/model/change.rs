//! What changed between two snapshots, as one listener sees it.

use std::cmp::Ordering;
use std::sync::Arc;
use std::time::Instant;

use super::{Instance, ServiceSnapshot};

/// Why a listener is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeCause {
    /// The listener's first snapshot: everything it selects is added.
    Initial,
    /// The selected instances changed.
    Changed,
    /// A new connection confirmed the list; the difference to what was last seen may be empty.
    Resynced,
    /// The connection is lost: the list is the last known one, and no change is seen until [`ChangeCause::Resynced`].
    Stale {
        /// When the connection was lost.
        since: Instant,
    },
}

/// An instance whose fields changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Modified {
    /// As the listener saw it last.
    pub old: Arc<Instance>,
    /// As it is now.
    pub new: Arc<Instance>,
}

/// The newest state of a service and how the listener's view of it differs from what it saw last.
///
/// The difference is that of the *selected* views: an instance that leaves the selection is removed, one that enters it
/// is added. States the listener was too slow for are merged into one difference.
#[derive(Debug, Clone)]
pub struct ServiceChange {
    snapshot: Arc<ServiceSnapshot>,
    instances: Arc<[Arc<Instance>]>,
    difference: Difference,
    cause: ChangeCause,
}

impl ServiceChange {
    pub(crate) fn new(
        snapshot: Arc<ServiceSnapshot>,
        instances: Arc<[Arc<Instance>]>,
        difference: Difference,
        cause: ChangeCause,
    ) -> Self {
        Self { snapshot, instances, difference, cause }
    }

    /// The whole list of the service.
    #[must_use]
    pub fn snapshot(&self) -> &Arc<ServiceSnapshot> {
        &self.snapshot
    }

    /// The instances the listener selected, in order.
    #[must_use]
    pub fn instances(&self) -> &[Arc<Instance>] {
        &self.instances
    }

    /// Instances that entered the selection.
    #[must_use]
    pub fn added(&self) -> &[Arc<Instance>] {
        &self.difference.added
    }

    /// Instances that left the selection, as they were last seen.
    #[must_use]
    pub fn removed(&self) -> &[Arc<Instance>] {
        &self.difference.removed
    }

    /// Instances in both whose fields changed.
    #[must_use]
    pub fn modified(&self) -> &[Modified] {
        &self.difference.modified
    }

    /// Why the listener is told.
    #[must_use]
    pub const fn cause(&self) -> ChangeCause {
        self.cause
    }
}

/// Added, removed and modified instances between two sorted lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) added: Vec<Arc<Instance>>,
    pub(crate) removed: Vec<Arc<Instance>>,
    pub(crate) modified: Vec<Modified>,
}

impl Difference {
    /// Both lists must be sorted and unique by identity, as those of a snapshot are.
    pub(crate) fn between(old: &[Arc<Instance>], new: &[Arc<Instance>]) -> Self {
        let mut difference = Self::default();
        let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return difference,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.cmp_key(b),
            };
            let before = if order == Ordering::Greater { None } else { old.next() };
            let after = if order == Ordering::Less { None } else { new.next() };
            match (before, after) {
                (Some(a), None) => difference.removed.push(a.clone()),
                (None, Some(b)) => difference.added.push(b.clone()),
                (Some(a), Some(b)) if !Arc::ptr_eq(a, b) && a != b => {
                    difference.modified.push(Modified { old: a.clone(), new: b.clone() });
                }
                _ => {}
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.modified.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::snapshot::HostList;
    use proptest::prelude::*;

    fn list() -> impl Strategy<Value = Arc<[Arc<Instance>]>> {
        let instance = (0..6u16, 0..2u8, 0..3u8, any::<bool>()).prop_map(|(port, cluster, weight, healthy)| {
            Arc::new(
                Instance::new(("h", port)).cluster(format!("c{cluster}")).weight(f64::from(weight)).healthy(healthy),
            )
        });
        proptest::collection::vec(instance, 0..12).prop_map(|hosts| HostList::new(hosts, false).hosts().clone())
    }

    proptest! {
        /// Applying the difference to the old list gives the new one.
        #[test]
        fn a_difference_leads_from_one_list_to_the_other(old in list(), new in list()) {
            let d = Difference::between(&old, &new);
            let mut have: Vec<_> = old.to_vec();
            have.retain(|i| !d.removed.contains(i));
            for m in &d.modified {
                prop_assert_ne!(&m.old, &m.new);
                let at = have.iter().position(|i| *i == m.old).expect("modified was there");
                have[at] = m.new.clone();
            }
            have.extend(d.added.iter().cloned());
            have.sort_by(|a, b| a.cmp_key(b));
            prop_assert_eq!(&have[..], &new[..]);
            prop_assert_eq!(d.is_empty(), old == new);
        }
    }
}
