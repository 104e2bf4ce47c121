//! `diff`.

use nacos_client::Instance;

use super::support::{World, register, run};

#[tokio::test]
async fn what_two_servers_differ_in_is_shown_and_told_by_the_exit_code() {
    let (a, b) = (World::new().await, World::new().await);
    let (on_a, on_b) = (a.client(), b.client());
    let same = || Instance::new(("10.0.0.1", 80)).metadata("zone", "a");
    let _same = (register(&on_a, ("", "orders"), same()).await, register(&on_b, ("", "orders"), same()).await);
    let nodes = format!("{},{}", a.addr, b.addr);
    let equal = run(&["diff", "orders", "--nodes", &nodes]).await.ended(0);
    assert!(!equal.out.contains("missing") && !equal.out.contains("differs"), "{equal:?}");

    let other = || Instance::new(("10.0.0.2", 80));
    let _differs = (
        register(&on_a, ("", "orders"), other()).await,
        register(&on_b, ("", "orders"), other().weight(2.0).metadata("zone", "b")).await,
    );
    let _missing = register(&on_a, ("", "orders"), Instance::new(("10.0.0.3", 80))).await;
    let differing = run(&["diff", "orders", "--nodes", &nodes]).await.ended(1);
    let lines: Vec<Vec<&str>> = differing.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[1], ["10.0.0.1:80", "healthy", "1", "healthy", "1"]);
    assert_eq!(lines[2], ["differs", "10.0.0.2:80", "healthy", "1", "zone=(none)", "healthy", "2", "zone=b"]);
    assert_eq!(lines[3], ["missing", "10.0.0.3:80", "healthy", "1", "-"]);

    let json = run(&["diff", "orders", "--json", "--nodes", &nodes]).await.ended(1).json();
    let states: Vec<&str> =
        json["instances"].as_array().expect("rows").iter().filter_map(|row| row["state"].as_str()).collect();
    assert_eq!(states, ["same", "differs", "missing"]);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_no_difference() {
    let a = World::new().await;
    let _one = register(&a.client(), ("", "orders"), Instance::new(("10.0.0.1", 80))).await;
    let nodes = format!("{},127.0.0.1:1,127.0.0.1:2", a.addr);
    let run_away = run(&["diff", "orders", "--timeout", "1s", "--nodes", &nodes]).await.ended(3);
    assert!(run_away.out.contains("10.0.0.1:80") && run_away.out.contains('?'), "{run_away:?}");
    assert!(run_away.err.contains("127.0.0.1:1:") && run_away.err.contains("127.0.0.1:2:"), "{run_away:?}");
    assert_eq!(run(&["diff", "orders", "--nodes", "127.0.0.1:1"]).await.code, 2, "one alone cannot differ");
}
