//! What is read tolerantly, what is refused, and what is written.

use bytes::Bytes;
use nacos_proto::grpc::*;
use nacos_proto::{DecodeError, Payload, ResponseError};
use prost::Message as _;
use serde_json::{Value, json};

fn payload(kind: &str, body: &str) -> Payload {
    Payload::new(kind, Bytes::copy_from_slice(body.as_bytes()))
}

fn instance(body: &str) -> Result<Instance, DecodeError> {
    let body = format!(r#"{{"instance":{body}}}"#);
    payload("InstanceRequest", &body).decode_request::<InstanceRequest>().map(|r| r.instance.unwrap_or_default())
}

fn written<M: Message>(message: &M) -> Value {
    serde_json::from_slice(&message.to_json()).expect("own output is JSON")
}

#[test]
fn envelopes_have_the_golden_bytes() {
    let request = Payload::encode_json(&HealthCheckRequest::default()).with_client_ip("10.0.0.9");
    assert_eq!(
        hex(&request.encode_to_vec()),
        "121e1a124865616c7468436865636b52657175657374420831302e302e302e391a2412227b2268656164657273223a7b7d2c226d6f64756c6\
         5223a22696e7465726e616c227d"
    );
    let response = Payload::encode_json(&HealthCheckResponse::default());
    assert_eq!(
        hex(&response.encode_to_vec()),
        "12151a134865616c7468436865636b526573706f6e73651a31122f7b22726573756c74436f6465223a3230302c226572726f72436f6465223\
         a302c2273756363657373223a747275657d"
    );
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn primitives_are_read_as_the_reference_mapper_reads_them() {
    let odd =
        instance(r#"{"ip":5,"port":"8080","weight":"2.5","healthy":"false","enabled":0,"metadata":{"a":1,"b":null}}"#)
            .expect("all of it is tolerable");
    assert_eq!(odd.ip.as_deref(), Some("5"));
    assert_eq!((odd.port, odd.weight, odd.healthy, odd.enabled), (8080, 2.5, false, false));
    assert_eq!(odd.metadata.get("a").map(String::as_str), Some("1"));
    assert_eq!(odd.metadata.len(), 1);

    let empty = instance(r#"{"port":"","weight":null,"healthy":null,"metadata":null}"#).expect("null is zero");
    assert_eq!((empty.port, empty.weight, empty.healthy), (0, 0.0, false));
    assert_eq!(instance(r#"{"port":80.5}"#).expect("cut off").port, 80);
    assert!(instance(r#"{"weight":"NaN"}"#).expect("a text for it").weight.is_nan());
    assert_eq!(instance(r#"{"weight":1e400}"#).expect("beyond doubles").weight, f64::INFINITY);
    assert_eq!(
        instance(r#"{"weight":-1e400,"ip":"say \"1e400\""}"#).expect("beyond doubles").weight,
        f64::NEG_INFINITY
    );
    assert_eq!(instance("{}").expect("defaults"), Instance::default());
}

#[test]
fn what_the_reference_mapper_refuses_is_refused() {
    for body in [
        r#"{"port":"abc"}"#,
        r#"{"port":true}"#,
        r#"{"port":99999999999}"#,
        r#"{"weight":"x"}"#,
        r#"{"healthy":"x"}"#,
        r#"{"metadata":{"a":{"b":1}}}"#,
        r#"{"metadata":[]}"#,
        r#"{"ip":{}}"#,
        r#""x""#,
        "[]",
    ] {
        assert!(matches!(instance(body), Err(DecodeError::Malformed { .. })), "{body}");
    }
    for body in ["", "[]", "\"x\"", "{\"namespace\":\"public\"", "{'namespace':'public'}", "\u{feff}", "{nope", "7"] {
        let result = payload("InstanceRequest", body).decode_request::<InstanceRequest>();
        assert!(matches!(result, Err(DecodeError::Malformed { .. })), "{body}: {result:?}");
    }
    assert!(matches!(payload("", "null").decode_json::<InstanceRequest>(), Err(DecodeError::Null)));
    assert!(matches!(Payload::default().decode_json::<InstanceRequest>(), Err(DecodeError::Malformed { .. })));
}

#[test]
fn odd_bodies_that_real_servers_take_are_taken() {
    for (body, namespace) in [
        ("\u{feff}{\"namespace\":\"a\"}", Some("a")),
        ("{\"namespace\":\"a\"} x", Some("a")),
        ("{\"namespace\":\"a\",\"namespace\":\"b\"}", Some("b")),
        ("  {\"module\":7,\"headers\":null,\"unknown\":[1],\"namespace\":null}", None),
    ] {
        let request: InstanceRequest = payload("InstanceRequest", body).decode_request().expect(body);
        assert_eq!(request.namespace.as_deref(), namespace, "{body}");
    }
}

#[test]
fn a_client_keeps_a_list_whose_metadata_is_odd() {
    let body = r#"{"resultCode":200,"serviceInfo":{"name":"s","groupName":"g","hosts":[
        {"ip":"10.0.0.1","port":1,"metadata":{"n":1,"o":{"x":1},"l":[1],"t":"v"}}, null, {"port":2,"metadata":"text"}]}}"#;
    let answer: QueryServiceResponse = payload("QueryServiceResponse", body).decode_response().expect("a list");
    let hosts = answer.service_info.and_then(|info| info.hosts).expect("hosts");
    assert_eq!(hosts.len(), 2);
    assert_eq!((hosts[0].metadata.len(), hosts[0].metadata.odd()), (2, 2));
    assert_eq!(hosts[1].metadata.odd(), 1);
}

#[test]
fn a_list_that_says_an_odd_time_to_keep_it_says_none() {
    for (odd, millis) in [("\"abc\"", None), ("1e300", None), ("{}", None), ("\"7\"", Some(7)), ("-1", Some(-1))] {
        let json = format!(r#"{{"name":"g@@s","cacheMillis":{odd},"hosts":[{{"ip":"10.0.0.1","port":1}}]}}"#);
        let info: ServiceInfo = serde_json::from_str(&json).expect(odd);
        assert_eq!((info.cache_millis, info.hosts.map(|hosts| hosts.len())), (millis, Some(1)), "{odd}");
    }
}

#[test]
fn labels_and_tables_tell_null_from_absent() {
    let setup = |body| payload("ConnectionSetupRequest", body).decode_request::<ConnectionSetupRequest>();
    assert_eq!(setup("{}").expect("absent").labels, Some(Default::default()));
    assert_eq!(setup(r#"{"labels":null}"#).expect("null").labels, None);
    assert_eq!(setup("{}").expect("absent").ability_table, None);
    assert_eq!(setup(r#"{"abilityTable":{}}"#).expect("empty").ability_table, Some(Default::default()));
    assert!(setup(r#"{"labels":[]}"#).is_err());
    assert!(setup(r#"{"abilityTable":{"a":"x"}}"#).is_err());
}

#[test]
fn refusals_come_in_both_shapes_and_never_as_decode_errors() {
    let typed = payload("QueryServiceResponse", r#"{"resultCode":500,"errorCode":400,"message":"m"}"#);
    let Err(ResponseError::Refused(failure)) = typed.decode_response::<QueryServiceResponse>() else {
        panic!("refused")
    };
    assert_eq!((failure.code(), failure.message.as_str(), failure.typed), (400, "m", true));

    let raised = payload("ErrorResponse", r#"{"resultCode":-401,"errorCode":-401,"success":false}"#);
    let Err(ResponseError::Refused(failure)) = raised.decode_response::<InstanceResponse>() else { panic!("refused") };
    assert_eq!((failure.code(), failure.typed), (-401, false));

    let zero = payload("BatchInstanceResponse", r#"{"resultCode":0,"errorCode":0}"#);
    assert!(matches!(zero.decode_response::<BatchInstanceResponse>(), Err(ResponseError::Refused(_))));
    let foreign = payload("InstanceResponse", "{}");
    assert!(matches!(foreign.decode_response::<QueryServiceResponse>(), Err(ResponseError::WrongType { .. })));
}

#[test]
fn success_is_the_result_code_not_the_field_success() {
    let go = payload(
        "InstanceResponse",
        r#"{"resultCode":200,"errorCode":500,"success":false,"requestId":7,"message":null}"#,
    );
    assert!(go.decode_response::<InstanceResponse>().is_ok());
    let Some(Ok(ack)) = Ack::from_payload(&payload("ClientDetectionResponse", r#"{"requestId":7,"success":false}"#))
    else {
        panic!("an acknowledgement")
    };
    assert_eq!((ack.request_id.as_deref(), ack.is_success()), (Some("7"), true));
    assert!(Ack::from_payload(&payload("NopeResponse", "{}")).is_none());
    assert!(matches!(Ack::from_payload(&payload("ErrorResponse", "[]")), Some(Err(_))));
}

#[test]
fn requests_are_written_with_empty_headers_and_their_module_and_no_nulls() {
    let request = InstanceRequest {
        namespace: Some("public".into()),
        service_name: Some("demo".into()),
        group_name: Some("DEFAULT_GROUP".into()),
        kind: Some(REGISTER.into()),
        instance: Some(Instance {
            ip: Some("10.0.0.9".into()),
            port: 8080,
            cluster_name: Some("DEFAULT".into()),
            ..Instance::default()
        }),
    };
    assert_eq!(
        String::from_utf8_lossy(&request.to_json()),
        r#"{"headers":{},"namespace":"public","serviceName":"demo","groupName":"DEFAULT_GROUP","type":"registerInstance","instance":{"ip":"10.0.0.9","port":8080,"weight":1.0,"healthy":true,"enabled":true,"ephemeral":true,"clusterName":"DEFAULT","metadata":{},"instanceHeartBeatInterval":5000,"instanceHeartBeatTimeOut":15000,"ipDeleteTimeout":30000,"instanceIdGenerator":"simple"},"module":"naming"}"#
    );
    assert_eq!(
        written(&SubscribeServiceRequest::default()),
        json!({"headers": {}, "subscribe": false, "module": "naming"})
    );
    assert_eq!(
        written(&SetupAckRequest { ability_table: Some([("a".into(), true)].into()) }),
        json!({"headers": {}, "abilityTable": {"a": true}, "module": "internal"})
    );
}

#[test]
fn responses_are_written_as_real_servers_write_them() {
    let ok = InstanceResponse { kind: Some(REGISTER.into()), ..Default::default() };
    assert_eq!(written(&ok), json!({"resultCode": 200, "errorCode": 0, "type": "registerInstance", "success": true}));
    assert_eq!(
        written(&ErrorResponse::raised(400, "x")),
        json!({"resultCode": 400, "errorCode": 400, "message": "x", "success": false})
    );
    assert_eq!(
        written(&ErrorResponse::failure(301, "x")),
        json!({"resultCode": 500, "errorCode": 301, "message": "x", "success": false})
    );
    let info = ServiceInfo { name: Some("s".into()), hosts: None, ..Default::default() };
    let answer = QueryServiceResponse { service_info: Some(info), ..Default::default() };
    let json = written(&answer);
    assert_eq!(json["serviceInfo"]["hosts"], json!([]));
    assert_eq!((&json["serviceInfo"]["allIPs"], &json["serviceInfo"]["allIps"]), (&json!(false), &json!(false)));
}

#[test]
fn either_spelling_of_all_ips_is_read() {
    for spelling in
        [r#""allIPs":true"#, r#""allIps":true"#, r#""allIPs":true,"allIps":false"#, r#""allIps":true,"allIPs":true"#]
    {
        let info: ServiceInfo = serde_json::from_str(&format!("{{{spelling},\"hosts\":null}}")).expect(spelling);
        assert!(info.all_ips, "{spelling}");
        assert_eq!(info.hosts, None);
    }
}

#[test]
fn a_list_names_its_service_with_or_without_the_group() {
    let key = |json| serde_json::from_str::<ServiceInfo>(json).expect(json).key().map(|(g, n)| format!("{g}|{n}"));
    assert_eq!(key(r#"{"name":"n","groupName":"g"}"#).as_deref(), Some("g|n"));
    assert_eq!(key(r#"{"name":"g@@n"}"#).as_deref(), Some("g|n"));
    assert_eq!(key(r#"{"name":"n"}"#), None);
}

#[test]
fn weights_that_json_cannot_hold_are_written_as_texts() {
    let weight =
        |weight| serde_json::to_value(Instance { weight, ..Instance::default() }).expect("JSON")["weight"].clone();
    assert_eq!(weight(f64::NAN), json!("NaN"));
    assert_eq!(weight(f64::INFINITY), json!("Infinity"));
    assert_eq!(weight(0.1), json!(0.1));
}

#[test]
fn times_follow_the_metadata_only_when_they_are_plain_digits() {
    let with = |value: &str| Instance {
        metadata: [("preserved.heart.beat.interval", value)].into_iter().collect(),
        ..Instance::default()
    };
    assert_eq!(with("1000").beat_interval_ms(), 1_000);
    for odd in ["", "abc", "-1", "+5", "1e3", "99999999999999999999"] {
        assert_eq!(with(odd).beat_interval_ms(), 5_000, "{odd:?}");
    }
    assert_eq!(with("1000").id_generator(), None);
    assert_eq!(Instance::default().id_generator(), Some("simple"));
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_the_readers_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..256)) {
        if let Ok(payload) = Payload::decode(bytes.as_slice()) {
            let _ = payload.decode_request::<InstanceRequest>().is_ok();
        }
        let payload = Payload::new("QueryServiceResponse", bytes.into());
        let _ = payload.decode_response::<QueryServiceResponse>().is_ok();
        let _ = payload.decode_json::<BatchInstanceRequest>().is_ok();
        let _ = payload.decode_json::<ConnectionSetupRequest>().is_ok();
    }

    #[test]
    fn json_like_texts_do_not_make_the_readers_panic(text in r#"[\{\}\[\]",:0-9eE+\-. \\untrfals]{0,64}"#) {
        let payload = Payload::new("", text.into_bytes().into());
        let _ = payload.decode_json::<NotifySubscriberRequest>().is_ok();
        let _ = payload.decode_json::<InstanceRequest>().is_ok();
    }
}
