use std::collections::BTreeSet;
use std::sync::Arc;

/// The names of the services of a group, and what they differ by from those before.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServicesChange {
    /// All names as they are now, sorted.
    pub names: Arc<[String]>,
    /// Names that were not there before, sorted.
    pub added: Vec<String>,
    /// Names that are gone, sorted.
    pub removed: Vec<String>,
}

impl ServicesChange {
    /// What `names` change; `None` if nothing. The first names always are a change.
    pub(super) fn between(old: Option<&[String]>, names: Vec<String>) -> Option<Self> {
        let names: BTreeSet<String> = names.into_iter().collect();
        let before: BTreeSet<&String> = old.unwrap_or_default().iter().collect();
        let added: Vec<String> = names.iter().filter(|name| !before.contains(name)).cloned().collect();
        let removed: Vec<String> = before.into_iter().filter(|name| !names.contains(*name)).cloned().collect();
        if old.is_some() && added.is_empty() && removed.is_empty() {
            return None;
        }
        Some(Self { names: names.into_iter().collect(), added, removed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_regard_to_order_and_repetition() {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let first = ServicesChange::between(None, names(&["b", "a", "b"])).unwrap();
        assert_eq!((&*first.names, &first.added), (&*names(&["a", "b"]), &names(&["a", "b"])));
        assert_eq!(ServicesChange::between(Some(&first.names), names(&["b", "a"])), None);
        let second = ServicesChange::between(Some(&first.names), names(&["c", "b"])).unwrap();
        assert_eq!((second.added, second.removed), (names(&["c"]), names(&["a"])));
        assert!(ServicesChange::between(None, Vec::new()).is_some());
    }
}
