use std::borrow::Cow;
use std::fmt;

use nacos_client::Instance;

const INSTANCE_ID: &str = "nacos.instanceId";
const WEIGHT: &str = "nacos.weight";
const HEALTHY: &str = "nacos.healthy";
const CLUSTER: &str = "nacos.cluster";
const EPHEMERAL: &str = "nacos.ephemeral";
/// What Spring Cloud Alibaba puts into the metadata, sorted.
const DERIVED: [&str; 5] = [CLUSTER, EPHEMERAL, HEALTHY, INSTANCE_ID, WEIGHT];

/// The metadata of an instance as Spring Cloud Alibaba shows it: those that were registered, and five `nacos.*` entries
/// that are derived from the fields of the instance.
///
/// Registered entries of those five names are not shown: nobody can pretend another weight by his metadata. There they can.
#[derive(Clone, Copy)]
pub struct MetadataView<'a> {
    instance: &'a Instance,
}

impl<'a> MetadataView<'a> {
    pub(super) const fn new(instance: &'a Instance) -> Self {
        Self { instance }
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Cow<'a, str>> {
        if DERIVED.contains(&key) {
            return self.derived(key);
        }
        self.instance.metadata.get(key).map(|value| Cow::Borrowed(value.as_str()))
    }

    /// All entries: first the derived, then the registered ones, each sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Cow<'a, str>)> + use<'a> {
        let view = *self;
        let derived = DERIVED.iter().filter_map(move |key| view.derived(key).map(|value| (*key, value)));
        let registered = view.instance.metadata.iter().filter(|(key, _)| !DERIVED.contains(&key.as_str()));
        derived.chain(registered.map(|(key, value)| (key.as_str(), Cow::Borrowed(value.as_str()))))
    }

    fn derived(&self, key: &str) -> Option<Cow<'a, str>> {
        let instance = self.instance;
        Some(match key {
            INSTANCE_ID => Cow::Borrowed(instance.instance_id.as_deref()?),
            WEIGHT => Cow::Owned(java_double(instance.weight)),
            HEALTHY => Cow::Owned(instance.healthy.to_string()),
            CLUSTER => Cow::Borrowed(instance.cluster.as_str()),
            EPHEMERAL => Cow::Owned(instance.ephemeral.to_string()),
            _ => return None,
        })
    }
}

impl fmt::Debug for MetadataView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// A number as Java writes it: always with a fraction, with an exponent from 10⁷ on and below 10⁻³.
fn java_double(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if value == 0.0 || value.is_nan() || (1e-3..1e7).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let text = format!("{value:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_java_does() {
        for (value, text) in [
            (1.0, "1.0"),
            (0.0, "0.0"),
            (0.25, "0.25"),
            (0.001, "0.001"),
            (0.0005, "5.0E-4"),
            (10_000.0, "10000.0"),
            (1e7, "1.0E7"),
            (1.25e8, "1.25E8"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(java_double(value), text);
        }
    }

    #[test]
    fn registered_entries_cannot_pretend_to_be_derived_ones() {
        let mut instance = Instance::new(("10.0.0.1", 80)).weight(2.0).cluster("c1").persistent();
        instance.metadata.insert("nacos.weight".to_owned(), "9".to_owned());
        instance.metadata.insert("nacos.instanceId".to_owned(), "forged".to_owned());
        instance.metadata.insert("version".to_owned(), "v2".to_owned());
        let view = MetadataView::new(&instance);
        let entries: Vec<_> = view.iter().map(|(key, value)| (key, value.into_owned())).collect();
        let expected = [
            ("nacos.cluster", "c1"),
            ("nacos.ephemeral", "false"),
            ("nacos.healthy", "true"),
            ("nacos.weight", "2.0"),
            ("version", "v2"),
        ];
        assert_eq!(entries, expected.map(|(key, value)| (key, value.to_owned())));
        assert_eq!(view.get("nacos.instanceId"), None);
        assert_eq!(view.get("version").as_deref(), Some("v2"));
    }
}
