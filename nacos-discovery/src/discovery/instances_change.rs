use std::cmp::Ordering;

use super::{InstanceList, ServiceInstance};

/// The newest list of a service, and what it differs by from the one before.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InstancesChange {
    /// All instances as they are now.
    pub list: InstanceList,
    /// Instances that were not there before.
    pub added: Vec<ServiceInstance>,
    /// Instances that are gone, as they were last.
    pub removed: Vec<ServiceInstance>,
    /// Instances of which weight, metadata or the like changed, as they are now.
    pub modified: Vec<ServiceInstance>,
}

/// Turns lists into changes.
#[derive(Debug, Default)]
pub(super) struct Differences {
    last: Option<InstanceList>,
}

impl Differences {
    /// What `list` changes; `None` if nothing. The first list always is a change.
    pub(super) fn next(&mut self, list: InstanceList) -> Option<InstancesChange> {
        let last = self.last.replace(list.clone());
        let mut change = InstancesChange { list, added: Vec::new(), removed: Vec::new(), modified: Vec::new() };
        change.compare(last.as_deref().unwrap_or_default());
        let told = last.is_some_and(|last| last.same_marks(&change.list));
        (!told || !change.is_empty()).then_some(change)
    }
}

impl InstancesChange {
    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.modified.is_empty()
    }

    /// Both lists are sorted by identity.
    fn compare(&mut self, old: &[ServiceInstance]) {
        let list = self.list.clone();
        let (mut old, mut new) = (old.iter().peekable(), list.iter().peekable());
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(a), Some(b)) => a.identity().cmp(&b.identity()),
            };
            let before = if order == Ordering::Greater { None } else { old.next() };
            let after = if order == Ordering::Less { None } else { new.next() };
            match (before, after) {
                (Some(gone), None) => self.removed.push(gone.clone()),
                (None, Some(come)) => self.added.push(come.clone()),
                (Some(a), Some(b)) if !a.same_content(b) => self.modified.push(b.clone()),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacos_client::{Instance, ServiceKey};
    use std::sync::Arc;

    fn list(instances: &[(u16, f64)]) -> InstanceList {
        let instances = instances.iter().map(|(port, weight)| Arc::new(Instance::new(("h", *port)).weight(*weight)));
        InstanceList::new(ServiceKey::new("", "s"), instances)
    }

    fn ports(instances: &[ServiceInstance]) -> Vec<u16> {
        instances.iter().map(ServiceInstance::port).collect()
    }

    #[test]
    fn a_change_says_what_came_what_went_and_what_differs() {
        let mut differences = Differences::default();
        let first = differences.next(list(&[(2, 1.0), (1, 1.0), (1, 5.0)])).unwrap();
        assert_eq!((ports(&first.list), ports(&first.added)), (vec![1, 2], vec![1, 2]));
        assert!(differences.next(list(&[(1, 1.0), (2, 1.0)])).is_none(), "nothing changed");
        let second = differences.next(list(&[(1, 3.0), (4, 1.0)])).unwrap();
        assert_eq!(
            (ports(&second.added), ports(&second.removed), ports(&second.modified)),
            (vec![4], vec![2], vec![1])
        );
    }

    #[test]
    fn an_empty_first_list_is_a_change_and_a_second_one_is_none() {
        let mut differences = Differences::default();
        assert!(differences.next(list(&[])).is_some());
        assert!(differences.next(list(&[])).is_none());
    }
}
