use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A namespace that somebody declared. Naming works in undeclared ones too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Namespace {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

/// The declared namespaces, except the one that always exists. Kept in memory.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    all: Mutex<BTreeMap<String, Namespace>>,
}

impl Namespaces {
    /// False if the id is taken already.
    pub(crate) fn create(&self, namespace: Namespace) -> bool {
        let mut all = self.lock();
        if all.contains_key(&namespace.id) {
            return false;
        }
        all.insert(namespace.id.clone(), namespace);
        true
    }

    /// Changes name and description; an unknown id changes nothing.
    pub(crate) fn update(&self, namespace: Namespace) {
        if let Some(known) = self.lock().get_mut(&namespace.id) {
            *known = namespace;
        }
    }

    /// Forgets the declaration; what is registered in the namespace stays.
    pub(crate) fn delete(&self, id: &str) {
        self.lock().remove(id);
    }

    pub(crate) fn get(&self, id: &str) -> Option<Namespace> {
        self.lock().get(id).cloned()
    }

    /// By id.
    pub(crate) fn list(&self) -> Vec<Namespace> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Namespace>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(id: &str, name: &str) -> Namespace {
        Namespace { id: id.to_owned(), name: name.to_owned(), description: None }
    }

    #[test]
    fn only_what_was_declared_is_listed_and_changed() {
        let all = Namespaces::default();
        assert!(all.create(namespace("b", "B")) && all.create(namespace("a", "A")));
        assert!(!all.create(namespace("a", "another")), "an id is declared once");
        all.update(namespace("a", "renamed"));
        all.update(namespace("c", "nobody"));
        assert_eq!(all.list(), [namespace("a", "renamed"), namespace("b", "B")]);
        all.delete("b");
        all.delete("c");
        assert_eq!((all.get("a"), all.get("b")), (Some(namespace("a", "renamed")), None));
    }
}
