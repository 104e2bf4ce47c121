//! Readers for what real peers write where a number, a boolean or a text is expected.
//!
//! They follow the reference implementation's JSON mapper: primitives take null and `""` (0, false), numeric and boolean
//! strings; integers take fractions, cut off; texts take numbers and booleans. Anything else is an error.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::grpc::MetadataMap;

/// The first JSON value of a text that may start with a byte-order mark, repeat keys (the last one counts), hold numbers
/// beyond a double's range (read as `"Infinity"`), and go on after the value.
pub(crate) fn first_value(json: &[u8]) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
    let text = std::str::from_utf8(json)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = quote_overflowing_numbers(text);
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    values.next().ok_or("an empty body")?.map_err(Into::into)
}

fn quote_overflowing_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '-' || c.is_ascii_digit()) {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let end = if found.starts_with('"') { string_end(found) } else { number_end(found) };
        let (token, after) = found.split_at(end);
        match token.parse::<f64>() {
            Ok(number) if number.is_infinite() => {
                out.push_str(if number > 0.0 { "\"Infinity\"" } else { "\"-Infinity\"" })
            }
            _ => out.push_str(token),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Length of the string literal at the start of `text`, quotes included.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn number_end(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'))).unwrap_or(text.len())
}

/// Text, or `None` for null.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Option<String>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text")
        }
        fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
            Ok(Some(value.to_owned()))
        }
        fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
            Ok(Some(value))
        }
        fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
            Ok(Some(value.to_string()))
        }
        fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
            Ok(Some(value.to_string()))
        }
        fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
            Ok(Some(value.to_string()))
        }
        fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
            Ok(Some(value.to_string()))
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }
    deserializer.deserialize_any(Text)
}

/// Text, with null as `""`.
pub(crate) fn text_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    text(deserializer).map(Option::unwrap_or_default)
}

/// A whole number, or `None` for anything that is none.
pub(crate) fn readable_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    Ok(Option::<Value>::deserialize(deserializer)?.and_then(|value| integer(value).ok()))
}

/// A whole number.
pub(crate) fn integer<'de, D: Deserializer<'de>, T: TryFrom<i64>>(deserializer: D) -> Result<T, D::Error> {
    struct Integer;
    impl Visitor<'_> for Integer {
        type Value = i64;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number")
        }
        fn visit_i64<E>(self, value: i64) -> Result<i64, E> {
            Ok(value)
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<i64, E> {
            i64::try_from(value).map_err(E::custom)
        }
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the range is checked, and fractions are meant to be cut off"
        )]
        fn visit_f64<E: de::Error>(self, value: f64) -> Result<i64, E> {
            // 2^63 is the first double beyond i64.
            if value.is_finite() && value.abs() < 9_223_372_036_854_775_808.0 {
                Ok(value as i64)
            } else {
                Err(E::custom("a number out of range"))
            }
        }
        fn visit_str<E: de::Error>(self, value: &str) -> Result<i64, E> {
            let value = value.trim();
            if value.is_empty() { Ok(0) } else { value.parse().map_err(E::custom) }
        }
        fn visit_unit<E>(self) -> Result<i64, E> {
            Ok(0)
        }
    }
    let number = deserializer.deserialize_any(Integer)?;
    T::try_from(number).map_err(|_| de::Error::custom("a number out of range"))
}

/// A number; `"NaN"`, `"Infinity"` and `"-Infinity"` are how peers write what JSON cannot.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    struct Number;
    impl Visitor<'_> for Number {
        type Value = f64;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number")
        }
        fn visit_f64<E>(self, value: f64) -> Result<f64, E> {
            Ok(value)
        }
        #[expect(clippy::cast_precision_loss, reason = "a double is what the field is")]
        fn visit_i64<E>(self, value: i64) -> Result<f64, E> {
            Ok(value as f64)
        }
        #[expect(clippy::cast_precision_loss, reason = "a double is what the field is")]
        fn visit_u64<E>(self, value: u64) -> Result<f64, E> {
            Ok(value as f64)
        }
        fn visit_str<E: de::Error>(self, value: &str) -> Result<f64, E> {
            let value = value.trim();
            if value.is_empty() { Ok(0.0) } else { value.parse().map_err(E::custom) }
        }
        fn visit_unit<E>(self) -> Result<f64, E> {
            Ok(0.0)
        }
    }
    deserializer.deserialize_any(Number)
}

/// A boolean.
pub(crate) fn boolean<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    struct Boolean;
    impl Visitor<'_> for Boolean {
        type Value = bool;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a boolean")
        }
        fn visit_bool<E>(self, value: bool) -> Result<bool, E> {
            Ok(value)
        }
        fn visit_i64<E>(self, value: i64) -> Result<bool, E> {
            Ok(value != 0)
        }
        fn visit_u64<E>(self, value: u64) -> Result<bool, E> {
            Ok(value != 0)
        }
        fn visit_str<E: de::Error>(self, value: &str) -> Result<bool, E> {
            match value.trim() {
                "true" | "True" | "TRUE" => Ok(true),
                "false" | "False" | "FALSE" | "" => Ok(false),
                _ => Err(E::custom("a text that is no boolean")),
            }
        }
        fn visit_unit<E>(self) -> Result<bool, E> {
            Ok(false)
        }
    }
    deserializer.deserialize_any(Boolean)
}

/// An object, or `None` for null. Derived readers alone would also take an array.
pub(crate) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_any(ObjectVisitor(PhantomData))
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// An object wherever a plain `Deserialize` is wanted, as for the items of a list.
struct Object<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        object(deserializer).map(Self)
    }
}

/// A list of objects, null items included; `None` for null.
pub(crate) fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<Option<T>>>, D::Error> {
    let items: Option<Vec<Object<T>>> = Option::deserialize(deserializer)?;
    Ok(items.map(|items| items.into_iter().map(|item| item.0).collect()))
}

/// A list of objects without its null items; `None` for null.
pub(crate) fn present_objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error> {
    objects(deserializer).map(|items| items.map(|items| items.into_iter().flatten().collect()))
}

/// A list of texts; null is an empty list, null items are left out.
pub(crate) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    struct Item(Option<String>);
    impl<'de> Deserialize<'de> for Item {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            text(deserializer).map(Self)
        }
    }
    let items: Option<Vec<Item>> = Option::deserialize(deserializer)?;
    Ok(items.unwrap_or_default().into_iter().filter_map(|item| item.0).collect())
}

/// A map of texts; `None` for null, null values are left out.
pub(crate) fn text_map<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeMap<String, String>>, D::Error> {
    struct Item(Option<String>);
    impl<'de> Deserialize<'de> for Item {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            text(deserializer).map(Self)
        }
    }
    let map: Option<BTreeMap<String, Item>> = Option::deserialize(deserializer)?;
    Ok(map.map(|map| map.into_iter().filter_map(|(key, item)| Some((key, item.0?))).collect()))
}

/// A map of booleans; `None` for null.
pub(crate) fn bool_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<String, bool>>, D::Error> {
    struct Item(bool);
    impl<'de> Deserialize<'de> for Item {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            boolean(deserializer).map(Self)
        }
    }
    let map: Option<BTreeMap<String, Item>> = Option::deserialize(deserializer)?;
    Ok(map.map(|map| map.into_iter().map(|(key, item)| (key, item.0)).collect()))
}

/// Metadata whose odd values are left out and counted instead of spoiling the message.
pub(crate) fn metadata<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MetadataMap, D::Error> {
    deserializer.deserialize_any(MetadataVisitor)
}

struct MetadataVisitor;

impl<'de> Visitor<'de> for MetadataVisitor {
    type Value = MetadataMap;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MetadataMap, A::Error> {
        let mut out = MetadataMap::default();
        while let Some(key) = map.next_key::<String>()? {
            match map.next_value()? {
                MetadataValue::Text(value) => drop(out.insert(key, value)),
                MetadataValue::Null => drop(out.remove(&key)),
                MetadataValue::Odd => out.note_odd(),
            }
        }
        Ok(out)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<MetadataMap, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        let mut out = MetadataMap::default();
        out.note_odd();
        Ok(out)
    }

    fn visit_str<E>(self, _: &str) -> Result<MetadataMap, E> {
        let mut out = MetadataMap::default();
        out.note_odd();
        Ok(out)
    }

    fn visit_unit<E>(self) -> Result<MetadataMap, E> {
        Ok(MetadataMap::default())
    }
}

enum MetadataValue {
    Text(String),
    Null,
    Odd,
}

impl<'de> Deserialize<'de> for MetadataValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;
        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = MetadataValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a metadata value")
            }
            fn visit_str<E>(self, value: &str) -> Result<MetadataValue, E> {
                Ok(MetadataValue::Text(value.to_owned()))
            }
            fn visit_string<E>(self, value: String) -> Result<MetadataValue, E> {
                Ok(MetadataValue::Text(value))
            }
            fn visit_bool<E>(self, value: bool) -> Result<MetadataValue, E> {
                Ok(MetadataValue::Text(value.to_string()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<MetadataValue, E> {
                Ok(MetadataValue::Text(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<MetadataValue, E> {
                Ok(MetadataValue::Text(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<MetadataValue, E> {
                Ok(MetadataValue::Text(value.to_string()))
            }
            fn visit_unit<E>(self) -> Result<MetadataValue, E> {
                Ok(MetadataValue::Null)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MetadataValue, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(MetadataValue::Odd)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<MetadataValue, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(MetadataValue::Odd)
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}
