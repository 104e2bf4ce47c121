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
        let before = |instance: &ServiceInstance| last.as_ref().and_then(|last| last.find(instance));
        let (known, added): (Vec<_>, Vec<_>) = list.iter().cloned().partition(|instance| before(instance).is_some());
        let modified: Vec<_> =
            known.into_iter().filter(|new| before(new).is_some_and(|old| !old.same_content(new))).collect();
        let removed: Vec<_> =
            last.iter().flat_map(|last| last.iter()).filter(|old| list.find(old).is_none()).cloned().collect();
        let marked = last.is_none_or(|last| !last.same_marks(&list));
        let changed = marked || !(added.is_empty() && removed.is_empty() && modified.is_empty());
        changed.then_some(InstancesChange { list, added, removed, modified })
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
