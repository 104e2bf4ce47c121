//! The comparer of HTTP answers, fed what it must not let pass.

use nacos_tests::compare::{Difference, Kind, Options, Reply, replies};

fn reply(status: u16, content_type: &str, body: &str) -> Reply {
    Reply { status, content_type: Some(content_type.to_owned()), body: body.to_owned() }
}

fn kinds_with(recorded: &Reply, ours: &Reply, options: Options) -> Vec<Kind> {
    let differences: Vec<Difference> = replies(recorded, ours, "127.0.0.1:18848".parse().expect("an address"), options);
    differences.iter().map(|d| d.kind).collect()
}

fn kinds(recorded: &Reply, ours: &Reply) -> Vec<Kind> {
    kinds_with(recorded, ours, Options::default())
}

fn json(recorded: &str, ours: &str) -> Vec<Kind> {
    kinds(&reply(200, "application/json", recorded), &reply(200, "application/json", ours))
}

#[test]
fn status_and_content_type_count() {
    let ok = reply(200, "text/plain;charset=UTF-8", "ok");
    assert_eq!(kinds(&ok, &ok), []);
    assert_eq!(kinds(&ok, &reply(200, "text/plain; charset=utf-8", "ok")), [], "case and blanks are no difference");
    assert_eq!(kinds(&ok, &reply(201, "text/plain;charset=UTF-8", "ok")), [Kind::Status]);
    assert_eq!(kinds(&ok, &reply(200, "application/json", "ok")), [Kind::ContentType]);
    assert_eq!(kinds(&ok, &Reply { content_type: None, ..ok.clone() }), [Kind::ContentType]);
    assert_eq!(kinds(&Reply { content_type: None, ..ok.clone() }, &ok), [Kind::ContentType]);
}

#[test]
fn texts_are_compared_byte_for_byte() {
    let text = |body: &str| reply(400, "text/plain", body);
    assert_eq!(kinds(&text("Param 'ip' is required."), &text("Param 'ip' is required")), [Kind::Value]);
    assert_eq!(kinds(&text("too long\r\n"), &text("too long")), [Kind::Value]);
    assert_eq!(kinds(&text("ok"), &text("")), [Kind::Value]);
    assert_eq!(kinds(&text("caused: Cannot invoke \"x\""), &text("no client")), []);
    assert_eq!(kinds(&text("caused: Cannot invoke \"x\""), &text("")), [Kind::Value], "but not nothing");
}

#[test]
fn pages_are_pages() {
    let page = |body: &str| reply(404, "text/html", body);
    assert_eq!(kinds(&page("<html><body>x</body></html>"), &page("<!DOCTYPE html><html/>")), []);
    assert_eq!(kinds(&page("<html><body>x</body></html>"), &page("not found")), [Kind::Value]);
}

#[test]
fn json_must_be_json_with_the_same_keys_types_and_values() {
    let envelope = r#"{"code":0,"message":"success","data":{"count":1,"services":["a"]}}"#;
    assert_eq!(json(envelope, envelope), []);
    assert_eq!(json(envelope, "ok"), [Kind::JsonType]);
    assert_eq!(json(envelope, &envelope.replace("\"code\":0", "\"code\":1")), [Kind::Value]);
    assert_eq!(json(envelope, &envelope.replace("\"code\":0", "\"code\":\"0\"")), [Kind::JsonType]);
    assert_eq!(json(envelope, &envelope.replace("\"count\":1,", "")), [Kind::MissingKey]);
    assert_eq!(json(envelope, &envelope.replace("\"count\"", "\"more\":1,\"count\"")), [Kind::ExtraKey]);
    assert_eq!(json(envelope, &envelope.replace("[\"a\"]", "[\"b\"]")), [Kind::Value]);
    assert_eq!(json("true", "false"), [Kind::Value]);
}

#[test]
fn lists_of_objects_have_no_order_but_a_content() {
    let list = |items: &str| format!(r#"{{"code":0,"data":[{items}]}}"#);
    let (a, b) = (r#"{"name":"a","n":1}"#, r#"{"name":"b","n":2}"#);
    assert_eq!(json(&list(&format!("{a},{b}")), &list(&format!("{b},{a}"))), []);
    assert_eq!(json(&list(&format!("{a},{b}")), &list(&format!("{a},{}", b.replace('2', "3")))), [Kind::Value]);
    assert_eq!(json(&list(&format!("{a},{b}")), &list(a)), [Kind::Value]);
    assert_eq!(json(&list(a), &list(&format!("{a},{{\"name\":\"c\"}}"))), [Kind::Value, Kind::MissingKey]);
}

#[test]
fn a_null_in_metadata_is_nothing_but_nowhere_else() {
    let host = |metadata: &str| format!(r#"{{"hosts":[{{"ip":"10.0.0.1","metadata":{metadata}}}]}}"#);
    assert_eq!(json(&host(r#"{"a":null}"#), &host("{}")), [Kind::Value]);
    assert_eq!(json(&host(r#"{"a":"1"}"#), &host("{}")), [Kind::MissingKey]);
    assert_eq!(json(r#"{"message":null,"n":1}"#, r#"{"n":1}"#), [Kind::MissingKey]);
}

#[test]
fn the_groups_of_a_cluster_are_values() {
    let member = |groups: &str| format!(r#"{{"raftMetaData":{{"metaDataMap":{groups}}}}}"#);
    assert_eq!(json(&member(r#"{"a":{"term":1}}"#), &member(r#"{"a":{"term":1}}"#)), []);
    assert_eq!(json(&member(r#"{"a":{"term":1}}"#), &member("{}")), [Kind::Value]);
    assert_eq!(json(&member(r#"{"a":{"term":1}}"#), &member("null")), [Kind::JsonType]);
}

#[test]
fn where_only_the_shape_counts_keys_and_types_still_do() {
    let shape = |recorded: &str, ours: &str| {
        let options = Options::default().shape(true);
        kinds_with(&reply(200, "application/json", recorded), &reply(200, "application/json", ours), options)
    };
    let metrics = r#"{"status":"UP","count":3,"names":["a","b"],"rows":[{"id":1}]}"#;
    assert_eq!(shape(metrics, r#"{"status":"UP","count":7,"names":["c"],"rows":[]}"#), []);
    assert_eq!(shape(metrics, r#"{"status":"UP","count":"7","names":["c"],"rows":[]}"#), [Kind::JsonType]);
    assert_eq!(shape(metrics, r#"{"status":"UP","count":7,"names":[1],"rows":[]}"#), [Kind::JsonType]);
    assert_eq!(shape(metrics, r#"{"status":"UP","names":["c"],"rows":[]}"#), [Kind::MissingKey]);
    assert_eq!(shape(metrics, r#"{"status":"UP","count":7,"names":["c"],"rows":[{"id":"1"}]}"#), [Kind::JsonType]);
    assert_eq!(shape(metrics, r#"{"status":"UP","count":7,"names":["c"],"rows":[{}]}"#), [Kind::MissingKey]);
}

#[test]
fn times_and_figures_of_the_machine_are_compared_by_form_and_addresses_by_what_they_stand_for() {
    let page = |time: &str| format!(r#"{{"timestamp":"{time}","status":404}}"#);
    let recorded = page("2026-11-30T06:55:37.754+00:00");
    assert_eq!(json(&recorded, &page("2027-01-01T00:00:00.000+00:00")), []);
    assert_eq!(json(&recorded, &page("today")), [Kind::Value]);
    assert_eq!(json(r#"{"cpu":0.1,"n":1}"#, r#"{"cpu":0.0,"n":1}"#), []);
    assert_eq!(json(r#"{"cpu":0.1,"n":1}"#, r#"{"cpu":0,"n":1}"#), [Kind::JsonType]);
    let owner = |address: &str| format!(r#"{{"responsibleServer":"{address}"}}"#);
    assert_eq!(json(&owner("192.0.2.2:8348"), &owner("127.0.0.1:18848")), []);
    assert_eq!(json(&owner("192.0.2.2:8348"), &owner("127.0.0.1:18849")), [Kind::Value]);
    assert_eq!(json(&owner("10.0.0.1:8348"), &owner("127.0.0.1:18848")), [Kind::Value]);
}
