//! By hand: `NACOS_PEER=127.0.0.1:8848 cargo test -p nacos-client -- --ignored real_peer`.

use std::{sync::Arc, time::Duration};

use tokio::sync::mpsc;

use crate::{
    model::{Instance, ServiceKey},
    transport::{
        Call, CallError, Dialect, Event, NamingTransport, Reply,
        grpc::{
            GrpcTransport,
            testing::{Client, settings},
        },
    },
};

#[tokio::test]
#[ignore = "needs a real server, named by NACOS_PEER"]
async fn real_peer_registers_subscribes_and_is_pushed_to() {
    let server = std::env::var("NACOS_PEER").expect("NACOS_PEER=host:port");
    let mut settings = settings(&[&server]);
    settings.namespace = Arc::from("public");
    let (_, peers) = mpsc::unbounded_channel();
    let mut client = Client::over(GrpcTransport::new(settings), peers);
    let (session, _) = client.connected().await;
    println!("{:?}", session.info());
    assert_eq!(session.info().dialect, Dialect::Replacing);

    let key = ServiceKey::new("DEFAULT_GROUP", format!("transport-{}", fastrand::u64(..)));
    let instance = Arc::new(Instance::new(("127.0.0.9", 8080)).weight(2.0).metadata("k", "v"));
    match session.call(Call::Subscribe { key: key.clone() }).await.unwrap() {
        Reply::Service(Some(info)) => assert_eq!(info.hosts.unwrap(), []),
        other => panic!("{other:?}"),
    }
    let done = session.call(Call::Register { key: key.clone(), instance: Arc::clone(&instance) }).await.unwrap();
    assert!(matches!(done, Reply::Done));
    let started = std::time::Instant::now();
    let host = loop {
        match client.event().await {
            Event::Push { info, .. } if info.hosts.as_ref().is_some_and(|hosts| !hosts.is_empty()) => {
                break info.hosts.unwrap().remove(0);
            }
            Event::Push { .. } => {}
            other => panic!("{other:?}"),
        }
    };
    println!("pushed after {:?}: {host:?}", started.elapsed());
    assert_eq!((host.ip.as_deref(), host.port, host.weight), (Some("127.0.0.9"), 8080, 2.0));
    assert_eq!(host.metadata.get("k").map(String::as_str), Some("v"));

    let batch = Call::RegisterBatch { key: key.clone(), instances: vec![Arc::clone(&instance)] };
    match session.call(batch).await {
        Ok(Reply::Done) => println!("batches: yes"),
        Err(CallError::Unsupported { needs }) => println!("batches: no, need {needs}"),
        other => panic!("{other:?}"),
    }
    match session.call(Call::List { group: "DEFAULT_GROUP".to_owned(), page: 1, size: 1000 }).await.unwrap() {
        Reply::Services { names, .. } => assert!(names.contains(&key.name().to_owned())),
        other => panic!("{other:?}"),
    }
    session.call(Call::Deregister { key: key.clone(), instance }).await.unwrap();
    session.call(Call::Unsubscribe { key }).await.unwrap();
    println!("quiet for 25 s: the health checks must keep the connection");
    let quiet = tokio::time::timeout(Duration::from_secs(25), async {
        loop {
            match client.event().await {
                Event::Push { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    });
    assert!(quiet.await.is_err());
    assert!(client.transport.close(Duration::from_secs(2)).await);
    println!("counts {:?}", client.transport.counts());
    assert_eq!(client.transport.counts().unreadable, 0);
}
