//! What operators change, in both generations of their interface.

use nacos_client::{Instance, ServiceHandle};
use nacos_tests::wait::eventually;

use super::support::{World, register};

/// The only instance, as consumers get it, once it is so.
async fn listed(orders: &ServiceHandle, what: &str, so: impl Fn(&Instance) -> bool) {
    eventually(what, async || {
        let list = orders.query().await.ok()?;
        list.first().filter(|instance| so(instance)).map(drop)
    })
    .await;
}

#[tokio::test]
async fn each_field_of_an_instance_is_set_and_the_others_stay() {
    for world in [World::new().await, World::old().await] {
        let client = world.client();
        let _one = register(&client, ("", "orders"), Instance::new(("10.0.0.1", 80)).metadata("zone", "a")).await;
        let orders = client.service("orders").expect("a name");

        world.ctl(&["set", "weight", "orders", "10.0.0.1:80", "3.5"]).await.ended(0);
        listed(&orders, "the weight", |i| i.weight == 3.5 && i.metadata["zone"] == "a").await;
        world.ctl(&["set", "metadata", "orders", "10.0.0.1:80", "zone=b", "x=1"]).await.ended(0);
        listed(&orders, "metadata", |i| i.weight == 3.5 && i.metadata["zone"] == "b" && i.metadata["x"] == "1").await;

        let drained = world.ctl(&["drain", "orders", "10.0.0.1:80", "--json"]).await.ended(0).json();
        assert_eq!((&drained["address"], &drained["left"]), (&"10.0.0.1:80".into(), &0.into()));
        eventually("nobody is listed", async || orders.query().await.ok()?.is_empty().then_some(())).await;
        let all = world.ctl(&["instances", "orders", "--all"]).await.ended(0).out;
        assert!(all.contains("disabled") && all.contains("3.5"), "{all}");
        world.ctl(&["set", "enabled", "orders", "10.0.0.1:80", "true"]).await.ended(0);
        listed(&orders, "it is back", |i| i.weight == 3.5 && i.metadata["zone"] == "b").await;
    }
}

#[tokio::test]
async fn a_threshold_is_set_without_losing_the_rest_of_the_service() {
    for world in [World::new().await, World::old().await] {
        world.ctl(&["service", "create", "orders", "--protection", "0.2", "-m", "owner=shop"]).await.ended(0);
        world.ctl(&["set", "protection", "orders", "0.75"]).await.ended(0);
        let shown = world.ctl(&["show", "orders", "--json"]).await.ended(0).json();
        assert_eq!((&shown["protectThreshold"], &shown["metadata"]["owner"]), (&0.75.into(), &"shop".into()));
        assert_eq!(world.ctl(&["set", "protection", "orders", "1.5"]).await.code, 2);
        assert_eq!(world.ctl(&["set", "protection", "nothing", "0.5"]).await.code, 5);
        assert_eq!(world.ctl(&["service", "create", "orders"]).await.code, 4);
        world.ctl(&["service", "delete", "orders"]).await.ended(0);
        assert_eq!(world.ctl(&["service", "delete", "orders"]).await.code, 5);
    }
}

#[tokio::test]
async fn a_persistent_instance_stays_until_it_is_deregistered() {
    for world in [World::new().await, World::old().await] {
        world.ctl(&["register", "stock", "127.0.0.1:9100", "--persistent"]).await.ended(0);
        let stock = world.ctl(&["instances", "stock", "--json"]).await.ended(0).json();
        assert_eq!((&stock[0]["port"], &stock[0]["ephemeral"]), (&9100.into(), &false.into()));
        assert_eq!(world.ctl(&["deregister", "stock", "127.0.0.1:9101"]).await.code, 5);
        world.ctl(&["deregister", "stock", "127.0.0.1:9100"]).await.ended(0);
        assert_eq!(world.ctl(&["deregister", "stock", "127.0.0.1:9100"]).await.code, 5);
    }
}

#[tokio::test]
async fn an_instance_of_another_cluster_is_found_there_and_the_way_back_names_it() {
    for world in [World::new().await, World::old().await] {
        let client = world.client();
        let _one = register(&client, ("", "orders"), Instance::new(("10.0.0.1", 80)).cluster("east")).await;
        for command in ["drain", "deregister"] {
            let run = world.ctl(&[command, "orders", "10.0.0.1:80"]).await.ended(5);
            assert!(run.err.contains("10.0.0.1:80 of orders is in cluster east: say `--cluster east`"), "{run:?}");
        }
        let run = world.ctl(&["drain", "orders", "10.0.0.1:80", "--cluster", "east"]).await.ended(0);
        assert!(run.out.contains("`nacosctl set enabled orders 10.0.0.1:80 --cluster east true`"), "{run:?}");
    }
}

#[tokio::test]
async fn an_instance_that_its_client_keeps_is_not_said_to_be_deregistered() {
    let world = World::new().await;
    let client = world.client();
    let _one = register(&client, ("", "orders"), Instance::new(("10.0.0.1", 80))).await;
    let run = world.ctl(&["deregister", "orders", "10.0.0.1:80"]).await.ended(4);
    assert!(run.err.contains("nacosctl drain orders 10.0.0.1:80"), "{run:?}");
}

#[tokio::test]
async fn a_registration_may_be_of_a_stated_length() {
    let world = World::new().await;
    let run = world.ctl(&["register", "orders", "10.0.0.1:80", "--for", "50ms"]).await.ended(0);
    assert_eq!(run.out, "registered 10.0.0.1:80; it stays for 50ms\nderegistered 10.0.0.1:80\n");
}

#[tokio::test]
async fn namespaces_are_kept() {
    for world in [World::new().await, World::old().await] {
        world.ctl(&["namespaces", "create", "dev", "--name", "Development"]).await.ended(0);
        assert_eq!(world.ctl(&["namespaces", "create", "dev"]).await.code, 4);
        world.ctl(&["ns", "update", "dev", "--name", "Team", "--description", "ours"]).await.ended(0);
        let list = world.ctl(&["ns", "ls", "--json"]).await.ended(0).json();
        let dev = list.as_array().expect("a list").iter().find(|one| one["id"] == "dev").expect("dev").clone();
        assert_eq!((&dev["name"], &dev["description"]), (&"Team".into(), &"ours".into()));
        assert!(list.as_array().expect("a list").iter().any(|one| one["id"] == "public"), "{list}");
        world.ctl(&["ns", "delete", "dev"]).await.ended(0);
        assert_eq!(world.ctl(&["ns", "delete", "dev"]).await.code, 5);
        assert_eq!(world.ctl(&["ns", "update", "dev", "--name", "x"]).await.code, 5);
    }
}
