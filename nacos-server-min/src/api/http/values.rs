//! Parameters whose values are written in a language of their own.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::ops::InstanceKey;
use crate::registry::{DEFAULT_CLUSTER, HealthChecker, Selector};

/// Text that is no JSON, where JSON was to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

/// Why a text is no selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SelectorError {
    Broken,
    /// There is no such type of selector.
    Unknown,
}

/// What the real server says about an unknown type of selector.
pub(super) const UNKNOWN_SELECTOR: &str = "not match any type of selector!";

/// A JSON object of simple values, or `key=value` pairs with commas between them. `Err` holds what the real server says.
pub(super) fn metadata(text: &str) -> Result<BTreeMap<String, String>, String> {
    if text.trim().is_empty() {
        return Ok(BTreeMap::new());
    }
    if let Ok(Value::Object(object)) = serde_json::from_str(text)
        && !object.values().any(|value| value.is_object() || value.is_array())
    {
        return Ok(object.into_iter().filter_map(|(key, value)| simple(value).map(|v| (key, v))).collect());
    }
    let pair = |pair: &str| match pair.split('=').collect::<Vec<_>>().as_slice() {
        [key, value] if !value.is_empty() => Some(((*key).to_owned(), (*value).to_owned())),
        _ => None,
    };
    let pairs: Option<BTreeMap<String, String>> = text.split(',').map(pair).collect();
    pairs.ok_or_else(|| format!("metadata format incorrect:{text}"))
}

fn simple(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

fn object(text: &str) -> Result<Map<String, Value>, Broken> {
    serde_json::from_str(text).map_err(|_| Broken)
}

fn text_of(object: &Map<String, Value>, key: &str) -> Option<String> {
    object.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// `{"type":"label","expression":…}`; blank is no selector.
pub(super) fn selector(text: &str) -> Result<Selector, SelectorError> {
    if text.trim().is_empty() {
        return Ok(Selector::None);
    }
    let object = object(text).map_err(|Broken| SelectorError::Broken)?;
    match text_of(&object, "type").as_deref() {
        Some("none") => Ok(Selector::None),
        Some("label") => Ok(Selector::Label(text_of(&object, "expression").unwrap_or_default())),
        _ => Err(SelectorError::Unknown),
    }
}

pub(super) fn selector_json(selector: &Selector) -> Value {
    match selector {
        Selector::None => json!({ "type": "none", "contextType": "NONE" }),
        Selector::Label(expression) => json!({ "type": "label", "contextType": "CMDB", "expression": expression }),
    }
}

/// `{"type":"HTTP","path":…}`; an unknown type is none.
pub(super) fn checker(text: &str) -> Result<HealthChecker, Broken> {
    let object = object(text)?;
    let text = |key| text_of(&object, key);
    let expected =
        || object.get("expectedResponseCode").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    Ok(match text("type").as_deref() {
        Some("TCP") => HealthChecker::Tcp,
        Some("HTTP") => HealthChecker::Http {
            path: text("path").unwrap_or_default(),
            headers: text("headers").unwrap_or_default(),
            expected: expected().unwrap_or(200),
        },
        Some("MYSQL") => HealthChecker::Mysql { user: text("user"), password: text("pwd"), command: text("cmd") },
        _ => HealthChecker::None,
    })
}

pub(super) fn checker_json(checker: &HealthChecker) -> Value {
    match checker {
        HealthChecker::Tcp => json!({ "type": "TCP" }),
        HealthChecker::Http { path, headers, expected } => {
            json!({ "type": "HTTP", "path": path, "headers": headers, "expectedResponseCode": expected })
        }
        HealthChecker::Mysql { user, password, command } => {
            json!({ "type": "MYSQL", "user": user, "pwd": password, "cmd": command })
        }
        HealthChecker::None => json!({ "type": "NONE" }),
    }
}

/// The checkers there are, each with its defaults.
pub(super) fn checkers() -> Value {
    json!({
        "TCP": {},
        "HTTP": { "path": "", "headers": "", "expectedResponseCode": 200 },
        "MYSQL": { "user": null, "pwd": null, "cmd": null },
        "NONE": {},
    })
}

/// `[{"ip":…,"port":…,"clusterName":…},…]`; what is no instance is left out. `None`: nothing is listed, so all are meant.
pub(super) fn instances(text: &str) -> Result<Option<Vec<InstanceKey>>, Broken> {
    if text.trim().is_empty() {
        return Ok(None);
    }
    let listed: Vec<Map<String, Value>> = serde_json::from_str(text).map_err(|_| Broken)?;
    if listed.is_empty() {
        return Ok(None);
    }
    let key = |one: &Map<String, Value>| {
        let port = one.get("port").and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok())?;
        let cluster = text_of(one, "clusterName").filter(|text| !text.trim().is_empty());
        Some(InstanceKey::new(&text_of(one, "ip")?, port, cluster.as_deref().unwrap_or(DEFAULT_CLUSTER)))
    };
    Ok(Some(listed.iter().filter_map(key).collect()))
}

/// A number as Java reads one: a trailing `d` or `f` is part of its syntax, and so are hexadecimal numbers.
pub(super) fn double(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let hex = hex.trim_end_matches(['d', 'D', 'f', 'F']);
        let (mantissa, exponent) = hex.split_once(['p', 'P'])?;
        let mantissa = u32::from_str_radix(mantissa, 16).ok()?;
        return Some(f64::from(mantissa) * 2_f64.powi(exponent.parse().ok()?));
    }
    let digits =
        text.strip_suffix(['d', 'D', 'f', 'F']).filter(|rest| rest.ends_with(|c: char| c.is_ascii_digit() || c == '.'));
    digits.unwrap_or(text).parse().ok()
}

/// The number that a single-precision number is written as, not the one next to it that it is.
pub(super) fn decimal(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_in_both_languages() {
        let of = |pairs: &[(&str, &str)]| {
            Ok(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
        };
        assert_eq!(metadata(r#"{"a":1,"b":true,"c":"d","e":null}"#), of(&[("a", "1"), ("b", "true"), ("c", "d")]));
        assert_eq!(metadata("a=1,b=2"), of(&[("a", "1"), ("b", "2")]));
        assert_eq!(metadata(" "), of(&[]));
        for text in ["a", "a=", "a=b=c", r#"{"a":{"b":1}}"#, r#"["a"]"#, r#"{"a":"1""#] {
            assert_eq!(metadata(text), Err(format!("metadata format incorrect:{text}")));
        }
    }

    #[test]
    fn selectors_and_checkers_are_shown_as_they_were_set() {
        assert_eq!(selector(""), Ok(Selector::None));
        assert_eq!(selector(r#"{"type":"zz"}"#), Err(SelectorError::Unknown));
        assert_eq!(selector("{"), Err(SelectorError::Broken));
        let label = selector(r#"{"type":"label","expression":"a = b"}"#).expect("a selector");
        assert_eq!(selector_json(&label)["expression"], "a = b");
        for text in [
            r#"{"type":"TCP"}"#,
            r#"{"type":"NONE"}"#,
            r#"{"type":"HTTP","path":"/h","headers":"a:b","expectedResponseCode":204}"#,
            r#"{"type":"MYSQL","user":"u","pwd":"p","cmd":"select 1"}"#,
        ] {
            let read = checker(text).expect("a checker");
            assert_eq!(checker_json(&read), serde_json::from_str::<Value>(text).expect("JSON"));
        }
        assert_eq!((checker(r#"{"type":"ZZZ"}"#), checker("{")), (Ok(HealthChecker::None), Err(Broken)));
    }

    #[test]
    fn numbers_as_java_writes_them() {
        let read = ["1e3", "0x1p3", "1d", " 2.5F ", "1.", "abc", "d", "0x"].map(double);
        assert_eq!(read, [Some(1_000.0), Some(8.0), Some(1.0), Some(2.5), Some(1.0), None, None, None]);
        assert!(double("NaN").is_some_and(f64::is_nan));
        assert_eq!([0.3, 0.7, 1.0].map(decimal), [0.3_f64, 0.7, 1.0]);
    }

    #[test]
    fn lists_of_instances() {
        let read = instances(r#"[{"ip":"10.0.0.1","port":80},{"ip":"10.0.0.2","port":1,"clusterName":"c"},{}]"#);
        let listed = vec![InstanceKey::new("10.0.0.1", 80, "DEFAULT"), InstanceKey::new("10.0.0.2", 1, "c")];
        assert_eq!(read, Ok(Some(listed)));
        assert_eq!([instances(""), instances("[]"), instances("[{")], [Ok(None), Ok(None), Err(Broken)]);
        assert_eq!(instances("[{}]"), Ok(Some(Vec::new())), "what cannot be read is not everything");
    }
}
