use std::collections::BTreeMap;
use std::sync::Arc;

use super::instance::{Host, Instance};

/// What an operator says about one instance. It wins over what the registrant says, whenever that registers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Override {
    pub(crate) weight: Option<f64>,
    pub(crate) enabled: Option<bool>,
    /// Merged over the registered metadata.
    pub(crate) metadata: BTreeMap<String, String>,
}

impl Override {
    fn applied(&self, registered: &Instance) -> Instance {
        let mut shown = registered.clone();
        shown.weight = self.weight.unwrap_or(shown.weight);
        shown.enabled = self.enabled.unwrap_or(shown.enabled);
        if !self.metadata.is_empty() {
            let mut merged: BTreeMap<Box<str>, Box<str>> = shown.metadata.into_vec().into_iter().collect();
            let over = self.metadata.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into()));
            merged.extend(over);
            shown.metadata = merged.into_iter().collect();
        }
        shown
    }
}

#[derive(Debug)]
struct Entry {
    host: Host,
    port: u16,
    cluster: Arc<str>,
    over: Override,
    /// Seconds of the server's own clock when the instance was first seen to be gone.
    gone_since: Option<u32>,
}

impl Entry {
    fn row(&self) -> (&Host, u16, &str) {
        (&self.host, self.port, &self.cluster)
    }
}

/// The overrides of one service, by address and cluster. There are few.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    /// Sorted by row.
    entries: Vec<Entry>,
    /// The revision of the service that `gone_since` was brought up to date for.
    looked_at: Option<u64>,
}

impl Overrides {
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn get(&self, row: (&Host, u16, &str)) -> Option<&Override> {
        let at = self.entries.binary_search_by(|entry| entry.row().cmp(&row)).ok()?;
        self.entries.get(at).map(|entry| &entry.over)
    }

    pub(super) fn set(&mut self, host: &Host, port: u16, cluster: &Arc<str>, over: Override) {
        self.looked_at = None;
        match self.entries.binary_search_by(|entry| entry.row().cmp(&(host, port, cluster))) {
            Ok(at) => {
                if let Some(entry) = self.entries.get_mut(at) {
                    entry.over = over;
                }
            }
            Err(at) => {
                let (host, cluster) = (host.clone(), Arc::clone(cluster));
                self.entries.insert(at, Entry { host, port, cluster, over, gone_since: None });
            }
        }
    }

    /// The instance as it is shown.
    pub(super) fn applied(&self, registered: Arc<Instance>) -> Arc<Instance> {
        match self.get(registered.row()) {
            Some(over) => Arc::new(over.applied(&registered)),
            None => registered,
        }
    }

    /// Drops what belongs to instances that have been gone for `after` seconds, and says of how many. `present` are those that are registered; it is
    /// only asked for when the service has changed.
    pub(super) fn expire<'a, I>(
        &mut self,
        revision: u64,
        present: impl FnOnce() -> I,
        seconds: u32,
        after: u32,
    ) -> usize
    where
        I: Iterator<Item = &'a Arc<Instance>>,
    {
        if self.looked_at != Some(revision) {
            self.looked_at = Some(revision);
            let mut seen = vec![false; self.entries.len()];
            for instance in present() {
                if let Ok(at) = self.entries.binary_search_by(|entry| entry.row().cmp(&instance.row())) {
                    seen[at] = true;
                }
            }
            for (entry, seen) in self.entries.iter_mut().zip(seen) {
                entry.gone_since = if seen { None } else { entry.gone_since.or(Some(seconds)) };
            }
        }
        let before = self.entries.len();
        self.entries.retain(|entry| entry.gone_since.is_none_or(|since| seconds.saturating_sub(since) < after));
        before - self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::InstanceId;

    fn instance(last: u8, metadata: &[(&str, &str)]) -> Arc<Instance> {
        Arc::new(Instance {
            host: Host::new(Some(&format!("10.0.0.{last}"))),
            cluster: "DEFAULT".into(),
            weight: 1.0,
            id: InstanceId::Derived,
            metadata: metadata.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            port: 80,
            healthy: true,
            enabled: true,
        })
    }

    fn over(weight: f64, metadata: &[(&str, &str)]) -> Override {
        let metadata = metadata.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Override { weight: Some(weight), enabled: None, metadata }
    }

    #[test]
    fn an_override_replaces_weight_and_enabled_and_merges_metadata() {
        let mut overrides = Overrides::default();
        let one = instance(1, &[("a", "1"), ("b", "2")]);
        overrides.set(&one.host, 80, &one.cluster, over(7.5, &[("b", "3"), ("c", "4")]));
        let shown = overrides.applied(Arc::clone(&one));
        assert_eq!((shown.weight, shown.enabled, shown.healthy), (7.5, true, true));
        assert_eq!([shown.metadata("a"), shown.metadata("b"), shown.metadata("c")], [Some("1"), Some("3"), Some("4")]);
        let again = overrides.applied(instance(1, &[("b", "9"), ("fresh", "1")]));
        assert_eq!((again.weight, again.metadata("b"), again.metadata("fresh")), (7.5, Some("3"), Some("1")));
        assert_eq!(again.metadata("a"), None, "what only the earlier registration had is gone");
        let other = instance(2, &[]);
        assert!(Arc::ptr_eq(&overrides.applied(Arc::clone(&other)), &other));
        overrides.set(&one.host, 80, &one.cluster, Override { enabled: Some(false), ..Override::default() });
        let disabled = overrides.applied(Arc::clone(&one));
        assert_eq!((disabled.weight, disabled.enabled, disabled.metadata.len()), (1.0, false, 2));
    }

    #[test]
    fn an_override_goes_a_while_after_its_instance() {
        let one = instance(1, &[]);
        let set = |overrides: &mut Overrides| overrides.set(&one.host, 80, &one.cluster, over(2.0, &[]));
        let mut overrides = Overrides::default();
        set(&mut overrides);
        let present = || [&one].into_iter();
        let nobody = || std::iter::empty();
        overrides.expire(1, present, 1_000, 60);
        assert!(!overrides.is_empty());
        overrides.expire(2, nobody, 1_001, 60);
        overrides.expire(2, || -> std::iter::Empty<_> { unreachable!("nothing has changed") }, 1_060, 60);
        assert!(!overrides.is_empty(), "59 s");
        overrides.expire(3, present, 1_060, 60);
        overrides.expire(3, present, 5_000, 60);
        assert!(!overrides.is_empty(), "it came back in time");
        overrides.expire(4, nobody, 5_000, 60);
        overrides.expire(4, nobody, 5_060, 60);
        assert!(overrides.is_empty());
        set(&mut overrides);
        overrides.expire(4, nobody, 5_061, 60);
        assert!(!overrides.is_empty(), "one for an instance that never was there waits as long");
        assert_eq!(overrides.expire(4, nobody, 5_121, 60), 1);
        assert!(overrides.is_empty());
    }
}
