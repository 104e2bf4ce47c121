//! What servers send on the stream.

use std::time::Duration;

use nacos_proto::{
    MAX_MESSAGE_SIZE, Payload,
    grpc::{Ack, Message, NotifySubscriberRequest, NotifySubscriberResponse, ServiceInfo},
};

use crate::transport::{
    Call, CallError, Event, NamingTransport, TransportCounts,
    grpc::{
        GrpcSettings,
        testing::{Answer, Client, Peer, Script, key, register, settings, standard},
    },
};

async fn ack(peer: &mut Peer) -> (String, Ack) {
    let payload = peer.received().await;
    let ack = Ack::from_payload(&payload).expect("a response").unwrap();
    (payload.kind().to_owned(), ack)
}

async fn pushed(client: &mut Client) -> ServiceInfo {
    match client.event().await {
        Event::Push { info, .. } => info,
        other => panic!("{other:?}"),
    }
}

fn push(peer: &mut Peer, id: &str, stamp: i64) {
    let name = Some("orders".to_owned());
    let info = ServiceInfo { name, cache_millis: Some(10_000), last_ref_time: stamp, ..Default::default() };
    let push = NotifySubscriberRequest { request_id: id.to_owned(), service_info: Some(info) };
    peer.push(NotifySubscriberRequest::TYPE, push.to_json());
}

#[tokio::test(start_paused = true)]
async fn pushes_come_in_order_and_each_is_acknowledged_with_its_id() {
    let mut client = Client::start(Script::default());
    let (session, mut peer) = client.connection().await;
    for (id, stamp) in [("9", 1), ("7", 2), ("8", 2)] {
        push(&mut peer, id, stamp);
    }
    for (id, stamp) in [("9", 1), ("7", 2), ("8", 2)] {
        match client.event().await {
            Event::Push { epoch, info, .. } => assert_eq!((epoch, info.last_ref_time), (session.epoch(), stamp)),
            other => panic!("{other:?}"),
        }
        let (kind, ack) = ack(&mut peer).await;
        assert_eq!((kind.as_str(), ack.request_id.as_deref()), (NotifySubscriberResponse::TYPE, Some(id)));
        assert!(ack.is_success());
    }
    assert_eq!(client.transport.counts(), TransportCounts { pushes: 3, ..Default::default() });
}

#[tokio::test(start_paused = true)]
async fn detection_is_answered() {
    let mut client = Client::start(Script::default());
    let (_, mut peer) = client.connection().await;
    peer.push("ClientDetectionRequest", r#"{"headers":{},"requestId":"43","module":"internal"}"#);
    let (kind, ack) = ack(&mut peer).await;
    assert_eq!((kind.as_str(), ack.request_id.as_deref()), ("ClientDetectionResponse", Some("43")));
    assert!(ack.is_success());
}

#[tokio::test(start_paused = true)]
async fn cg13_sparse_and_odd_pushes_are_taken() {
    let mut client = Client::start(Script::default());
    let (_, mut peer) = client.connection().await;
    let odd = r#"{"requestId":1,"headers":null,"new":[{}],"serviceInfo":{"name":null,"hosts":null,"lastRefTime":"12","allIPs":false,"allIps":true,"clusters":null}}"#;
    peer.push("NotifySubscriberRequest", odd);
    let info = pushed(&mut client).await;
    assert_eq!((info.hosts, info.last_ref_time, info.all_ips), (None, 12, true));
    assert_eq!(ack(&mut peer).await.1.request_id.as_deref(), Some("1"));

    let host = r#"{"requestId":"2","serviceInfo":{"name":"orders","hosts":[{"port":"80","weight":"Infinity","metadata":null},null]}}"#;
    peer.push("NotifySubscriberRequest", host);
    let hosts = pushed(&mut client).await.hosts.unwrap();
    assert_eq!((hosts.len(), hosts[0].port, hosts[0].weight), (1, 80, f64::INFINITY));
    assert!(ack(&mut peer).await.1.is_success());

    // No list at all: nothing to hand over, and nothing to complain about.
    peer.push("NotifySubscriberRequest", r#"{"requestId":"3","serviceInfo":null}"#);
    assert!(ack(&mut peer).await.1.is_success());
    assert!(client.events.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn cg13_what_cannot_be_read_is_refused_and_counted_and_the_stream_lives_on() {
    let mut client = Client::start(Script::default());
    let (session, mut peer) = client.connection().await;
    peer.push("NotifySubscriberRequest", r#"{"requestId":"1","serviceInfo":7}"#);
    let (_, refused) = ack(&mut peer).await;
    assert_eq!((refused.request_id.as_deref(), refused.is_success(), refused.error_code), (Some("1"), false, -500));
    peer.push("NotifySubscriberRequest", "{");
    peer.push("ClientDetectionRequest", "");
    peer.push_raw(vec![0, 0, 0, 0, 3, 0xff, 0xff, 0xff].into());
    peer.push_raw(vec![1, 0, 0, 0, 1, 0].into());
    let mut huge = vec![0];
    huge.extend(u32::try_from(MAX_MESSAGE_SIZE + 1).unwrap().to_be_bytes());
    huge.resize(huge.len() + MAX_MESSAGE_SIZE + 1, b' ');
    peer.push_raw(huge.into());
    push(&mut peer, "2", 1);
    pushed(&mut client).await;
    assert_eq!(ack(&mut peer).await.1.request_id.as_deref(), Some("2"));
    session.call(register()).await.unwrap();
    assert_eq!(client.transport.counts(), TransportCounts { pushes: 1, unreadable: 6, ..TransportCounts::default() });
}

#[tokio::test(start_paused = true)]
async fn a_list_above_the_limit_is_left_out_and_ends_nothing() {
    const LIMIT: usize = 64 * 1024;
    let mut client = Client::start_with(
        GrpcSettings { max_message_size: LIMIT, ..settings(&["one", "two"]) },
        Script {
            answer: Box::new(|_, request| match request.kind() {
                "ServiceQueryRequest" => Answer::Reply(Payload::new("QueryServiceResponse", vec![b' '; LIMIT].into())),
                _ => Answer::Reply(standard(request, true)),
            }),
            ..Script::default()
        },
    );
    let (session, mut peer) = client.connection().await;
    let huge = format!(r#"{{"headers":{{}},"requestId":"7","serviceInfo":{{"name":"{}"}}}}"#, "x".repeat(LIMIT));
    peer.push("NotifySubscriberRequest", huge);
    // Who is not told that it came sends it again, and closes the connection in the end.
    let (_, accepted) = ack(&mut peer).await;
    assert_eq!((accepted.request_id.as_deref(), accepted.is_success()), (Some("7"), true));
    match session.call(Call::Query { key: key() }).await {
        Err(CallError::Oversized { size }) => assert!(usize::try_from(size).unwrap() > LIMIT, "{size}"),
        other => panic!("{other:?}"),
    }
    push(&mut peer, "8", 1);
    pushed(&mut client).await;
    session.call(register()).await.unwrap();
    assert_eq!(client.transport.counts(), TransportCounts { pushes: 1, unreadable: 1, ..TransportCounts::default() });
}

#[tokio::test(start_paused = true)]
async fn g17_unknown_types_are_ignored() {
    let mut client = Client::start(Script::default());
    let (_, mut peer) = client.connection().await;
    for kind in ["ConfigChangeNotifyRequest", "NamingFuzzyWatchSyncRequest", "NeverSeenRequest", "ErrorResponse", ""] {
        peer.push(kind, r#"{"requestId":"1"}"#);
    }
    let bare = Payload::default();
    peer.push_raw([&[0, 0, 0, 0, 0][..], &prost::Message::encode_to_vec(&bare)].concat().into());
    push(&mut peer, "2", 1);
    assert_eq!(ack(&mut peer).await.1.request_id.as_deref(), Some("2"), "the first answer");
    assert_eq!(client.transport.counts().unknown, 6);
}

#[tokio::test(start_paused = true)]
async fn a_repeated_acknowledgement_of_the_set_up_is_harmless() {
    let mut client = Client::start(Script::default());
    let (_, mut peer) = client.connection().await;
    peer.push("SetupAckRequest", "{}");
    push(&mut peer, "1", 1);
    pushed(&mut client).await;
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_pushes_is_acknowledged_in_full() {
    let mut client = Client::start(Script::default());
    let (_, mut peer) = client.connection().await;
    for n in 0..5_000 {
        push(&mut peer, &n.to_string(), n);
    }
    for n in 0..5_000 {
        assert_eq!(pushed(&mut client).await.last_ref_time, n);
        let ack = tokio::time::timeout(Duration::from_secs(1), ack(&mut peer)).await.unwrap();
        assert_eq!(ack.1.request_id.unwrap(), n.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn a_very_long_id_is_returned_whole() {
    let mut client = Client::start(Script::default());
    let (_, mut peer) = client.connection().await;
    let id = "9".repeat(500_000);
    push(&mut peer, &id, 1);
    pushed(&mut client).await;
    let payload: Payload = peer.received().await;
    let ack: NotifySubscriberResponse = payload.decode_json().unwrap();
    assert_eq!(ack.request_id, Some(id));
}
