//! Which check comes first, and in which shape each refusal is answered.

use nacos_server_min::Server;
use serde_json::{Value, json};

use crate::support::{Peer, instance, named};

const ERROR: &str = "ErrorResponse";

async fn server() -> Server {
    Server::builder().start().await.expect("free ports")
}

#[tokio::test]
async fn before_the_set_up_only_the_server_check_is_answered() {
    let server = server().await;
    let peer = Peer::connect(server.grpc_addr()).await;
    for body in ["", "{nope", "{}", "null", "[]", r#"{"headers":{},"module":"internal"}"#] {
        let check = peer.unary_text("ServerCheckRequest", body).await;
        assert_eq!(check.codes(), ("ServerCheckResponse", 200, 0), "{body:?}");
        assert_eq!(check.body["supportAbilityNegotiation"], true);
    }
    let id = |reply: crate::support::Reply| reply.body["connectionId"].as_str().map(str::to_owned);
    let first = id(peer.unary_text("ServerCheckRequest", "{}").await);
    assert_eq!(first, id(peer.unary_text("ServerCheckRequest", "{}").await));
    assert_eq!(first.as_deref(), server.connections().first().map(|c| c.id.as_str()));

    assert_eq!(peer.unary_text("InstanceRequest", "{nope").await.codes(), (ERROR, 500, 301), "even with a bad body");
    let unregistered = peer.health().await;
    assert_eq!((unregistered.codes(), unregistered.message()), ((ERROR, 500, 301), "Connection is unregistered."));
    for unknown in
        ["NopeRequest", "instanceRequest", "HealthCheckResponse", "PushAckRequest", "ConnectionSetupRequest", ""]
    {
        let reply = peer.unary_text(unknown, "{}").await;
        assert_eq!((reply.codes(), reply.message()), ((ERROR, 500, 302), "RequestHandler Not Found"), "{unknown:?}");
    }
    for cluster in [
        "DistroDataRequest",
        "MemberReportRequest",
        "ServerLoaderInfoRequest",
        "ServerReloadRequest",
        "ConfigChangeClusterSyncRequest",
    ] {
        let reply = peer.unary_text(cluster, "{}").await;
        assert_eq!(reply.codes(), (ERROR, 500, 502));
        assert_eq!(reply.message(), format!(" invoke {cluster} from sdk is forbidden"));
    }
}

#[tokio::test]
async fn a_body_is_read_before_it_is_judged() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    for body in [
        "",
        "{nope",
        "[]",
        r#""x""#,
        r#"{"namespace":"public""#,
        r#"{"instance":"x"}"#,
        r#"{"instance":{"port":"abc"}}"#,
    ] {
        let reply = peer.unary_text("InstanceRequest", body).await;
        assert_eq!(reply.codes(), (ERROR, 500, 502), "{body:?}");
        assert_eq!(reply.message(), "errCode: 101, errMsg: Nacos deserialize failed.  ");
    }
    let null = peer.unary_text("InstanceRequest", "null").await;
    assert_eq!((null.codes(), null.message()), ((ERROR, 500, 502), "Invalid request"));
    for blank in ["{}", r#"{"headers":{}} x"#, "\u{feff}{}"] {
        let reply = peer.unary_text("InstanceRequest", blank).await;
        assert_eq!(reply.codes(), (ERROR, 500, 500));
        assert_eq!(reply.message(), "Param 'serviceName' is illegal, serviceName is blank");
    }
}

#[tokio::test]
async fn parameters_are_refused_in_the_type_of_the_answer() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let with = |field: &str, value: Value| {
        let mut changed = instance("10.0.0.1", 80);
        changed[field] = value;
        changed
    };
    let cases = [
        (with("port", json!(65_536)), "Param 'port' is illegal, the value should be between 0 and 65535."),
        (with("port", json!(-1)), "Param 'port' is illegal, the value should be between 0 and 65535."),
        (with("ip", json!("1.1 .1")), "Param 'ip' is illegal, illegal characters should not appear in the param."),
        (with("ip", json!("i".repeat(129))), "Param 'ip' is illegal, the param length should not exceed 128."),
        (
            with("clusterName", json!("a.b")),
            "Param 'cluster' is illegal, illegal characters should not appear in the param.",
        ),
        (
            with("metadata", json!({"k": "v".repeat(1_024)})),
            "Param 'Metadata' is illegal, the param length should not exceed 1024.",
        ),
    ];
    for (instance, text) in cases {
        let reply = peer.register("orders", instance).await;
        assert_eq!(reply.codes(), ("InstanceResponse", 500, 400));
        assert_eq!(reply.message(), format!("Param check invalid:{text}"));
    }
    for name in ["a@@b", "@ab", "rec a", "rec服务"] {
        assert_eq!(
            peer.register(name, instance("10.0.0.1", 80)).await.codes(),
            ("InstanceResponse", 500, 400),
            "{name}"
        );
        assert_eq!(peer.query(name).await.codes(), ("QueryServiceResponse", 500, 400), "{name}");
        assert_eq!(peer.subscribe(name, "").await.codes(), ("SubscribeServiceResponse", 500, 400), "{name}");
    }
    for name in ["a@b", "服rec", " rec", "rec-ü", "rec/a:b#c%d?e"] {
        assert_eq!(peer.register(name, instance("10.0.0.1", 80)).await.codes(), ("InstanceResponse", 200, 0), "{name}");
    }
    assert_eq!(peer.subscribe("orders", "c1, c2").await.codes(), ("SubscribeServiceResponse", 500, 400));
    assert_eq!(peer.subscribe("orders", "c1,").await.codes(), ("SubscribeServiceResponse", 200, 0));
}

#[tokio::test]
async fn weights_out_of_range_are_refused_with_the_text_of_the_http_api() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    for weight in [json!(-1), json!(10_001), json!("NaN"), json!("Infinity")] {
        let mut heavy = instance("10.0.0.1", 80);
        heavy["weight"] = weight.clone();
        let reply = peer.register("orders", heavy.clone()).await;
        assert_eq!(reply.codes(), ("InstanceResponse", 500, 400), "{weight}");
        assert_eq!(reply.message(), "instance format invalid: The weights range from 0.0 to 10000.0");
        let batch = named("orders", json!({"type": "batchRegisterInstance", "instances": [heavy]}));
        assert_eq!(peer.unary("BatchInstanceRequest", &batch).await.codes(), ("BatchInstanceResponse", 500, 400));
    }
    assert!(peer.query("orders").await.hosts().is_empty());
}

#[tokio::test]
async fn handlers_raise_their_errors() {
    let server = server().await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let absent = named("orders", json!({"type": "registerInstance"}));
    let reply = peer.unary("InstanceRequest", &absent).await;
    assert_eq!((reply.codes(), reply.message()), ((ERROR, 400, 400), "Instance can not be null."));
    let unknown = named("orders", json!({"type": "nope", "instance": instance("10.0.0.1", 80)}));
    for kind in ["InstanceRequest", "PersistentInstanceRequest"] {
        let reply = peer.unary(kind, &unknown).await;
        assert_eq!((reply.codes(), reply.message()), ((ERROR, 400, 400), "Unsupported request type nope"));
    }
    let untyped = named("orders", json!({"instance": instance("10.0.0.1", 80)}));
    assert_eq!(peer.unary("InstanceRequest", &untyped).await.codes(), (ERROR, 500, 500));
    let mut cluster = instance("10.0.0.1", 80);
    cluster["clusterName"] = json!("a_b");
    let reply = peer.register("orders", cluster.clone()).await;
    assert_eq!(reply.codes(), (ERROR, 400, 400));
    assert_eq!(reply.message(), "Instance 'clusterName' should be characters with only 0-9a-zA-Z-. (current: a_b)");
    let batch = named("orders", json!({"type": "batchRegisterInstance", "instances": [cluster]}));
    assert_eq!(peer.unary("BatchInstanceRequest", &batch).await.codes(), ("BatchInstanceResponse", 200, 0));
    let mut beats = instance("10.0.0.1", 80);
    beats["metadata"] = json!({"preserved.heart.beat.timeout": "1000"});
    assert_eq!(peer.register("orders", beats).await.codes(), (ERROR, 400, 400));
    for (instances, codes) in [
        (Value::Null, (ERROR, 500, 500)),
        (json!([null]), ("BatchInstanceResponse", 500, 400)),
        (json!([{"ip": "1.1.1.1", "port": 1, "serviceName": "G@@orders"}]), ("BatchInstanceResponse", 500, 400)),
    ] {
        let batch = named("orders", json!({"type": "batchRegisterInstance", "instances": instances}));
        assert_eq!(peer.unary("BatchInstanceRequest", &batch).await.codes(), codes);
    }
    let page = named("", json!({"pageNo": 1, "pageSize": -1}));
    assert_eq!(peer.unary("ServiceListRequest", &page).await.codes(), (ERROR, 500, 500));
}
