//! Reading answers leniently: what is absent, null or of another type counts as not told.

use std::collections::BTreeMap;

use serde_json::Value;

pub(super) fn text<'a>(json: &'a Value, name: &str) -> Option<&'a str> {
    json.get(name).and_then(Value::as_str)
}

/// A number, which may stand as a text.
pub(super) fn number(json: &Value, name: &str) -> Option<f64> {
    let value = json.get(name)?;
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

pub(super) fn count(json: &Value, name: &str) -> u64 {
    let value = json.get(name).unwrap_or(&Value::Null);
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok()).unwrap_or_default()
}

/// A boolean, which may stand as a text.
pub(super) fn flag(json: &Value, name: &str) -> Option<bool> {
    let value = json.get(name)?;
    value.as_bool().or_else(|| value.as_str()?.trim().parse().ok())
}

pub(super) fn entries(json: &Value, name: &str) -> BTreeMap<String, String> {
    let Some(object) = json.get(name).and_then(Value::as_object) else { return BTreeMap::new() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    object.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), text(value))).collect()
}

/// The list of this name, or the answer itself if it is one.
pub(super) fn list<'a>(json: &'a Value, names: &[&str]) -> Option<&'a [Value]> {
    if let Some(list) = json.as_array() {
        return Some(list);
    }
    names.iter().find_map(|name| json.get(name)?.as_array()).map(Vec::as_slice)
}
