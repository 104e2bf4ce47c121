//! Lines of a watch.

use nacos_client::Instance;
use nacos_tests::wait::in_time;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{ChildStdout, Command};

use super::support::{World, end, register, start};

async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> String {
    in_time("a line", lines.next_line()).await.expect("output").expect("a line")
}

#[tokio::test]
async fn a_watch_tells_who_joins_changes_and_leaves() {
    let world = World::new().await;
    let client = world.client();
    let mut watch = start(&["-s", &world.addr, "watch", "orders", "--json", "--lines", "4"]);
    let mut lines = BufReader::new(watch.stdout.take().expect("its output")).lines();
    let event = |line: String| serde_json::from_str::<Value>(&line).expect("a document");

    assert_eq!(event(next(&mut lines).await)["event"], "empty");
    let one = register(&client, ("", "orders"), Instance::new(("10.0.0.1", 80))).await;
    let joined = event(next(&mut lines).await);
    assert_eq!((&joined["event"], &joined["instance"]["ip"]), (&"joined".into(), &"10.0.0.1".into()));
    assert!(joined["time"].as_str().is_some_and(|time| time.ends_with('Z')));
    one.update(|instance| instance.weight(5.0)).expect("a change");
    assert_eq!(event(next(&mut lines).await)["changes"][0], "weight: 1 → 5");
    one.withdraw().await.expect("a withdrawal");
    assert_eq!(event(next(&mut lines).await)["event"], "left");
    assert_eq!(end(watch).await.code, 0);
}

#[tokio::test]
async fn ctrl_c_ends_a_watch_and_takes_a_registration_back() {
    let world = World::new().await;
    let client = world.client();
    let mut register = start(&["-s", &world.addr, "register", "orders", "10.0.0.1:80", "-m", "zone=a", "-w", "2"]);
    let mut lines = BufReader::new(register.stdout.take().expect("its output")).lines();
    assert!(next(&mut lines).await.starts_with("registered 10.0.0.1:80"));
    let orders = client.service("orders").expect("a name");
    let list = orders.query().await.expect("a list");
    assert_eq!((list[0].weight, list[0].metadata["zone"].as_str()), (2.0, "a"));

    let mut watch = start(&["-s", &world.addr, "watch", "orders"]);
    let mut seen = BufReader::new(watch.stdout.take().expect("its output")).lines();
    let line = next(&mut seen).await;
    assert!(line.contains("joined") && line.contains("10.0.0.1:80 healthy cluster=DEFAULT weight=2 zone=a"), "{line}");

    signal(register.id(), "-INT").await;
    assert_eq!(next(&mut lines).await, "deregistered 10.0.0.1:80");
    assert_eq!(end(register).await.code, 0);
    let line = next(&mut seen).await;
    assert!(line.contains("left"), "{line}");
    signal(watch.id(), "-INT").await;
    assert_eq!(end(watch).await.code, 0);
    assert!(orders.query().await.expect("a list").is_empty());
}

#[tokio::test]
async fn a_supervisor_ends_a_registration_as_ctrl_c_does() {
    let world = World::new().await;
    let mut register = start(&["-s", &world.addr, "--protocol", "http", "register", "orders", "10.0.0.1:80"]);
    let mut lines = BufReader::new(register.stdout.take().expect("its output")).lines();
    assert!(next(&mut lines).await.starts_with("registered 10.0.0.1:80"));
    signal(register.id(), "-TERM").await;
    assert_eq!(next(&mut lines).await, "deregistered 10.0.0.1:80");
    assert_eq!(end(register).await.code, 0);
}

async fn signal(process: Option<u32>, signal: &str) {
    let process = process.expect("it runs").to_string();
    assert!(Command::new("kill").args([signal, &process]).status().await.expect("kill").success());
}
