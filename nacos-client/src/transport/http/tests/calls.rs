//! What each call asks, and what its answer means.

use std::sync::Arc;

use crate::{
    model::Instance,
    transport::{
        Call, Reply,
        http::testing::{Answer, Asked, Client, Net, instance, key, settings},
    },
};

fn query<'a>(asked: &'a Asked, name: &str) -> &'a str {
    asked.query.get(name).map_or("-", String::as_str)
}

/// Makes one call and returns what was asked.
async fn ask(call: Call) -> (Asked, Reply) {
    let net = Net::usual();
    let mut client = Client::start(&net);
    let session = client.connected().await;
    net.asked();
    let reply = session.call(call).await.unwrap();
    (net.asked().pop().expect("it asked"), reply)
}

#[tokio::test(start_paused = true)]
async fn a_registration_says_everything_in_the_query() {
    let odd =
        Instance::new(("[2001:db8::5]", 80)).metadata("k &=+%", "v ü\n\"").weight(0.1).enabled(false).healthy(false);
    let (asked, _) = ask(Call::Register { key: key(), instance: Arc::new(odd) }).await;
    assert!(asked.is_register());
    let pairs: Vec<(&str, &str)> = asked.query.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(
        pairs,
        [
            ("app", "shop"),
            ("clusterName", "DEFAULT"),
            ("enable", "false"),
            ("ephemeral", "true"),
            ("groupName", "G"),
            ("healthy", "false"),
            ("ip", "2001:db8::5"),
            ("metadata", "{\"k &=+%\":\"v ü\\n\\\"\"}"),
            ("namespaceId", "prod"),
            ("port", "80"),
            ("serviceName", "G@@orders"),
            ("weight", "0.1"),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn removals_name_one_instance_and_its_kind() {
    let (asked, _) = ask(Call::Deregister { key: key(), instance: instance(1) }).await;
    assert!(asked.is_deregister());
    assert_eq!((query(&asked, "ip"), query(&asked, "port"), query(&asked, "clusterName")), ("10.0.0.9", "1", "c1"));
    assert_eq!((query(&asked, "ephemeral"), query(&asked, "serviceName")), ("true", "G@@orders"));
    let persistent = Arc::new(Instance::new(("h", 1)).persistent());
    let (asked, _) = ask(Call::DeregisterPersistent { key: key(), instance: Arc::clone(&persistent) }).await;
    assert!(asked.is_deregister() && query(&asked, "ephemeral") == "false");
    let (asked, _) = ask(Call::RegisterPersistent { key: key(), instance: persistent }).await;
    assert!(asked.is_register() && query(&asked, "ephemeral") == "false");
}

#[tokio::test(start_paused = true)]
async fn lists_are_asked_for_whole() {
    let (asked, reply) = ask(Call::Query { key: key() }).await;
    assert_eq!(asked.what, "GET /nacos/v1/ns/instance/list");
    assert_eq!((query(&asked, "clusters"), query(&asked, "healthyOnly"), query(&asked, "udpPort")), ("", "false", "-"));
    let Reply::Service(Some(info)) = reply else { panic!("{reply:?}") };
    assert_eq!((info.key(), info.cache_millis), (Some(("G", "orders")), Some(10_000)));
    let (asked, reply) = ask(Call::List { group: "G".to_owned(), page: 2, size: 10 }).await;
    assert_eq!(asked.what, "GET /nacos/v1/ns/service/list");
    assert_eq!((query(&asked, "pageNo"), query(&asked, "pageSize"), query(&asked, "groupName")), ("2", "10", "G"));
    assert!(matches!(reply, Reply::Services { count: 3, names } if names == ["orders"]));
}

#[tokio::test(start_paused = true)]
async fn subscribed_services_ask_for_pushes_where_somebody_listens() {
    let net = Net::usual();
    let mut settings = settings(&["127.0.0.1"]);
    settings.push.enabled = true;
    settings.push.client_ip = Some("10.0.0.10".parse().unwrap());
    let mut client = Client::start_with(settings, &net);
    let session = client.connected().await;
    session.call(Call::Subscribe { key: key() }).await.unwrap();
    // The port is announced as soon as the socket is there.
    let mut port = None;
    while port.is_none() {
        session.call(Call::Query { key: key() }).await.unwrap();
        port = net.asked().pop().and_then(|mut asked| asked.query.remove("udpPort"));
    }
    let port = port.expect("somebody listens");
    session.call(Call::Unsubscribe { key: key() }).await.unwrap();
    let mut wishes = Vec::new();
    let calls = [
        Call::Query { key: key() },
        Call::Subscribe { key: key() },
        Call::Query { key: key() },
        Call::Unsubscribe { key: key() },
        Call::Query { key: key() },
    ];
    for call in calls {
        session.call(call).await.unwrap();
        wishes.extend(
            net.asked().iter().map(|asked| (query(asked, "udpPort").to_owned(), query(asked, "clientIP").to_owned())),
        );
    }
    let none = || ("-".to_owned(), "-".to_owned());
    let push = || (port.clone(), "10.0.0.10".to_owned());
    assert_eq!(wishes, [none(), push(), push(), none()], "unsubscribing asks nothing");
}

#[tokio::test(start_paused = true)]
async fn h13_odd_lists_are_read() {
    let list = r#"{"name":"G@@orders","hosts":[{"ip":"h","port":"1","weight":"NaN","metadata":{"a":1,"b":true,"c":null,"d":{"x":1},"e":"t"},
        "valid":true,"marked":false},{"ip":null}],"lastRefTime":"5","dom":"orders","useSpecifiedURL":false,"cacheMillis":null}"#;
    let net = Net::new(move |asked| match asked.is_probe() {
        true => Answer::Usual,
        false => Answer::Say(200, list.to_owned()),
    });
    let mut client = Client::start(&net);
    let session = client.connected().await;
    let Ok(Reply::Service(Some(info))) = session.call(Call::Query { key: key() }).await else { panic!("no list") };
    let hosts = info.hosts.unwrap();
    assert_eq!((hosts.len(), hosts[0].port, hosts[0].weight.is_nan()), (2, 1, true));
    assert_eq!(hosts[0].metadata.get("a").map(String::as_str), Some("1"));
    assert_eq!(hosts[0].metadata.get("e").map(String::as_str), Some("t"));
}
