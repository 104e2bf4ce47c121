use std::collections::{BTreeMap, BTreeSet};

/// Changes that somebody has not been told of: as few as there can be, the removals first. What came and went meanwhile is none of them,
/// so it never has more entries than there are instances, however long nobody listens.
#[derive(Debug)]
pub(super) struct Backlog<K, V> {
    /// What was told last.
    told: BTreeMap<K, V>,
    leaving: BTreeSet<K>,
    coming: BTreeMap<K, V>,
}

/// A change to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step<K, V> {
    Insert(K, V),
    Remove(K),
}

impl<K: Ord + Clone, V: Clone + PartialEq> Backlog<K, V> {
    pub(super) const fn new() -> Self {
        Self { told: BTreeMap::new(), leaving: BTreeSet::new(), coming: BTreeMap::new() }
    }

    /// It is there now, or is now another one. Nothing if that was told already.
    pub(super) fn insert(&mut self, key: K, value: V) {
        self.leaving.remove(&key);
        if self.told.get(&key) == Some(&value) {
            self.coming.remove(&key);
        } else {
            self.coming.insert(key, value);
        }
    }

    /// It is there no longer.
    pub(super) fn remove(&mut self, key: K) {
        self.coming.remove(&key);
        if self.told.contains_key(&key) {
            self.leaving.insert(key);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.leaving.is_empty() && self.coming.is_empty()
    }

    /// What is to be told next. It counts as told.
    pub(super) fn next(&mut self) -> Option<Step<K, V>> {
        if let Some(key) = self.leaving.pop_first() {
            self.told.remove(&key);
            return Some(Step::Remove(key));
        }
        let (key, value) = self.coming.pop_first()?;
        self.told.insert(key.clone(), value.clone());
        Some(Step::Insert(key, value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(backlog: &mut Backlog<u8, u8>) -> Vec<Step<u8, u8>> {
        std::iter::from_fn(|| backlog.next()).collect()
    }

    #[test]
    fn removals_come_first_and_what_came_and_went_is_not_told() {
        let mut backlog = Backlog::new();
        backlog.insert(1, 10);
        backlog.insert(2, 20);
        assert_eq!(all(&mut backlog), [Step::Insert(1, 10), Step::Insert(2, 20)]);
        backlog.insert(3, 30);
        backlog.remove(2);
        backlog.insert(4, 40);
        backlog.remove(4);
        assert_eq!(all(&mut backlog), [Step::Remove(2), Step::Insert(3, 30)]);
        assert!(backlog.is_empty());
    }

    #[test]
    fn who_comes_back_before_its_leaving_was_told_has_not_left() {
        let mut backlog = Backlog::new();
        backlog.insert(1, 10);
        assert_eq!(all(&mut backlog).len(), 1);
        backlog.remove(1);
        backlog.insert(1, 10);
        assert!(backlog.is_empty());
        backlog.remove(1);
        backlog.insert(1, 11);
        assert_eq!(all(&mut backlog), [Step::Insert(1, 11)], "at another address it is told as what it is now");
        backlog.insert(1, 12);
        backlog.insert(1, 11);
        assert!(backlog.is_empty());
    }

    proptest! {
        #[test]
        fn whoever_hears_all_steps_knows_what_is_there(
            events in prop::collection::vec((0_u8..5, prop::option::of(0_u8..3), any::<bool>()), 0..60),
        ) {
            let (mut backlog, mut there, mut heard) = (Backlog::new(), BTreeMap::new(), BTreeMap::new());
            let mut hear = |step: Step<u8, u8>| match step {
                Step::Insert(key, value) => assert_ne!(heard.insert(key, value), Some(value), "told twice"),
                Step::Remove(key) => assert!(heard.remove(&key).is_some(), "nobody knew of it"),
            };
            for (key, value, listens) in events {
                match value {
                    Some(value) => {
                        there.insert(key, value);
                        backlog.insert(key, value);
                    }
                    None => {
                        there.remove(&key);
                        backlog.remove(key);
                    }
                }
                prop_assert!(backlog.leaving.len() + backlog.coming.len() <= 10);
                if listens && let Some(step) = backlog.next() {
                    hear(step);
                }
            }
            while let Some(step) = backlog.next() {
                hear(step);
            }
            prop_assert_eq!(heard, there);
        }
    }
}
