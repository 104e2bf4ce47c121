//! How instances and their changes are shown.

use std::{collections::BTreeSet, time::SystemTime};

use nacos_client::Instance;
use serde_json::{Value, json};

use crate::output::Tone;

/// What matters first about an instance, in a word, with what it means for traffic.
pub(crate) fn state(instance: &Instance) -> (&'static str, Option<Tone>) {
    match instance {
        Instance { enabled: false, .. } => ("disabled", Some(Tone::Faint)),
        Instance { healthy: false, .. } => ("unhealthy", Some(Tone::Bad)),
        _ if !instance.is_pickable() => ("no weight", Some(Tone::Doubtful)),
        _ => ("healthy", None),
    }
}

/// The instance as a document.
pub(crate) fn document(instance: &Instance) -> Value {
    json!({
        "ip": instance.ip,
        "port": instance.port,
        "cluster": instance.cluster,
        "weight": instance.weight,
        "healthy": instance.healthy,
        "enabled": instance.enabled,
        "ephemeral": instance.ephemeral,
        "metadata": instance.metadata,
    })
}

/// `key=value key=value`
pub(crate) fn metadata<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let entries: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key}={value}")).collect();
    entries.join(" ")
}

/// Everything but the address, in one line.
pub(crate) fn fields(instance: &Instance) -> String {
    let mut text = format!("{} cluster={} weight={}", state(instance).0, instance.cluster, instance.weight);
    if !instance.ephemeral {
        text.push_str(" persistent");
    }
    if !instance.metadata.is_empty() {
        text.push(' ');
        text.push_str(&metadata(&instance.metadata));
    }
    text
}

/// What differs between two states of an instance, as `field: old → new`.
pub(crate) fn differences(old: &Instance, new: &Instance) -> Vec<String> {
    let mut all = Vec::new();
    let mut compare = |name: &str, old: String, new: String| {
        if old != new {
            all.push(format!("{name}: {old} → {new}"));
        }
    };
    compare("weight", old.weight.to_string(), new.weight.to_string());
    compare("healthy", old.healthy.to_string(), new.healthy.to_string());
    compare("enabled", old.enabled.to_string(), new.enabled.to_string());
    compare("ephemeral", old.ephemeral.to_string(), new.ephemeral.to_string());
    let keys: BTreeSet<&String> = old.metadata.keys().chain(new.metadata.keys()).collect();
    for key in keys {
        let value = |of: &Instance| of.metadata.get(key).map_or_else(|| "(none)".to_owned(), String::clone);
        compare(&format!("metadata {key}"), value(old), value(new));
    }
    all
}

/// The moment, as `2026-01-02T03:04:05.678Z`.
pub(crate) fn now() -> String {
    humantime::format_rfc3339_millis(SystemTime::now()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_changed_field_is_named_and_nothing_else() {
        let old = Instance::new(("10.0.0.1", 80)).metadata("zone", "a").metadata("same", "1");
        let new = Instance::new(("10.0.0.1", 80)).weight(2.0).metadata("zone", "b").metadata("same", "1");
        assert_eq!(differences(&old, &new), ["weight: 1 → 2", "metadata zone: a → b"]);
        assert!(differences(&old, &old).is_empty());
        let without = Instance::new(("10.0.0.1", 80)).enabled(false).metadata("same", "1");
        assert_eq!(differences(&old, &without), ["enabled: true → false", "metadata zone: a → (none)"]);
    }

    #[test]
    fn the_worst_is_what_is_said() {
        let word = |instance: Instance| state(&instance).0;
        let good = || Instance::new(("h", 1));
        assert_eq!(word(good()), "healthy");
        assert_eq!(word(good().weight(0.0)), "no weight");
        assert_eq!(word(good().healthy(false).weight(0.0)), "unhealthy");
        assert_eq!(word(good().healthy(false).enabled(false)), "disabled");
    }
}
