use proptest::prelude::*;
use serde_json::Value;

use super::any_document::any_document;
use super::*;

proptest! {
    #[test]
    fn documents_are_the_same_once_written_and_read(document in any_document()) {
        prop_assert_eq!(document.check(), Ok(()));
        let json = serde_json::to_string(&document).expect("JSON");
        prop_assert_eq!(&RouteDocument::from_json(&json).expect("a document"), &document);
        prop_assert_eq!(&serde_json::from_str::<RouteDocument>(&json).expect("a document"), &document);
        prop_assert_eq!(&RouteDocument::from_yaml(&json).expect("a document"), &document);
        let yaml = yaml(&serde_json::from_str(&json).expect("JSON"), 0);
        match RouteDocument::from_yaml(&yaml) {
            Ok(read) => prop_assert_eq!(read, document, "{}", yaml),
            Err(error) => prop_assert!(false, "{}\n{}", error, yaml),
        }
    }
}

/// A value in the block style of YAML, with quotes only where a word could mean something else.
fn yaml(value: &Value, indent: usize) -> String {
    let begin = format!("\n{:indent$}", "");
    let below = |value: &Value| yaml(value, indent + 2);
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            entries.iter().map(|(key, value)| format!("{begin}{}: {}", word(key), below(value))).collect()
        }
        Value::Array(values) if !values.is_empty() => {
            values.iter().map(|value| format!("{begin}- {}", below(value))).collect()
        }
        Value::String(text) => word(text),
        other => other.to_string(),
    }
}

fn word(text: &str) -> String {
    let is_plain = text.len() > 5 && text.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}
