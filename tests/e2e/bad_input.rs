//! What is ill, hostile or too much, from either side: an error of the right kind, and everybody stays up.

use std::sync::Arc;

use bytes::Bytes;
use nacos_proto::grpc::{
    BATCH_REGISTER, BatchInstanceRequest, BatchInstanceResponse, ConnectionSetupRequest, ErrorResponse,
    HealthCheckRequest, HealthCheckResponse, Instance, InstanceRequest, InstanceResponse, Message,
    PersistentInstanceRequest, QueryServiceResponse, REGISTER, Response, ServerCheckRequest, ServiceListRequest,
    ServiceListResponse, ServiceQueryRequest, SubscribeServiceRequest, SubscribeServiceResponse,
};
use nacos_proto::{Failure, Payload, REQUEST_PATH, ResponseError, code};
use nacos_server_min::Server;
use nacos_tests::raw::Connection;
use prost::Message as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::wait::{eventually, in_time, wait_until};
use crate::support::witness::{Witness, foreign};
use crate::support::world::{World, in_our_worlds};

in_our_worlds!(
    unreadable_bodies_are_answered_with_502,
    unknown_types_and_early_calls_are_answered_with_their_codes,
    values_out_of_range_are_refused_with_their_text,
    wrong_json_types_are_answered_and_harm_nobody,
    a_stream_message_before_the_set_up_is_ignored,
);

/// Every request type of naming that a client may send.
const REQUESTS: [&str; 6] = [
    InstanceRequest::TYPE,
    PersistentInstanceRequest::TYPE,
    BatchInstanceRequest::TYPE,
    ServiceQueryRequest::TYPE,
    ServiceListRequest::TYPE,
    SubscribeServiceRequest::TYPE,
];

fn silent() -> nacos_tests::raw::Answerer {
    Arc::new(|_: &Payload| None)
}

async fn stranger(server: &Server) -> Connection {
    Connection::open(server.grpc_addr(), silent()).await.expect("the server listens")
}

/// The server answers a newcomer, and nothing but the newcomer is left of the test.
async fn is_well(server: &Server) {
    let witness = Witness::join(server.grpc_addr()).await;
    witness.register("a-service-to-prove-it", foreign(1)).await;
    witness.sees("a-service-to-prove-it", &[1]).await;
    wait_until("only the witness is connected", || {
        server.connections().iter().all(|connection| connection.id == witness.id)
    })
    .await;
}

fn failure<T: std::fmt::Debug>(answer: Result<T, ResponseError>) -> Failure {
    match answer {
        Err(ResponseError::Refused(failure)) => failure,
        other => panic!("no refusal: {other:?}"),
    }
}

/// The answer to a body of any kind, which must be a failure in the general form.
async fn refusal(connection: &Connection, kind: &str, body: impl Into<Bytes>) -> Failure {
    let message = Payload::new(kind, body.into()).encode_to_vec();
    let answer = connection.call(REQUEST_PATH, &message, false).await.expect("there is an answer");
    let answer = Payload::decode(answer).expect("an answer is a payload");
    failure(answer.decode_response::<ErrorResponse>())
}

async fn unreadable_bodies_are_answered_with_502(world: World) {
    let registry = world.registry().await;
    let connection = set_up(registry.server()).await;
    for kind in REQUESTS {
        for body in ["", "null", "{", "nope", "[]", "[1]", "7", "\"text\"", "{\"namespace\":", "\u{0}\u{1}\u{2}"] {
            let failure = refusal(&connection, kind, body).await;
            assert_eq!(failure.code(), code::BAD_GATEWAY, "{kind} {body:?}: {failure:?}");
        }
        let not_utf8 = refusal(&connection, kind, Bytes::from_static(b"{\"namespace\":\"\xff\xfe\"}")).await;
        assert_eq!(not_utf8.result_code, code::FAIL, "{kind}: {not_utf8:?}");
    }
    health(&connection).await.expect("the connection survived");
    drop(connection);
    is_well(registry.server()).await;
}

/// A connection that the server knows.
async fn set_up(server: &Server) -> Connection {
    let mut connection = stranger(server).await;
    connection.open_stream("s").await;
    connection.send("s", &Payload::encode_json(&setup_request()));
    eventually("the connection is known", async || health(&connection).await.ok()).await;
    connection
}

fn setup_request() -> ConnectionSetupRequest {
    ConnectionSetupRequest {
        labels: Some([("source", "sdk"), ("module", "naming")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()),
        ..ConnectionSetupRequest::default()
    }
}

async fn health(connection: &Connection) -> Result<HealthCheckResponse, ResponseError> {
    let request = Payload::encode_json(&HealthCheckRequest::default()).encode_to_vec();
    let answer = connection.call(REQUEST_PATH, &request, false).await.expect("there is an answer");
    Payload::decode(answer).expect("an answer is a payload").decode_response()
}

async fn unknown_types_and_early_calls_are_answered_with_their_codes(world: World) {
    let registry = world.registry().await;
    let connection = stranger(registry.server()).await;
    // A cluster's own request, by the port of clients; a type nobody knows; none at all; and the names in another case.
    for (kind, expected) in [
        ("DistroDataRequest", code::BAD_GATEWAY),
        ("NoSuchRequest", code::NO_HANDLER),
        ("", code::NO_HANDLER),
        ("instancerequest", code::NO_HANDLER),
        (InstanceRequest::TYPE, code::UNREGISTERED),
        (HealthCheckRequest::TYPE, code::UNREGISTERED),
    ] {
        assert_eq!(refusal(&connection, kind, "{}").await.code(), expected, "{kind:?}");
    }
    let nothing = Payload::default().encode_to_vec();
    let answer = connection.call(REQUEST_PATH, &nothing, false).await.expect("there is an answer");
    let answer = Payload::decode(answer).expect("an answer is a payload");
    assert_eq!(failure(answer.decode_response::<ErrorResponse>()).code(), code::NO_HANDLER);
    let unknown = connection.call("/Request/Request", b"", false).await.expect_err("no such method");
    assert_eq!(unknown.name, "UNIMPLEMENTED");
    // The check needs no body at all.
    let check = Payload::new(ServerCheckRequest::TYPE, Bytes::from_static(b"{broken")).encode_to_vec();
    connection.call(REQUEST_PATH, &check, false).await.expect("the connection survived");
    drop(connection);
    is_well(registry.server()).await;
}

fn request_of(service: &str, instance: Instance) -> InstanceRequest {
    InstanceRequest {
        namespace: Some("public".to_owned()),
        service_name: Some(service.to_owned()),
        group_name: Some("DEFAULT_GROUP".to_owned()),
        kind: Some(REGISTER.to_owned()),
        instance: Some(instance),
    }
}

async fn values_out_of_range_are_refused_with_their_text(world: World) {
    let registry = world.registry().await;
    let witness = registry.witness().await;
    let metadata = |length: usize| [("k".to_owned(), "v".repeat(length))].into_iter().collect();
    let cases = [
        (request_of("@a", foreign(1)), "serviceName"),
        (request_of("a@@b", foreign(1)), "serviceName"),
        (request_of("a b", foreign(1)), "serviceName"),
        (request_of("s服务", foreign(1)), "serviceName"),
        (request_of(&"n".repeat(513), foreign(1)), "serviceName"),
        (request_of(&"n".repeat(1 << 20), foreign(1)), "serviceName"),
        (request_of("a", foreign(65_536)), "port"),
        (request_of("a", foreign(-1)), "port"),
        (request_of("a", Instance { metadata: metadata(1024), ..foreign(1) }), "Metadata"),
        (request_of("a", Instance { cluster_name: Some("a,b".to_owned()), ..foreign(1) }), "cluster"),
        (request_of("a", Instance { ip: Some("10.0.0.1 ".to_owned()), ..foreign(1) }), "ip"),
        (request_of("a", Instance { ip: Some("i".repeat(129)), ..foreign(1) }), "ip"),
        (InstanceRequest { group_name: Some("g".repeat(129)), ..request_of("a", foreign(1)) }, "group"),
        (InstanceRequest { namespace: Some("n/a".to_owned()), ..request_of("a", foreign(1)) }, "namespaceId/tenant"),
    ];
    // Real servers take any weight over gRPC.
    let weights = [-1.0, 10_000.5, f64::NAN, f64::INFINITY].map(|weight| Instance { weight, ..foreign(1) });
    let weights = weights.into_iter().filter(|_| world == World::Standard);
    for (request, param) in weights.map(|instance| (request_of("a", instance), "weight")).chain(cases) {
        let failure = failure(witness.call::<_, InstanceResponse>(&request).await);
        assert!(failure.typed, "{param}: {failure:?}");
        assert_eq!((failure.result_code, failure.error_code), (code::FAIL, code::INVALID_PARAM), "{param}");
        assert!(failure.message.contains(param), "{param}: {failure:?}");
    }
    // Blank names are a fault that the handler finds.
    for name in ["", " ", "\t"] {
        let failure = failure(witness.call::<_, InstanceResponse>(&request_of(name, foreign(1))).await);
        assert_eq!((failure.code(), failure.typed), (code::FAIL, false), "{name:?}: {failure:?}");
    }
    // At the limit, and what looks odd but is allowed.
    for service in ["a@b", "größe", "服", &"n".repeat(512)] {
        let last = Instance { metadata: metadata(1023), weight: 10_000.0, ..foreign(65_535) };
        witness.call::<_, InstanceResponse>(&request_of(service, last)).await.expect("that is allowed");
        witness.sees(service, &[65_535]).await;
    }
    witness.call::<_, InstanceResponse>(&request_of("port-0", foreign(0))).await.expect("servers take port 0");
    let ipv6 = Instance { ip: Some("2001:db8::5".to_owned()), ..foreign(8080) };
    witness.call::<_, InstanceResponse>(&request_of("v6", ipv6)).await.expect("IPv6 is taken");
    witness
        .sees_that("v6", "the address came through whole", |all| {
            all.iter().map(|i| i.ip.as_deref()).eq([Some("2001:db8::5")])
        })
        .await;
    assert!(witness.instances("a").await.is_empty(), "nothing of what was refused is there");
    drop(witness);
    is_well(registry.server()).await;
}

async fn wrong_json_types_are_answered_and_harm_nobody(world: World) {
    let registry = world.registry().await;
    let connection = set_up(registry.server()).await;
    let odd =
        [json!(null), json!({}), json!([]), json!([{}]), json!(true), json!(1e300), json!("x"), json!({"a": {"b": 1}})];
    let instance = json!({"ip": "10.0.0.1", "port": 80, "weight": 1.0, "metadata": {"a": "b"}, "clusterName": "c"});
    let full = json!({
        "namespace": "public", "serviceName": "s", "groupName": "g", "type": REGISTER, "instance": instance,
        "instances": [instance], "cluster": "", "healthyOnly": false, "pageNo": 1, "pageSize": 10, "subscribe": true,
        "clusters": "", "headers": {}, "requestId": "1",
    });
    let keys: Vec<String> = full.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
    let inner: Vec<String> = instance.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
    for kind in REQUESTS {
        for value in &odd {
            let outer = keys.iter().map(|key| replaced(&full, &[key], value));
            let nested = inner.iter().map(|key| replaced(&full, &["instance", key], value));
            for body in outer.chain(nested) {
                let message = Payload::new(kind, body.to_string().into()).encode_to_vec();
                let answer = connection.call(REQUEST_PATH, &message, false).await;
                let answer = answer.unwrap_or_else(|status| panic!("{kind} {body} was answered with {status}"));
                let answer = Payload::decode(answer).expect("an answer is a payload");
                assert!(serde_json::from_slice::<Value>(answer.json()).is_ok(), "{kind} {body}");
            }
        }
    }
    health(&connection).await.expect("the connection survived");
    drop(connection);
    is_well(registry.server()).await;
}

fn replaced(body: &Value, path: &[&str], value: &Value) -> Value {
    let mut body = body.clone();
    let place = path.iter().try_fold(&mut body, |at, key| at.get_mut(*key)).expect("the path exists");
    *place = value.clone();
    body
}

async fn a_stream_message_before_the_set_up_is_ignored(world: World) {
    let registry = world.registry().await;
    let mut connection = stranger(registry.server()).await;
    connection.open_stream("s").await;
    for kind in REQUESTS.into_iter().chain(["NoSuchRequest", "", "ClientDetectionResponse", "SetupAckRequest"]) {
        for body in ["{}", "nope", "", "null", "{\"requestId\":\"17\"}", "{\"requestId\":[]}"] {
            connection.send("s", &Payload::new(kind, Bytes::from_static(body.as_bytes())));
        }
    }
    connection.send("s", &Payload::default());
    // A set-up that cannot be read is ignored as well; a good one behind it counts.
    connection.send("s", &Payload::new(ConnectionSetupRequest::TYPE, Bytes::from_static(b"{\"labels\":7}")));
    assert_eq!(failure(health(&connection).await).code(), code::UNREGISTERED);
    connection.send("s", &Payload::encode_json(&setup_request()));
    eventually("the set-up counts", async || health(&connection).await.ok()).await;
    drop(connection);
    is_well(registry.server()).await;
}

#[tokio::test]
async fn truncated_and_broken_frames_get_a_status_and_the_connection_lives() {
    let registry = World::Standard.registry().await;
    let connection = set_up(registry.server()).await;
    let whole = Payload::encode_json(&HealthCheckRequest::default()).encode_to_vec();
    let framed = |flag: u8, length: u32, body: &[u8]| Bytes::from([&[flag], &length.to_be_bytes()[..], body].concat());
    let length = u32::try_from(whole.len()).expect("a short message");
    let bodies = [
        Bytes::new(),
        Bytes::from_static(&[0]),
        Bytes::from_static(&[0, 0, 0]),
        framed(0, length + 1, &whole),
        framed(0, u32::MAX, &whole),
        framed(0, length - 3, &whole),
        framed(1, length, &whole),
        framed(7, length, &whole),
        framed(0, 4, &[0xff; 4]),
        [framed(0, length, &whole), framed(0, length, &whole)].concat().into(),
    ];
    for body in bodies {
        let shown = format!("{:?}", body.slice(..body.len().min(8)));
        let answer = connection.send_body(REQUEST_PATH, body, None).await;
        let status = answer.expect_err(&shown);
        assert_ne!(status.name, "NO_ANSWER", "{shown}: {status}");
        health(&connection).await.expect("the connection survived");
    }
    let unknown = connection.send_body(REQUEST_PATH, framed(1, length, &whole), Some("snappy")).await;
    assert_ne!(unknown.expect_err("no such compression").name, "NO_ANSWER");
    health(&connection).await.expect("the connection survived");
    drop(connection);
    is_well(registry.server()).await;
}

#[tokio::test]
async fn a_message_above_the_limit_is_refused_and_the_connection_lives() {
    let registry = World::Standard.registry().await;
    let connection = set_up(registry.server()).await;
    let huge = Payload::new(HealthCheckRequest::TYPE, vec![b' '; 10 * 1024 * 1024 + 1].into()).encode_to_vec();
    let status = connection.call(REQUEST_PATH, &huge, false).await.expect_err("too much");
    assert_eq!(status.name, "RESOURCE_EXHAUSTED", "{status}");
    health(&connection).await.expect("the connection survived");
    let mut connection = connection;
    connection.open_stream("big").await;
    connection.send("big", &Payload::new("NoSuchRequest", vec![b' '; 10 * 1024 * 1024 + 1].into()));
    let ended = in_time("the stream ends", async {
        let inbox = Arc::clone(connection.inbox());
        let ended = |items: &mut Vec<nacos_tests::raw::Inbound>| {
            items.iter().find_map(|item| match &item.event {
                nacos_tests::raw::Event::Ended(status) if item.stream == "big" => Some(status.clone()),
                _ => None,
            })
        };
        inbox.wait(crate::support::wait::PATIENCE, ended).await
    });
    assert_eq!(ended.await.map(|status| status.name).as_deref(), Some("RESOURCE_EXHAUSTED"));
    health(&connection).await.expect("the connection survived");
    drop(connection);
    is_well(registry.server()).await;
}

#[tokio::test]
async fn bytes_that_are_no_http2_end_the_connection_and_nothing_else() {
    let registry = World::Standard.registry().await;
    let server = registry.server();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let beginnings: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\nhost: a\r\n\r\n".to_vec(),
        vec![0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03],
        vec![0xff; 4096],
        preface.get(..10).unwrap_or_default().to_vec(),
        [&preface[..], &[0xff; 64]].concat(),
        // A settings frame of a length that is not a multiple of six.
        [&preface[..], &[0, 0, 5, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5]].concat(),
        // Data for a stream that was never opened.
        [&preface[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0], &[0, 0, 1, 0, 1, 0, 0, 0, 9, 0]].concat(),
    ];
    for beginning in &beginnings {
        let mut stream = TcpStream::connect(server.grpc_addr()).await.expect("the server listens");
        stream.write_all(beginning).await.expect("the connection is open");
        stream.shutdown().await.expect("the connection is open");
        let mut heard = Vec::new();
        // Reset or closed: both are an end.
        drop(in_time("the server ends it", stream.read_to_end(&mut heard)).await);
    }
    // The HTTP port takes no nonsense either.
    for beginning in &beginnings {
        let mut stream = TcpStream::connect(server.http_addr()).await.expect("the server listens");
        stream.write_all(beginning).await.expect("the connection is open");
        stream.shutdown().await.expect("the connection is open");
        let mut heard = Vec::new();
        drop(in_time("the server ends it", stream.read_to_end(&mut heard)).await);
    }
    is_well(server).await;
}

#[tokio::test]
async fn a_batch_with_one_bad_member_is_refused_as_a_whole() {
    let registry = World::Standard.registry().await;
    let witness = registry.witness().await;
    let batch = |instances| BatchInstanceRequest {
        namespace: Some("public".to_owned()),
        service_name: Some("batch".to_owned()),
        group_name: Some("DEFAULT_GROUP".to_owned()),
        kind: Some(BATCH_REGISTER.to_owned()),
        instances: Some(instances),
    };
    witness
        .call::<_, BatchInstanceResponse>(&batch(vec![Some(foreign(1)), Some(foreign(2))]))
        .await
        .expect("both are good");
    for bad in [Some(foreign(65_536)), Some(Instance { weight: f64::NAN, ..foreign(4) }), None] {
        let failure = failure(witness.call::<_, BatchInstanceResponse>(&batch(vec![Some(foreign(3)), bad])).await);
        assert_eq!((failure.error_code, failure.typed), (code::INVALID_PARAM, true), "{failure:?}");
        assert_eq!(witness.ports("batch").await, [1, 2], "the last good set stays");
    }
}

#[tokio::test]
async fn lists_and_queries_of_nothing_are_answered() {
    let registry = World::Standard.registry().await;
    let witness = registry.witness().await;
    for (page_no, page_size) in [(0, 0), (-1, -1), (i32::MAX, i32::MAX), (i32::MIN, 1), (1, 0), (2, 1)] {
        let request = ServiceListRequest {
            namespace: Some("public".to_owned()),
            group_name: Some("DEFAULT_GROUP".to_owned()),
            page_no,
            page_size,
            ..ServiceListRequest::default()
        };
        match witness.call::<_, ServiceListResponse>(&request).await {
            Ok(list) => assert_eq!((list.count, list.service_names.len()), (0, 0), "page {page_no} of {page_size}"),
            // Real servers fail on a page of less than nothing.
            Err(error) => assert_eq!((page_size < 0, failure::<()>(Err(error)).code()), (true, code::FAIL)),
        }
    }
    let query = ServiceQueryRequest {
        namespace: Some("public".to_owned()),
        service_name: Some("nothing".to_owned()),
        group_name: Some("DEFAULT_GROUP".to_owned()),
        cluster: Some("a,,b,".to_owned()),
        ..ServiceQueryRequest::default()
    };
    let answer: QueryServiceResponse = witness.call(&query).await.expect("nothing is a list, too");
    assert!(answer.is_success());
    let subscribe = SubscribeServiceRequest {
        namespace: query.namespace.clone(),
        service_name: query.service_name.clone(),
        group_name: query.group_name.clone(),
        subscribe: true,
        clusters: Some(String::new()),
    };
    let answer: SubscribeServiceResponse = witness.call(&subscribe).await.expect("nothing can be subscribed");
    assert!(answer.service_info.is_some());
    let twice = SubscribeServiceRequest { subscribe: false, ..subscribe };
    for _ in 0..2 {
        witness.call::<_, SubscribeServiceResponse>(&twice).await.expect("ending nothing is no fault");
    }
}
