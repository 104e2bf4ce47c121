//! `routes`: rules in files, and what they would do.

use std::path::PathBuf;

use nacos_client::Instance;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::support::{Run, World, command, end, register, run};

const RULES: &str = "
services:
  orders:
    baseline: { version: v1 }
    routes:
      - name: testers
        when: [ { header: { name: x-version, exact: v2 } } ]
        to: [ { label: { version: v2 } } ]
        miss: fail
      - name: canary
        when: [ { path: { prefix: /new } } ]
        to:
          - { label: { version: v3 }, percent: 10 }
          - { baseline: true, percent: 90 }
";

/// A folder of files that goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("nacosctl-routes-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self, name: &str, content: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a file");
        path.to_str().expect("a text").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind is in the folder for such things.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn lines(run: &Run) -> Vec<String> {
    run.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[tokio::test]
async fn files_are_checked_without_a_server() {
    let folder = Folder::new("check");
    let good = folder.file("good.yaml", RULES);
    let checked = run(&["routes", "check", &good]).await.ended(0);
    assert_eq!(checked.out, format!("{good}: 1 service, 2 rules\n"));

    let bad = folder.file("bad.yaml", &RULES.replace("percent: 90", "percent: 80"));
    let checked = run(&["routes", "check", &good, &bad]).await.ended(1);
    let problem = "the percentages are 90 together, but must be 100";
    assert_eq!(
        checked.out,
        format!("{good}: 1 service, 2 rules\n{bad}:12:9: services.orders.routes[1].to: {problem}\n")
    );
    let checked = run(&["routes", "check", &bad, "--json"]).await.ended(1).json();
    let path = "services.orders.routes[1].to";
    assert_eq!(checked, json!([{ "file": bad, "line": 12, "column": 9, "path": path, "problem": problem }]));

    let doubtful = folder.file(
        "doubtful.json",
        r#"{"services":{"a":{"routes":[
        {"name":"all","to":[{"baseline":true}]},{"name":"one","to":[{"baseline":true}]}]}}}"#,
    );
    let checked = run(&["routes", "check", &doubtful]).await.ended(0);
    assert!(checked.out.contains("→ services.a.routes[1]: never applies"), "{checked:?}");
    let checked = run(&["routes", "check", "--json", &doubtful]).await.ended(0).json();
    assert_eq!(checked[0]["warnings"][0]["path"], "services.a.routes[1]", "{checked}");
    assert_eq!(checked[0]["services"]["a"]["routes"][0]["name"], "all", "{checked}");

    let missing = run(&["routes", "check", "/nowhere/routes.yaml"]).await.ended(2);
    assert!(missing.err.contains("/nowhere/routes.yaml: cannot be read"), "{missing:?}");
}

#[tokio::test]
async fn the_schema_is_printed() {
    let schema = run(&["routes", "schema"]).await.ended(0).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[tokio::test]
async fn a_dry_run_tells_where_requests_would_go_with_the_instances_listed_now() {
    let world = World::new().await;
    let client = world.client();
    let version = |port: u16, version: &str| Instance::new(("10.0.0.1", port)).metadata("version", version);
    let _both = (
        register(&client, ("", "orders"), version(81, "v1")).await,
        register(&client, ("", "orders"), version(82, "v2")).await,
    );
    let folder = Folder::new("dry-run");
    let rules = folder.file("routes.yaml", RULES);
    let log = folder.file(
        "requests.jsonl",
        "{\"headers\": {\"x-version\": \"v2\"}}\n\n{\"method\": \"POST\", \"uri\": \"/new/1\"}\n{\"uri\": \"/old\"}\n",
    );
    let told = world.ctl(&["routes", "dry-run", &rules, "--service", "orders", "--requests", &log]).await.ended(0);
    assert_eq!(
        lines(&told),
        [
            "orders: 3 requests find an instance",
            "with 2 instances that can take requests",
            "1 by rule testers",
            "1 by rule canary",
            "1 by no rule, to the baseline",
            "",
            "REQUEST RULE TO SHARE INSTANCES ELSE",
            "GET / testers version=v2 100 % 1 fail",
            "POST /new/1 canary version=v3 10 % 0 baseline (1)",
            "baseline 90 % 1 baseline (1)",
            "GET /old - baseline 100 % 1 fail",
        ],
        "{told:?}"
    );
    let qualified = ["routes", "dry-run", &rules, "--service", "DEFAULT_GROUP@@orders", "--requests", &log, "--json"];
    let json = world.ctl(&qualified).await.ended(0).json();
    assert_eq!((&json["instances"], &json["withoutRule"]), (&2.into(), &1.into()), "{json}");

    world.ctl(&["drain", "orders", "10.0.0.1:82"]).await.ended(0);
    let told = world.ctl(&["routes", "dry-run", &rules, "--service", "orders", "--requests", &log]).await.ended(1);
    assert!(told.out.starts_with("orders: 1 of 3 requests may find nobody\n"), "{told:?}");

    let mut tool =
        command(&["--server", &world.addr, "routes", "dry-run", &rules, "--service", "orders", "--requests", "-"]);
    let mut child = tool.stdin(std::process::Stdio::piped()).spawn().expect("the tool starts");
    let mut stdin = child.stdin.take().expect("its input");
    stdin.write_all(b"{}\n").await.expect("a request");
    drop(stdin);
    assert!(end(child).await.ended(0).out.contains("1 request find"), "the input is read");
}

#[tokio::test]
async fn what_a_dry_run_cannot_use_is_told_with_its_place() {
    let world = World::new().await;
    let folder = Folder::new("refused");
    let rules = folder.file("routes.yaml", RULES);
    let log = folder.file("requests.jsonl", "{}\n{\"url\": \"/\"}\n");
    let told = world.ctl(&["routes", "dry-run", &rules, "--service", "orders", "--requests", &log]).await.ended(2);
    assert!(told.err.contains(&format!("{log}:2: unknown field `url`")), "{told:?}");
    let log = folder.file("empty.jsonl", "");
    let told = world.ctl(&["routes", "dry-run", &rules, "--service", "users", "--requests", &log]).await.ended(5);
    assert!(told.err.contains("has no rules for DEFAULT_GROUP@@users; it has rules for orders"), "{told:?}");
    let told = world.ctl(&["routes", "dry-run", &rules, "--service", "orders", "-g", "shop", "--requests", &log]).await;
    assert!(told.ended(0).out.starts_with("orders: 0 requests"), "a name without a group is of the group asked for");
    let told =
        world.ctl(&["routes", "dry-run", &rules, "--service", "shop@@orders", "--requests", &log]).await.ended(5);
    assert!(told.err.contains("has no rules for shop@@orders"), "{told:?}");
    let dry_run = ["routes", "dry-run", &rules, "--service", "orders", "--requests", "-"];
    let told = world.ctl(&[&dry_run[..], &["--username", "app", "--password-file", "-"]].concat()).await.ended(2);
    assert!(told.err.contains("only one of them can be the standard input"), "{told:?}");
    let bad = folder.file("bad.yaml", "services: []");
    let told = world.ctl(&["routes", "dry-run", &bad, "--service", "orders", "--requests", &log]).await.ended(2);
    assert!(told.err.contains(":1:1: services: is a list"), "{told:?}");
}
