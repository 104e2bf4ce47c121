use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::instance::DEFAULT_CLUSTER;

/// Namespaces, groups and clusters: few texts that stand in very many records, each kept once.
#[derive(Debug)]
pub(crate) struct Names {
    texts: Mutex<HashSet<Arc<str>>>,
    /// What almost every instance has: found without the lock.
    default_cluster: Arc<str>,
}

impl Default for Names {
    fn default() -> Self {
        Self { texts: Mutex::default(), default_cluster: DEFAULT_CLUSTER.into() }
    }
}

impl Names {
    pub(crate) fn intern(&self, text: &str) -> Arc<str> {
        if text == DEFAULT_CLUSTER {
            return Arc::clone(&self.default_cluster);
        }
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = texts.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        texts.insert(Arc::clone(&new));
        new
    }

    /// Forgets what nobody else holds. New holders can only come through `intern`, hence through the same lock.
    pub(crate) fn sweep(&self) {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).retain(|text| Arc::strong_count(text) > 1);
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.texts.lock().expect("no test panics while holding it").len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once_and_only_while_it_is_used() {
        let names = Names::default();
        let first = names.intern("public");
        assert!(Arc::ptr_eq(&first, &names.intern("public")));
        names.intern("gone");
        names.sweep();
        assert_eq!(names.len(), 1);
        drop(first);
        names.sweep();
        assert_eq!(names.len(), 0);
    }
}
