//! What no two servers and no two runs share.

use serde_json::Value;

/// Keys of figures that are measured or counted by the machine at hand, and of the number of configurations in a namespace, as the
/// calls that wrote those are left out.
const MEASURED: [&str; 9] =
    ["cpu", "load", "mem", "lastRefreshTime", "lastUpdatedTime", "term", "failAccessCnt", "workerId", "configCount"];

/// A value with what differs from run to run replaced by whether it has the right shape.
pub(super) fn masked(key: &str, value: &Value) -> Value {
    match (key, value) {
        ("lastRefTime", Value::Number(number)) => Value::from(number.as_u64() > Some(1_000_000_000_000)),
        ("timestamp", Value::String(text)) => Value::from(is_time(text)),
        ("requestId", Value::String(id)) => Value::from(!id.is_empty() && id.bytes().all(|b| b.is_ascii_digit())),
        ("connectionId", Value::String(id)) => Value::from(is_connection_id(id)),
        ("instanceId", Value::String(id)) => Value::from(masked_number(id)),
        ("message", Value::String(text)) => Value::from(masked_message(text)),
        _ if MEASURED.contains(&key) => Value::Null,
        _ => value.clone(),
    }
}

/// `2026-11-30T06:56:00.071+00:00`.
fn is_time(text: &str) -> bool {
    let form = |c: char| if c.is_ascii_digit() { '0' } else { c };
    text.chars().map(form).eq("0000-00-00T00:00:00.000+00:00".chars())
}

/// `<epoch ms>_<ip>_<port>`.
fn is_connection_id(text: &str) -> bool {
    let digits = |part: Option<&str>| part.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
    let mut parts = text.split('_');
    digits(parts.next())
        && parts.next().is_some_and(|ip| !ip.is_empty())
        && digits(parts.next())
        && parts.next().is_none()
}

/// An id that starts with a long number got the number from the server.
fn masked_number(id: &str) -> String {
    match id.split_once('#') {
        Some((number, rest)) if number.len() > 9 && number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("<number>#{rest}")
        }
        _ => id.to_owned(),
    }
}

/// A text without connection ids.
fn masked_message(text: &str) -> String {
    let start = |text: &str| text.find('[').map(|at| at + 1);
    match start(text).and_then(|from| text.get(from..)?.find(']').map(|length| (from, from + length))) {
        Some((from, to)) if text.get(from..to).is_some_and(is_connection_id) => {
            format!("{}<connection>{}", text.get(..from).unwrap_or_default(), text.get(to..).unwrap_or_default())
        }
        _ => text.to_owned(),
    }
}

/// Parts of texts that the recorded server's virtual machine or framework made up.
const MACHINE_TEXTS: [&str; 8] = [
    "Cannot invoke",
    "fromIndex(",
    "deserialize",
    "java.lang.",
    "springframework",
    "cannot be translated into a null value",
    "near index",
    "acceptable representation",
];

/// True for a text that says nothing about the protocol: any text will do in its place.
pub(super) fn is_machine_text(text: &str) -> bool {
    MACHINE_TEXTS.iter().any(|part| text.contains(part))
}
