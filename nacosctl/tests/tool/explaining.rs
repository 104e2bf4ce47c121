//! `explain`: what a consumer's requests would come to.

use nacos_client::Instance;

use super::support::{Run, World, register};

fn lines(run: &Run) -> Vec<String> {
    run.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[tokio::test]
async fn shares_and_reasons_are_told_from_a_consumers_place() {
    for world in [World::new().await, World::old().await] {
        let client = world.client();
        let zone = |zone: &str| Instance::new(("10.0.0.1", 80)).metadata("zone", zone);
        let _all = (
            register(&client, ("", "orders"), zone("a").weight(3.0)).await,
            register(&client, ("", "orders"), Instance::new(("10.0.0.2", 80)).metadata("version", "v2")).await,
            register(&client, ("", "orders"), Instance::new(("10.0.0.3", 80)).cluster("c2")).await,
            register(&client, ("", "orders"), Instance::new(("10.0.0.4", 80)).weight(0.0)).await,
            register(&client, ("", "orders"), Instance::new(("2001:db8::5", 80))).await,
        );
        let run = world.ctl(&["explain", "orders", "--cluster", "DEFAULT", "--family", "ipv4"]).await.ended(0);
        let told = lines(&run);
        assert_eq!(told[0], "DEFAULT_GROUP@@orders in namespace public: 2 of 5 take requests");
        assert_eq!(told[1], "seen from cluster DEFAULT; addresses IPv4; policy WeightedRandom");
        assert!(told[2].starts_with("list revision ") && told[2].ends_with("kept up to date"), "{run:?}");
        assert_eq!(
            told[4..],
            [
                "75.0 % 10.0.0.1:80 cluster DEFAULT, zone a, weight 3",
                "25.0 % 10.0.0.2:80 cluster DEFAULT, version v2, weight 1",
                "reserve 10.0.0.3:80 cluster c2, weight 1",
                "in reserve: instances of cluster DEFAULT are preferred",
                "- 10.0.0.4:80 cluster DEFAULT, weight 0",
                "drained: its weight is 0, or no number",
                "- [2001:db8::5]:80 cluster DEFAULT, weight 1",
                "its address cannot be used here, only IPv4 can",
            ],
            "{run:?}"
        );
        assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{run:?}");

        let json =
            world.ctl(&["explain", "orders", "-c", "DEFAULT", "-z", "A", "-f", "dual", "--json"]).await.ended(0).json();
        assert_eq!((&json["viewpoint"]["zone"], &json["instances"][0]["share"]), (&"A".into(), &100.0.into()));
        assert_eq!(json["instances"][1]["standing"], "inReserve", "{json}");
        let all = world.ctl(&["explain", "orders", "-f", "dual", "--json"]).await.ended(0).json();
        assert_eq!(all["instances"][2]["standing"], "serving", "without a cluster none is preferred: {all}");
    }
}

#[tokio::test]
async fn the_port_may_be_one_of_the_metadata() {
    let world = World::new().await;
    let client = world.client();
    let grpc = |port: u16, value: &str| Instance::new(("10.0.0.1", port)).metadata("gRPC_port", value);
    let _all = (
        register(&client, ("", "orders"), grpc(80, "9090")).await,
        register(&client, ("", "orders"), grpc(81, "none")).await,
    );
    let json = world.ctl(&["explain", "orders", "--port-key", "gRPC_port", "--json"]).await.ended(0).json();
    assert_eq!(json["instances"][0]["target"], "http://10.0.0.1:9090", "{json}");
    assert_eq!(json["instances"][1]["reason"], "the metadata entry for its port holds no port");
}

#[tokio::test]
async fn where_nobody_takes_requests_it_ends_with_exit_code_1_and_what_may_be_meant() {
    for world in [World::new().await, World::old().await] {
        let client = world.client();
        let _group = register(&client, ("payments", "orders"), Instance::new(("10.0.0.1", 80))).await;
        let run = world.ctl(&["explain", "orders"]).await.ended(1);
        assert!(run.out.contains("nobody takes requests: none is registered"), "{run:?}");
        assert!(run.out.contains("→ group payments has orders with 1 instance, 1 healthy\n"), "{run:?}");
        let json = world.ctl(&["explain", "orders", "--json"]).await.ended(1).json();
        assert_eq!(json["nearMisses"][0]["kind"], "otherGroup", "{json}");
        world.ctl(&["explain", "orders", "--group", "payments"]).await.ended(0);
        world.ctl(&["explain", "payments@@orders"]).await.ended(0);

        world.ctl(&["drain", "orders", "10.0.0.1:80", "--group", "payments"]).await.ended(0);
        let run = world.ctl(&["explain", "orders", "--group", "payments"]).await.ended(1);
        assert!(run.out.contains("→ the registry has disabled ones: 10.0.0.1:80\n"), "{run:?}");
    }
}

#[tokio::test]
async fn a_request_is_explained_by_a_file_of_routing_rules() {
    let world = World::new().await;
    let client = world.client();
    let of = |ip: &str, version: &str| Instance::new((ip, 80)).metadata("version", version);
    let _all = (
        register(&client, ("", "orders"), of("10.0.0.1", "v1")).await,
        register(&client, ("", "orders"), of("10.0.0.2", "v2")).await,
    );
    let file = std::env::temp_dir().join(format!("nacosctl-explain-{}.yaml", std::process::id()));
    let rules = "services:\n  orders:\n    baseline: { version: v1 }\n    routes:\n      - name: testers\n        when: [ { header: \
                 { name: x-version, exact: v2 } }, { path: { prefix: /api } } ]\n        to: [ { label: { version: v2 } } ]\n";
    std::fs::write(&file, rules).unwrap();
    let routes = file.to_str().unwrap();
    let base = ["explain", "orders", "-f", "ipv4", "--routes", routes];
    let with = |more: &[&'static str]| base.iter().copied().chain(more.iter().copied()).collect::<Vec<_>>();
    let run = world.ctl(&with(&["--header", "X-Version: v2", "--path", "/api/1?a=b"])).await.ended(0);
    let told = lines(&run);
    assert!(told[0].ends_with("1 of 2 take requests"), "{run:?}");
    assert_eq!(told[3], "routed by the rule `testers` to version=v2 (1 take requests)");
    assert_eq!(told[5], "100.0 % 10.0.0.2:80 cluster DEFAULT, version v2, weight 1");
    assert_eq!(told[7], "in reserve: for requests that nobody of version=v2 takes");
    let json = world.ctl(&with(&["--json"])).await.ended(0).json();
    assert_eq!(
        (&json["route"]["rule"], &json["route"]["to"][0]["label"]),
        (&None::<&str>.into(), &"the baseline".into())
    );
    std::fs::write(&file, rules.replace("v2 } } ]", "v2 }, percent: 50 } ]")).unwrap();
    let run = world.ctl(&base).await.ended(2);
    assert!(run.err.contains("services.orders.routes[0].to"), "{run:?}");
    std::fs::remove_file(&file).unwrap();
    world.ctl(&["explain", "orders", "--header", "x: y"]).await.ended(2);
}
