//! The comparer, fed what it must not let pass.

use nacos_tests::compare::{Difference, Kind, Options, messages};

const QUERY: &str = r#"{"resultCode":200,"errorCode":0,"serviceInfo":{"name":"orders","groupName":"DEFAULT_GROUP","clusters":"","cacheMillis":10000,"hosts":[{"instanceId":"10.0.0.1#80#DEFAULT#DEFAULT_GROUP@@orders","ip":"10.0.0.1","port":80,"weight":1.0,"healthy":true,"enabled":true,"ephemeral":true,"clusterName":"DEFAULT","serviceName":"DEFAULT_GROUP@@orders","metadata":{"zone":"a"},"instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":15000,"ipDeleteTimeout":30000}],"lastRefTime":1796022172248,"checksum":"","allIPs":false,"reachProtectionThreshold":false,"valid":true},"success":true}"#;

fn query(change: impl Fn(&str) -> String) -> Vec<Difference> {
    let ours = change(QUERY);
    assert_ne!(ours, QUERY, "the change changes something");
    messages(("QueryServiceResponse", QUERY), ("QueryServiceResponse", &ours), Options::default())
}

fn kinds(differences: &[Difference]) -> Vec<Kind> {
    differences.iter().map(|d| d.kind).collect()
}

#[test]
fn the_same_message_is_equal() {
    let answer = ("QueryServiceResponse", QUERY);
    assert_eq!(messages(answer, answer, Options::default()), []);
}

#[test]
fn a_wrong_code_fails() {
    let differences = query(|body| body.replace(r#""errorCode":0"#, r#""errorCode":400"#));
    assert_eq!(kinds(&differences), [Kind::Code]);
    let differences = query(|body| body.replace(r#""resultCode":200"#, r#""resultCode":500"#));
    assert_eq!(kinds(&differences), [Kind::Code]);
}

#[test]
fn a_wrong_message_type_fails() {
    let differences = messages(("QueryServiceResponse", QUERY), ("ErrorResponse", QUERY), Options::default());
    assert_eq!(kinds(&differences), [Kind::Code]);
}

#[test]
fn a_missing_key_fails_at_any_depth_and_is_never_acceptable() {
    for gone in [r#","success":true"#, r#""checksum":"","#, r#""weight":1.0,"#, r#""zone":"a""#] {
        let differences = query(|body| body.replace(gone, ""));
        assert_eq!(kinds(&differences), [Kind::MissingKey], "without {gone}");
    }
    assert!(Kind::MissingKey.is_never_acceptable());
}

#[test]
fn a_wrong_json_type_fails_at_any_depth_and_is_never_acceptable() {
    let changes = [
        (r#""cacheMillis":10000"#, r#""cacheMillis":"10000""#),
        (r#""port":80"#, r#""port":80.0"#),
        (r#""weight":1.0"#, r#""weight":"1.0""#),
        (r#""metadata":{"zone":"a"}"#, r#""metadata":null"#),
        (r#""success":true"#, r#""success":1"#),
        (r#""lastRefTime":1796022172248"#, r#""lastRefTime":"1796022172248""#),
    ];
    for (recorded, ours) in changes {
        assert_eq!(kinds(&query(|body| body.replace(recorded, ours))), [Kind::JsonType], "{ours}");
    }
    assert!(Kind::JsonType.is_never_acceptable());
}

#[test]
fn an_extra_key_fails_unless_it_is_the_other_name_of_the_list_flag() {
    let extra = |key: &str| query(|body| body.replace(r#""checksum""#, &format!(r#""{key}":false,"checksum""#)));
    assert_eq!(kinds(&extra("stray")), [Kind::ExtraKey]);
    assert_eq!(kinds(&extra("allIps")), []);
}

#[test]
fn a_wrong_value_fails_and_what_differs_from_run_to_run_does_not() {
    let wrong = [
        ("10.0.0.1\",\"port", "10.0.0.2\",\"port"),
        (r#""zone":"a""#, r#""zone":"b""#),
        ("orders\",\"groupName", "order\",\"groupName"),
    ];
    for (recorded, ours) in wrong {
        assert_eq!(kinds(&query(|body| body.replace(recorded, ours))), [Kind::Value], "{ours}");
    }
    assert_eq!(kinds(&query(|body| body.replace("1796022172248", "1896022172248"))), []);
    assert_eq!(kinds(&query(|body| body.replace("1796022172248", "12"))), [Kind::Value], "no time in milliseconds");
}

#[test]
fn lists_of_another_length_fail_and_their_hosts_still_need_every_key() {
    let host = r#"{"ip":"10.0.0.9","port":81},"#;
    let differences = query(|body| body.replace(r#""hosts":["#, &format!(r#""hosts":[{host}"#)));
    assert_eq!(differences.iter().filter(|d| d.kind == Kind::Value).count(), 1);
    assert!(differences.iter().any(|d| d.kind == Kind::MissingKey), "{differences:?}");
    let ours = QUERY.replace(r#""weight":1.0,"#, "").replace("10.0.0.1", "10.0.0.7");
    let stale = Options::default().stale(true);
    let differences = messages(("QueryServiceResponse", QUERY), ("QueryServiceResponse", &ours), stale);
    assert_eq!(kinds(&differences), [Kind::MissingKey], "a list that may be stale is compared by shape");
}

#[test]
fn hosts_and_names_have_no_order_but_a_content() {
    let one = |ip: &str| format!(r#"{{"ip":"{ip}","port":80}}"#);
    let list = |a: &str, b: &str| format!(r#"{{"serviceInfo":{{"hosts":[{},{}]}}}}"#, one(a), one(b));
    let compare = |recorded: &str, ours: &str| kinds(&messages(("T", recorded), ("T", ours), Options::default()));
    assert_eq!(compare(&list("10.0.0.1", "10.0.0.2"), &list("10.0.0.2", "10.0.0.1")), []);
    assert_eq!(compare(&list("10.0.0.1", "10.0.0.2"), &list("10.0.0.1", "10.0.0.3")), [Kind::Value]);
    let names = |count: u32, names: &str| format!(r#"{{"count":{count},"serviceNames":[{names}]}}"#);
    assert_eq!(compare(&names(2, r#""a","b""#), &names(2, r#""b","a""#)), []);
    assert_eq!(compare(&names(2, r#""a","b""#), &names(2, r#""a","c""#)), [Kind::Value]);
    assert_eq!(compare(&names(3, r#""a","b""#), &names(3, r#""c","a""#)), [], "one page of two");
    assert_eq!(compare(&names(3, r#""a","b""#), &names(3, r#""c""#)), [Kind::Value]);
}

#[test]
fn texts_are_compared_without_connection_ids_and_not_against_those_of_a_virtual_machine() {
    let error = |text: &str| format!(r#"{{"resultCode":500,"errorCode":500,"message":"{text}","success":false}}"#);
    let compare = |recorded: &str, ours: &str| {
        kinds(&messages(("ErrorResponse", &error(recorded)), ("ErrorResponse", &error(ours)), Options::default()))
    };
    assert_eq!(compare("Client [1796_127.0.0.1_5] is gone", "Client [1800_127.0.0.1_77] is gone"), []);
    assert_eq!(compare("Client [1796_127.0.0.1_5] is gone", "Client [x] is gone"), [Kind::Value]);
    assert_eq!(compare("RequestHandler Not Found", "not found"), [Kind::Value]);
    assert_eq!(compare("Cannot invoke \\\"x\\\"", "the namespace is missing"), []);
}
