//! Set-up, register, query, subscribe, push: the path everything else stands on.

use crate::support::{Peer, instance, ports};
use nacos_server_min::Server;
use serde_json::json;

#[tokio::test]
async fn register_query_subscribe_push_and_disconnect() {
    let server = Server::builder().start().await.expect("free ports");
    let addr = server.grpc_addr();
    let (provider, _stream) = Peer::naming(addr).await;
    let (consumer, mut pushes) = Peer::naming(addr).await;

    let registered = provider.register("orders", instance("10.0.0.1", 8080)).await;
    assert_eq!(registered.codes(), ("InstanceResponse", 200, 0));
    assert_eq!(registered.body["type"], "registerInstance");

    let answer = consumer.query("orders").await;
    assert_eq!(answer.codes(), ("QueryServiceResponse", 200, 0));
    let host = answer.hosts().first().expect("one host").clone();
    assert_eq!(host["instanceId"], "10.0.0.1#8080#DEFAULT#DEFAULT_GROUP@@orders");
    assert_eq!(host["metadata"], json!({}));
    assert_eq!(host["instanceIdGenerator"], "simple");

    let subscribed = consumer.subscribe("orders", "").await;
    assert_eq!(subscribed.message(), "success");
    assert_eq!(ports(&pushes.acked_push().await), [8080], "a first subscription is pushed to");

    provider.register("orders", instance("10.0.0.1", 8081)).await;
    let changed = pushes.acked_push().await;
    assert_eq!(ports(&changed), [8081], "one record per connection and service");
    assert!(changed["lastRefTime"].as_i64() > answer.body["serviceInfo"]["lastRefTime"].as_i64());

    drop(provider);
    assert_eq!(ports(&pushes.acked_push().await), [0u64; 0], "a connection's instances end with it");
    let counters = server.counters();
    assert_eq!((counters.pushes, counters.setups), (3, 2));
    server.shutdown().await;
}
