use boon::{Compiler, SchemaIndex, Schemas};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::any_document::any_document;
use super::*;

struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    fn published() -> Self {
        let content = serde_json::from_str(RouteDocument::schema()).expect("JSON");
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let name = "file:///routes.schema.json";
        compiler.add_resource(name, content).expect("a resource");
        let index = compiler.compile(name, &mut schemas).expect("a schema");
        Self { schemas, index }
    }

    fn accepts(&self, document: &Value) -> bool {
        self.schemas.validate(document, self.index).is_ok()
    }
}

thread_local! {
    /// Made once for all cases.
    static PUBLISHED: Schema = Schema::published();
}

fn is_read(document: &Value) -> bool {
    RouteDocument::from_json(&document.to_string()).is_ok()
}

/// A document of this rule.
fn of(rule: Value) -> Value {
    json!({ "services": { "orders": { "routes": [rule] } } })
}

/// A rule with this condition.
fn when(condition: Value) -> Value {
    of(json!({ "name": "one", "when": [condition], "to": [{ "baseline": true }] }))
}

/// A rule to there.
fn to(destinations: Value) -> Value {
    of(json!({ "name": "one", "to": destinations }))
}

#[test]
fn what_the_schema_accepts_is_read() {
    let all = [
        json!({ "services": {} }),
        json!({ "services": { "orders": {}, "shop@@orders": { "routes": [] }, "a@b": {} } }),
        json!({ "services": { "orders": { "baseline": { "version": "v1" } } } }),
        when(json!({ "header": { "name": "X-Version", "exact": "" } })),
        when(json!({ "query": { "name": "a b", "any": ["", "é"] } })),
        when(json!({ "cookie": { "name": "a.b", "prefix": "v" } })),
        when(json!({ "tag": { "name": " ", "regex": "" } })),
        when(json!({ "path": { "any": ["/", "*", "/a/b"] } })),
        when(json!({ "path": { "regex": "/[a-z]?" } })),
        when(json!({ "method": { "any": ["GET", "M-SEARCH"] } })),
        when(json!({ "method": { "present": true } })),
        to(json!([{ "baseline": true }])),
        to(json!([{ "label": { "a": "b", "c": "d" }, "percent": 100 }])),
        to(json!([{ "label-from": { "key": "version", "cookie": "v" } }])),
        to(json!([{ "label": { "a": "b" }, "percent": 0.01 }, { "baseline": true, "percent": 99.99 }])),
        to(json!([{ "label": { "a": "b" }, "percent": 0 }, { "baseline": true, "percent": 1e2 }])),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "sticky": { "query": "u" }, "miss": "fail" })),
        of(json!({ "name": "é", "to": [{ "baseline": true }], "miss": { "label": { "a": "b" } } })),
    ];
    let schema = Schema::published();
    for document in all {
        assert!(schema.accepts(&document), "{document}");
        assert!(is_read(&document), "{document}");
    }
}

#[test]
fn what_the_schema_refuses_is_not_read() {
    let all = [
        json!({}),
        json!([]),
        json!(null),
        json!({ "services": null }),
        json!({ "services": [] }),
        json!({ "services": {}, "version": 1 }),
        json!({ "services": { "": {} } }),
        json!({ "services": { "@@a": {} } }),
        json!({ "services": { "a@@": {} } }),
        json!({ "services": { "a@@b@@c": {} } }),
        json!({ "services": { "a": null } }),
        json!({ "services": { "a": { "rules": [] } } }),
        json!({ "services": { "a": { "baseline": {} } } }),
        json!({ "services": { "a": { "baseline": { "version": 1 } } } }),
        json!({ "services": { "a": { "baseline": { "version": "" } } } }),
        json!({ "services": { "a": { "baseline": { "": "v1" } } } }),
        json!({ "services": { "a": { "baseline": "v1" } } }),
        json!({ "services": { "a": { "routes": {} } } }),
        of(json!("one")),
        of(json!({ "to": [{ "baseline": true }] })),
        of(json!({ "name": "one" })),
        of(json!({ "name": "", "to": [{ "baseline": true }] })),
        of(json!({ "name": " ", "to": [{ "baseline": true }] })),
        of(json!({ "name": 1, "to": [{ "baseline": true }] })),
        of(json!({ "name": "n".repeat(129), "to": [{ "baseline": true }] })),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "when": {} })),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "sticky": {} })),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "sticky": { "path": "x" } })),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "sticky": { "header": "a", "tag": "b" } })),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "sticky": { "header": "a b" } })),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "miss": "none" })),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "miss": { "label": {} } })),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "miss": { "baseline": true } })),
        of(json!({ "name": "one", "to": [{ "baseline": true }], "miss": null })),
        when(json!({})),
        when(json!("x")),
        when(json!({ "header": { "name": "a", "present": true }, "path": { "present": true } })),
        when(json!({ "body": { "exact": "a" } })),
        when(json!({ "header": { "exact": "a" } })),
        when(json!({ "header": { "name": "a" } })),
        when(json!({ "header": { "name": "a", "exact": "a", "prefix": "a" } })),
        when(json!({ "header": { "name": "a", "equals": "a" } })),
        when(json!({ "header": { "name": "a", "exact": 1 } })),
        when(json!({ "header": { "name": "", "exact": "1" } })),
        when(json!({ "header": { "name": "a:b", "exact": "1" } })),
        when(json!({ "query": { "name": "", "exact": "1" } })),
        when(json!({ "cookie": { "name": "a=b", "exact": "1" } })),
        when(json!({ "cookie": { "name": "a b", "exact": "1" } })),
        when(json!({ "tag": { "name": "a", "any": [] } })),
        when(json!({ "tag": { "name": "a", "any": ["b", 1] } })),
        when(json!({ "tag": { "name": "a", "any": vec!["b"; 1025] } })),
        when(json!({ "tag": { "name": "a", "prefix": "" } })),
        when(json!({ "tag": { "name": "a", "present": false } })),
        when(json!({ "tag": { "name": "a", "exact": "b".repeat(257) } })),
        when(json!({ "tag": { "name": "a", "regex": "b".repeat(1025) } })),
        when(json!({ "path": { "name": "a", "exact": "/" } })),
        when(json!({ "path": { "exact": "orders" } })),
        when(json!({ "path": { "prefix": "/a?b" } })),
        when(json!({ "path": { "any": ["/", ""] } })),
        when(json!({ "method": { "exact": "get" } })),
        when(json!({ "method": { "any": ["GET", ""] } })),
        to(json!([])),
        to(json!({ "baseline": true })),
        to(json!(["baseline"])),
        to(json!([{}])),
        to(json!([{ "baseline": false }])),
        to(json!([{ "baseline": true, "label": { "a": "b" } }])),
        to(json!([{ "label": {} }])),
        to(json!([{ "label": "v2" }])),
        to(json!([{ "label-from": { "key": "version" } }])),
        to(json!([{ "label-from": { "header": "a" } }])),
        to(json!([{ "label-from": { "key": "", "header": "a" } }])),
        to(json!([{ "label-from": { "key": "v", "header": "a", "query": "b" } }])),
        to(json!([{ "label-from": { "key": "v", "path": "a" } }])),
        to(json!([{ "baseline": true, "percent": "100" }])),
        to(json!([{ "baseline": true, "percent": -1 }, { "baseline": true, "percent": 101 }])),
        to(json!([{ "baseline": true, "percent": 100 }, { "label": { "a": "b" } }])),
        to(json!([{ "label-from": { "key": "v", "tag": "a" }, "percent": 50 }, { "baseline": true, "percent": 50 }])),
        to(json!([{ "baseline": true, "weight": 1 }])),
    ];
    let schema = Schema::published();
    for document in all {
        assert!(!schema.accepts(&document), "{document}");
        assert!(!is_read(&document), "{document}");
    }
}

/// These are all the kinds of problems that the reader alone sees.
#[test]
fn what_a_schema_cannot_say_is_refused_by_the_reader_alone() {
    let twice = json!({ "name": "one", "to": [{ "baseline": true }] });
    let labels = (0..129).map(|n| json!({ "name": n.to_string(), "to": [{ "label": { "v": n.to_string() } }] }));
    let all = [
        to(json!([{ "baseline": true, "percent": 99 }])),
        to(json!([{ "baseline": true, "percent": 50 }, { "label": { "a": "b" }, "percent": 49.99 }])),
        to(json!([{ "baseline": true, "percent": 50.005 }, { "label": { "a": "b" }, "percent": 49.995 }])),
        json!({ "services": { "a": { "routes": [twice, twice] } } }),
        json!({ "services": { "a": { "routes": labels.collect::<Vec<_>>() } } }),
        when(json!({ "tag": { "name": "a", "regex": "(" } })),
        of(json!({ "name": "é".repeat(65), "to": [{ "baseline": true }] })),
    ];
    let schema = Schema::published();
    for document in all {
        assert!(schema.accepts(&document), "{document}");
        assert!(!is_read(&document), "{document}");
    }
}

/// Puts something else at the place that `at` counts to.
fn spoil(value: &mut Value, at: &mut usize, put: &Value) {
    if *at == 0 {
        *value = put.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Object(entries) => entries.values_mut().for_each(|value| spoil(value, at, put)),
        Value::Array(values) => values.iter_mut().for_each(|value| spoil(value, at, put)),
        _ => {}
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Object(entries) => entries.values().map(count).sum(),
        Value::Array(values) => values.iter().map(count).sum::<usize>(),
        _ => 0,
    }
}

proptest! {
    #[test]
    fn whatever_is_read_is_accepted_by_the_schema(
        document in any_document(),
        at in any::<prop::sample::Index>(),
        put in prop::sample::select(vec![json!(null), json!(true), json!(0), json!(""), json!("v2"), json!([]), json!({}),
            json!({ "label": { "version": "v2" } }), json!({ "baseline": true }), json!(100), json!(["GET"])]),
    ) {
        let mut value = serde_json::to_value(&document).expect("JSON");
        prop_assert!(PUBLISHED.with(|schema| schema.accepts(&value)), "{}", value);
        let mut at = at.index(count(&value));
        spoil(&mut value, &mut at, &put);
        prop_assert!(PUBLISHED.with(|schema| schema.accepts(&value)) || !is_read(&value), "{}", value);
    }
}
