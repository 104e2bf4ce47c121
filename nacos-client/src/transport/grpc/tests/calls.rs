//! Calls and everything that can become of them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use nacos_proto::{
    Payload, code,
    grpc::{ErrorResponse, InstanceRequest, ServiceListRequest, ServiceQueryRequest, SubscribeServiceRequest},
};
use tokio::time::Instant;

use crate::{
    model::Instance,
    transport::{
        Call, CallClass, CallError, LinkFault, RefusalShape, Reply,
        grpc::{
            session::MAX_IN_FLIGHT,
            testing::{Answer, Client, Script, key, register, standard},
        },
    },
};

/// A script that answers everything but the set-up and health checks with `answer`.
fn answering(answer: impl Fn(usize, &Payload) -> Answer + Send + Sync + 'static) -> Script {
    Script {
        answer: Box::new(move |number, request| match request.kind() {
            "ServerCheckRequest" | "HealthCheckRequest" => Answer::Reply(standard(request, true)),
            _ => answer(number, request),
        }),
        ..Script::default()
    }
}

fn json(kind: &str, json: &'static str) -> Answer {
    Answer::Reply(Payload::new(kind, json.into()))
}

fn all_calls() -> Vec<(Call, &'static str)> {
    let instance = Arc::new(Instance::new(("10.0.0.9", 8080)));
    let (register, one) = (register(), || Arc::clone(&instance));
    vec![
        (register, "InstanceResponse"),
        (Call::RegisterBatch { key: key(), instances: vec![one(), one()] }, "BatchInstanceResponse"),
        (Call::Deregister { key: key(), instance: one() }, "InstanceResponse"),
        (Call::RegisterPersistent { key: key(), instance: one() }, "InstanceResponse"),
        (Call::DeregisterPersistent { key: key(), instance: one() }, "InstanceResponse"),
        (Call::Subscribe { key: key() }, "SubscribeServiceResponse"),
        (Call::Unsubscribe { key: key() }, "SubscribeServiceResponse"),
        (Call::Query { key: key() }, "QueryServiceResponse"),
        (Call::List { group: "G".to_owned(), page: 1, size: 10 }, "ServiceListResponse"),
    ]
}

#[tokio::test(start_paused = true)]
async fn every_call_is_answered() {
    let mut client = Client::start(Script::default());
    let (session, _) = client.connected().await;
    for (call, _) in all_calls() {
        let reply = session.call(call.clone()).await.unwrap();
        match (&call, &reply) {
            (Call::Subscribe { .. } | Call::Query { .. }, Reply::Service(Some(info))) => {
                assert_eq!(info.name.as_deref(), Some("orders"));
            }
            (Call::List { .. }, Reply::Services { count: 3, names }) => assert_eq!(names, &["orders"]),
            (_, Reply::Done) => {}
            _ => panic!("{call:?}: {reply:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn requests_carry_what_servers_need() {
    let mut client = Client::start(Script::default());
    let (session, mut peer) = client.connection().await;
    session.call(register()).await.unwrap();
    let request = peer.request_of("InstanceRequest").await;
    assert_eq!(request.client_ip(), "127.0.0.1");
    assert_eq!(request.metadata.as_ref().unwrap().headers["app"], "shop");
    let body: InstanceRequest = request.decode_json().unwrap();
    assert_eq!(body.namespace.as_deref(), Some("prod"));
    assert_eq!((body.service_name.as_deref(), body.group_name.as_deref()), (Some("orders"), Some("G")));
    assert_eq!(body.kind.as_deref(), Some("registerInstance"));
    let instance = body.instance.unwrap();
    assert_eq!((instance.ip.as_deref(), instance.port), (Some("10.0.0.9"), 8080));
    assert_eq!((instance.service_name, instance.instance_id), (None, None));

    session.call(Call::Subscribe { key: key() }).await.unwrap();
    let body: SubscribeServiceRequest = peer.request_of("SubscribeServiceRequest").await.decode_json().unwrap();
    assert_eq!((body.subscribe, body.clusters.as_deref()), (true, Some("")));
    session.call(Call::Unsubscribe { key: key() }).await.unwrap();
    let body: SubscribeServiceRequest = peer.request_of("SubscribeServiceRequest").await.decode_json().unwrap();
    assert!(!body.subscribe);
    session.call(Call::Query { key: key() }).await.unwrap();
    let body: ServiceQueryRequest = peer.request_of("ServiceQueryRequest").await.decode_json().unwrap();
    assert_eq!((body.cluster.as_deref(), body.healthy_only), (Some(""), false));
    session.call(Call::List { group: "G".to_owned(), page: 2, size: u32::MAX }).await.unwrap();
    let body: ServiceListRequest = peer.request_of("ServiceListRequest").await.decode_json().unwrap();
    assert_eq!((body.page_no, body.page_size, body.service_name.as_deref()), (2, i32::MAX, Some("")));
}

#[tokio::test(start_paused = true)]
async fn g04_a_failure_is_never_read_as_a_success_in_either_shape() {
    for (call, kind) in all_calls() {
        for (kind, shape) in [(kind, RefusalShape::Typed), ("ErrorResponse", RefusalShape::General)] {
            let refusal = r#"{"resultCode":500,"errorCode":4711,"message":"M"}"#;
            let mut client = Client::start(answering(move |_, _| json(kind, refusal)));
            let (session, _) = client.connected().await;
            match session.call(call.clone()).await.unwrap_err() {
                CallError::Refused(refusal) => {
                    assert_eq!((refusal.code, refusal.message.as_str(), refusal.shape), (4711, "M", shape));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn g04_sparse_and_odd_answers_are_understood() {
    type Check = fn(Result<Reply, CallError>);
    let cases: [(&str, &str, Check); 8] = [
        ("InstanceResponse", "{}", |r| assert!(matches!(r.unwrap(), Reply::Done))),
        ("InstanceResponse", r#"{"resultCode":"200","errorCode":null,"message":null}"#, |r| drop(r.unwrap())),
        ("InstanceResponse", r#"{"resultCode":200,"success":false,"x":{}}"#, |r| drop(r.unwrap())),
        ("InstanceResponse", r#"{"resultCode":500,"errorCode":0,"message":null}"#, |r| match r.unwrap_err() {
            CallError::Refused(refusal) => assert_eq!((refusal.code, refusal.message.as_str()), (500, "")),
            other => panic!("{other:?}"),
        }),
        ("ErrorResponse", r#"{"resultCode":500,"errorCode":500,"success":false}"#, |r| {
            assert_eq!(r.unwrap_err().class(), CallClass::Transient);
        }),
        ("InstanceResponse", "[]", |r| assert!(matches!(r.unwrap_err(), CallError::Decode(_)))),
        ("QueryServiceResponse", "{}", |r| assert!(matches!(r.unwrap_err(), CallError::Decode(_)), "a wrong type")),
        ("", "", |r| assert!(matches!(r.unwrap_err(), CallError::Decode(_)))),
    ];
    for (kind, body, check) in cases {
        let mut client = Client::start(answering(move |_, _| json(kind, body)));
        let (session, _) = client.connected().await;
        check(session.call(register()).await);
        assert!(client.events.try_recv().is_err(), "the connection lives on after {kind} {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn codes_ask_for_the_right_reaction_and_leave_the_connection_alone() {
    for (code, class) in [
        (300, CallClass::Transient),
        (302, CallClass::Unsupported),
        (400, CallClass::Final),
        (403, CallClass::Unauthorized),
        (404, CallClass::Final),
        (409, CallClass::Final),
        (500, CallClass::Transient),
        (502, CallClass::Final),
        (503, CallClass::Transient),
        (-500, CallClass::Transient),
    ] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let mut client = Client::start(answering(move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            Answer::Reply(Payload::encode_json(&ErrorResponse::raised(code, "no")))
        }));
        let (session, _) = client.connected().await;
        assert_eq!(session.call(register()).await.unwrap_err().class(), class, "{code}");
        assert_eq!(asked.load(Ordering::Relaxed), 1, "{code} is not retried here");
        assert!(client.events.try_recv().is_err(), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn g17_an_unknown_request_is_a_missing_feature() {
    let no_handler = |_: usize, _: &Payload| {
        Answer::Reply(Payload::encode_json(&ErrorResponse::failure(code::NO_HANDLER, "RequestHandler Not Found")))
    };
    let mut client = Client::start(answering(no_handler));
    let (session, _) = client.connected().await;
    for (call, since) in [
        (Call::RegisterBatch { key: key(), instances: Vec::new() }, "2.1.1"),
        (Call::RegisterPersistent { key: key(), instance: Arc::new(Instance::new(("h", 1))) }, "2.3.0"),
        (register(), "2.0.0"),
    ] {
        match session.call(call).await.unwrap_err() {
            CallError::Unsupported { needs } => assert_eq!(needs, since),
            other => panic!("{other:?}"),
        }
    }
    assert!(client.events.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn persistent_instances_are_not_even_tried_without_the_ability() {
    let mut client = Client::start(Script { setup_ack: Some(r#"{"abilityTable":{}}"#), ..Script::default() });
    let (session, mut peer) = client.connection().await;
    let instance = Arc::new(Instance::new(("h", 1)));
    let error = session.call(Call::RegisterPersistent { key: key(), instance }).await.unwrap_err();
    assert!(matches!(error, CallError::Unsupported { needs: "2.3.0" }));
    session.call(register()).await.unwrap();
    peer.request_of("ServerCheckRequest").await;
    assert_eq!(peer.request().await.kind(), "InstanceRequest", "the first call sent");
}

#[tokio::test(start_paused = true)]
async fn a_301_right_after_the_set_up_is_asked_once_more() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let mut client = Client::start(answering(move |_, request| {
        let early = count.fetch_add(1, Ordering::Relaxed) == 0;
        let unregistered = ErrorResponse::failure(code::UNREGISTERED, "Connection is unregistered.");
        Answer::Reply(if early { Payload::encode_json(&unregistered) } else { standard(request, true) })
    }));
    let (session, _) = client.connected().await;
    let start = Instant::now();
    assert!(matches!(session.call(register()).await, Ok(Reply::Done)));
    assert_eq!(start.elapsed(), Duration::from_millis(100));
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    assert!(client.events.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn g03_a_connection_the_server_forgot_is_replaced() {
    for code in [code::UNREGISTERED, code::CLIENT_DISCONNECT] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let mut client = Client::start(answering(move |number, request| {
            count.fetch_add(1, Ordering::Relaxed);
            let unregistered = ErrorResponse::failure(code, "Connection is unregistered.");
            Answer::Reply(if number == 0 { Payload::encode_json(&unregistered) } else { standard(request, true) })
        }));
        let (session, _) = client.connected().await;
        tokio::time::advance(Duration::from_millis(300)).await;
        match session.call(register()).await.unwrap_err() {
            CallError::Link(error) => assert!(matches!(error.fault, LinkFault::Unregistered(c) if c == code)),
            other => panic!("{other:?}"),
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1, "not asked again after the grace time");
        assert_eq!(client.disconnected().await.0, session.epoch());
        let (next, _) = client.connected().await;
        assert!(next.epoch() > session.epoch());
        next.call(register()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn g03_an_ever_forgetful_server_is_not_hammered() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let mut client = Client::start(answering(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        Answer::Reply(Payload::encode_json(&ErrorResponse::failure(code::UNREGISTERED, "")))
    }));
    let start = Instant::now();
    for _ in 0..8 {
        let (session, _) = client.connected().await;
        assert_eq!(session.call(register()).await.unwrap_err().class(), CallClass::EpochOver);
        client.disconnected().await;
    }
    assert_eq!(asked.load(Ordering::Relaxed), 16, "each connection asked twice within its grace time");
    assert!(start.elapsed() >= Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn failures_below_the_messages_concern_one_call() {
    let cases: [(fn() -> Answer, CallClass); 7] = [
        (|| Answer::Status(2), CallClass::Transient),
        (|| Answer::Status(8), CallClass::Final),
        (|| Answer::Status(12), CallClass::Unsupported),
        (|| Answer::Http(404), CallClass::Transient),
        (|| Answer::Reset, CallClass::Transient),
        (|| Answer::Raw(vec![0, 0, 0, 0, 9, 1].into()), CallClass::Final),
        (|| Answer::Raw(vec![0, 255, 255, 255, 255, 1].into()), CallClass::Final),
    ];
    for (answer, class) in cases {
        let mut client = Client::start(answering(move |_, request| match request.kind() {
            "InstanceRequest" => answer(),
            _ => Answer::Reply(standard(request, true)),
        }));
        let (session, _) = client.connected().await;
        assert_eq!(session.call(register()).await.unwrap_err().class(), class);
        session.call(Call::Query { key: key() }).await.unwrap();
        assert!(client.events.try_recv().is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn an_unavailable_upstream_ends_the_connection() {
    for answer in [(|| Answer::Status(14)) as fn() -> Answer, || Answer::Http(503)] {
        let mut client = Client::start(answering(move |_, _| answer()));
        let (session, _) = client.connected().await;
        assert_eq!(session.call(register()).await.unwrap_err().class(), CallClass::EpochOver);
        client.disconnected().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_unsendable_request_is_refused_here() {
    let mut client = Client::start(Script::default());
    let (session, _) = client.connected().await;
    let huge = Instance::new(("h", 1)).metadata("k", "x".repeat(nacos_proto::MAX_MESSAGE_SIZE));
    let call = Call::Register { key: key(), instance: Arc::new(huge) };
    assert_eq!(session.call(call).await.unwrap_err().class(), CallClass::Final);
    session.call(register()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_large_list_arrives_whole() {
    let mut client = Client::start(answering(|_, _| {
        let metadata = "x".repeat(1_000);
        let host = format!(r#"{{"ip":"10.0.0.9","port":1,"metadata":{{"k":"{metadata}"}}}}"#);
        let hosts = vec![host; 7_000].join(",");
        let body = format!(r#"{{"resultCode":200,"serviceInfo":{{"name":"orders","hosts":[{hosts}]}}}}"#);
        assert!(body.len() > 6 << 20);
        Answer::Reply(Payload::new("QueryServiceResponse", body.into()))
    }));
    let (session, _) = client.connected().await;
    match session.call(Call::Query { key: key() }).await.unwrap() {
        Reply::Service(Some(info)) => assert_eq!(info.hosts.unwrap().len(), 7_000),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_than_64_calls_are_in_flight() {
    let mut client = Client::start(answering(|_, _| Answer::Never));
    let (session, mut peer) = client.connection().await;
    let calls: Vec<_> = (0..MAX_IN_FLIGHT + 10).map(|_| tokio::spawn(session.call(register()))).collect();
    let mut sent = 0;
    while let Ok(request) = tokio::time::timeout(Duration::from_secs(1), peer.request()).await {
        sent += usize::from(request.kind() == "InstanceRequest");
    }
    assert_eq!(sent, MAX_IN_FLIGHT);
    // All of them, waiting or sent, end with the connection.
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap_err().class(), CallClass::EpochOver);
    }
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_call_frees_its_place() {
    let mut client = Client::start(answering(|_, request| match request.kind() {
        "InstanceRequest" => Answer::Never,
        _ => Answer::Reply(standard(request, true)),
    }));
    let (session, _) = client.connected().await;
    for _ in 0..3 * MAX_IN_FLIGHT {
        let abandoned = tokio::time::timeout(Duration::from_millis(1), session.call(register()));
        assert!(abandoned.await.is_err());
    }
    session.call(Call::Query { key: key() }).await.unwrap();
}

#[test]
fn a_call_may_be_polled_outside_of_any_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let script = answering(move |_, request| {
        let early = count.fetch_add(1, Ordering::Relaxed) == 0;
        let unregistered = ErrorResponse::failure(code::UNREGISTERED, "");
        Answer::Reply(if early { Payload::encode_json(&unregistered) } else { standard(request, true) })
    });
    let (client, session) = runtime.block_on(async {
        let mut client = Client::start(script);
        let (session, _) = client.connected().await;
        (client, session)
    });
    // Even one that has to pause.
    let call = session.call(register());
    let reply = std::thread::spawn(move || futures_executor(call)).join().unwrap();
    assert!(matches!(reply, Ok(Reply::Done)));
    // And when the runtime is gone it fails, without a panic.
    drop(runtime);
    let error = futures_executor(session.call(register())).unwrap_err();
    assert_eq!(error.class(), CallClass::EpochOver);
    drop(client);
}

/// A block-on of the simplest kind: no timers, no I/O.
fn futures_executor<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::task::Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            std::task::Poll::Ready(out) => return out,
            std::task::Poll::Pending => std::thread::park(),
        }
    }
}
