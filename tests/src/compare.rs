//! Compares an answer with a recorded one.
//!
//! Types and codes, key sets and JSON types must be equal, and so must values, except for what no two runs share: ids, times
//! and the order of lists that have none.

mod http;
mod mask;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

pub use http::{Reply, replies};
use mask::{is_machine_text, masked};

/// What kind of difference it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Another message type, `resultCode` or `errorCode`.
    Code,
    /// A key that the recorded message has is missing. Never acceptable.
    MissingKey,
    /// A key that the recorded message lacks, and that is none of [`EXTRA_KEYS`].
    ExtraKey,
    /// A value of another JSON type; whole numbers and fractions are two types. Never acceptable.
    JsonType,
    /// Another value.
    Value,
    /// Another gRPC or HTTP status.
    Status,
    /// Another content type of an HTTP answer.
    ContentType,
    /// A recorded message from the server did not come, or came by another stream.
    Push,
    /// A message from the server that was not recorded.
    ExtraPush,
    /// A stream ended otherwise than recorded.
    StreamEnd,
}

impl Kind {
    /// True where no reason whatever excuses the difference.
    pub fn is_never_acceptable(self) -> bool {
        matches!(self, Self::MissingKey | Self::JsonType)
    }
}

/// One difference between a recorded message and ours.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// Its kind.
    pub kind: Kind,
    /// Where and what, for humans.
    pub text: String,
}

impl Difference {
    /// A difference of the given kind.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text)
    }
}

/// Keys that ours may have beyond the recorded ones: the flag of a list has one name up to 2.5 and another from 3.0 on, and we
/// write both.
pub const EXTRA_KEYS: [&str; 2] = ["allIPs", "allIps"];

/// Every host of every recorded list has these keys, unless its registrant gave no `ip`.
const HOST_KEYS: [&str; 13] = [
    "instanceId",
    "ip",
    "port",
    "weight",
    "healthy",
    "enabled",
    "ephemeral",
    "clusterName",
    "serviceName",
    "metadata",
    "instanceHeartBeatInterval",
    "instanceHeartBeatTimeOut",
    "ipDeleteTimeout",
];

/// How strictly to compare.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Options {
    /// The recorded list may be older than the last change, so its hosts say nothing about ours.
    pub stale: bool,
    /// Abilities are what a server can do, not what a message looks like.
    pub any_abilities: bool,
    /// Only keys and types count: the values are of things that the two servers do not share.
    pub shape: bool,
}

impl Options {
    /// The recorded list may be out of date.
    #[must_use]
    pub fn stale(mut self, stale: bool) -> Self {
        self.stale = stale;
        self
    }

    /// The abilities in a `SetupAckRequest` may differ.
    #[must_use]
    pub fn any_abilities(mut self, any: bool) -> Self {
        self.any_abilities = any;
        self
    }

    /// Values say nothing.
    #[must_use]
    pub fn shape(mut self, shape: bool) -> Self {
        self.shape = shape;
        self
    }
}

/// Compares a message (type and body) with a recorded one.
///
/// Messages of different type or code are not compared further.
pub fn messages(recorded: (&str, &str), ours: (&str, &str), options: Options) -> Vec<Difference> {
    let parse = |text: &str| serde_json::from_str::<Value>(text);
    let Ok(recorded_body) = parse(recorded.1) else {
        return vec![Difference::new(Kind::Value, format!("the recorded body is no JSON: {}", recorded.1))];
    };
    let Ok(our_body) = parse(ours.1) else {
        return vec![Difference::new(Kind::JsonType, format!("the body is no JSON: {}", ours.1))];
    };
    let codes = |body: &Value| (body.get("resultCode").cloned(), body.get("errorCode").cloned());
    if recorded.0 != ours.0 || codes(&recorded_body) != codes(&our_body) {
        let text = format!("recorded {} {}, ours {} {}", recorded.0, short(&recorded_body), ours.0, short(&our_body));
        return vec![Difference::new(Kind::Code, text)];
    }
    let mut differences = Vec::new();
    let page = recorded_body.get("serviceNames").and_then(Value::as_array).map(Vec::len);
    let count = recorded_body.get("count").and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    let whole_list = page == count;
    Walk { options, whole_list, out: &mut differences }.value("", &recorded_body, &our_body);
    differences
}

struct Walk<'a> {
    options: Options,
    /// The answer is not one page of several.
    whole_list: bool,
    out: &'a mut Vec<Difference>,
}

impl Walk<'_> {
    fn differ(&mut self, kind: Kind, path: &str, recorded: &Value, ours: &Value) {
        self.out.push(Difference::new(kind, format!("{path}: recorded {}, ours {}", short(recorded), short(ours))));
    }

    fn value(&mut self, path: &str, recorded: &Value, ours: &Value) {
        if json_type(recorded) != json_type(ours) {
            return self.differ(Kind::JsonType, path, recorded, ours);
        }
        let key = path.rsplit('.').next().unwrap_or_default();
        match (recorded, ours) {
            (Value::Object(_), Value::Object(ours)) if key == "abilityTable" && self.options.any_abilities => {
                let odd = ours.iter().find(|(_, ability)| !ability.is_boolean());
                self.out.extend(odd.map(|(name, _)| Difference::new(Kind::JsonType, format!("{path}.{name}"))));
            }
            // Its keys are names of groups of a cluster.
            (Value::Object(_), Value::Object(_)) if key == "metaDataMap" && recorded == ours => {}
            (Value::Object(_), Value::Object(_)) if key == "metaDataMap" => {
                self.differ(Kind::Value, path, recorded, ours);
            }
            (Value::Object(recorded), Value::Object(ours)) => self.object(path, recorded, ours),
            (Value::Array(recorded), Value::Array(ours)) => {
                let objects =
                    ["hosts", "instances"].contains(&key) || recorded.iter().chain(ours).any(Value::is_object);
                if objects { self.objects(path, recorded, ours) } else { self.names(path, recorded, ours) }
            }
            (Value::String(recorded), _) if key == "message" && is_machine_text(recorded) => {}
            _ if self.options.shape => {}
            _ if masked(key, recorded) != masked(key, ours) => self.differ(Kind::Value, path, recorded, ours),
            _ => {}
        }
    }

    fn object(&mut self, path: &str, recorded: &Map<String, Value>, ours: &Map<String, Value>) {
        for (key, value) in recorded {
            let path = format!("{path}.{key}");
            match ours.get(key) {
                Some(our) => self.value(&path, value, our),
                // Metadata are texts, and nothing is none.
                None if value.is_null() && path.contains(".metadata.") => {
                    self.out.push(Difference::new(Kind::Value, format!("{path}: recorded null")));
                }
                None => self.out.push(Difference::new(Kind::MissingKey, path)),
            }
        }
        for key in ours.keys().filter(|key| !recorded.contains_key(*key) && !EXTRA_KEYS.contains(&key.as_str())) {
            self.out.push(Difference::new(Kind::ExtraKey, format!("{path}.{key}")));
        }
    }

    /// Lists of other than objects are of names, which have no order. Nothing is known about which of them a page shows, so
    /// only what came in one page is compared by content.
    fn names(&mut self, path: &str, recorded: &[Value], ours: &[Value]) {
        if let Some(odd) = ours.iter().find(|item| !item.is_string()) {
            self.differ(Kind::JsonType, path, &Value::from(recorded), odd);
        }
        let sorted = |names: &[Value]| names.iter().map(Value::to_string).collect::<BTreeSet<_>>();
        if self.options.shape {
            return;
        }
        if recorded.len() != ours.len() || (self.whole_list && sorted(recorded) != sorted(ours)) {
            self.differ(Kind::Value, path, &Value::from(recorded), &Value::from(ours));
        }
    }

    /// Hosts, and what else comes in lists of objects, have no order either.
    fn objects(&mut self, path: &str, recorded: &[Value], ours: &[Value]) {
        let says_nothing = self.options.stale || self.options.shape;
        if says_nothing || recorded.len() != ours.len() {
            if !says_nothing {
                self.differ(Kind::Value, path, &Value::from(recorded), &Value::from(ours));
            }
            return self.shapes(path, recorded.first(), ours);
        }
        let sorted = |objects: &[Value]| {
            let mut objects: Vec<Value> = objects.to_vec();
            objects.sort_by_cached_key(order);
            objects
        };
        for (at, (recorded, ours)) in sorted(recorded).iter().zip(&sorted(ours)).enumerate() {
            self.value(&format!("{path}[{at}]"), recorded, ours);
        }
    }

    /// Objects that have no counterpart still have to look like the recorded ones.
    fn shapes(&mut self, path: &str, like: Option<&Value>, ours: &[Value]) {
        let are_hosts = ["hosts", "instances"].iter().any(|key| path.ends_with(key));
        let of_like = like.and_then(Value::as_object).into_iter().flat_map(Map::keys).map(String::as_str);
        let keys: Vec<&str> = if are_hosts { HOST_KEYS.to_vec() } else { of_like.collect() };
        for (at, object) in ours.iter().enumerate() {
            for key in &keys {
                let path = format!("{path}[{at}].{key}");
                match (like.and_then(|like| like.get(key)), object.get(key)) {
                    (_, None) => self.out.push(Difference::new(Kind::MissingKey, path)),
                    (Some(recorded), Some(our)) if json_type(recorded) != json_type(our) => {
                        self.differ(Kind::JsonType, &path, recorded, our)
                    }
                    _ => {}
                }
            }
        }
    }
}

/// What identifies an object in a list.
const IDENTITY: [&str; 12] = [
    "namespace",
    "namespaceId",
    "serviceName",
    "name",
    "groupName",
    "clientId",
    "ip",
    "port",
    "clusterName",
    "resource",
    "weight",
    "metadata",
];

fn order(object: &Value) -> String {
    IDENTITY.map(|key| object.get(key).map(Value::to_string)).map(Option::unwrap_or_default).join("|")
}

/// The JSON type, with whole numbers and fractions told apart.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "fraction",
        Value::Number(_) => "whole number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
