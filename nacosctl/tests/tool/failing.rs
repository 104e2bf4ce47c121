//! How failures look: a text that says what to do, and an exit code for each kind.

use nacos_client::Instance;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use super::support::{World, command, ctl, end, register, run, start};

/// Every command that asks a server.
const COMMANDS: [&[&str]; 16] = [
    &["services"],
    &["instances", "orders"],
    &["instances", "orders", "--all"],
    &["show", "orders"],
    &["watch", "orders"],
    &["explain", "orders"],
    &["register", "orders", "10.0.0.1:80"],
    &["deregister", "orders", "10.0.0.1:80"],
    &["drain", "orders", "10.0.0.1:80"],
    &["set", "weight", "orders", "10.0.0.1:80", "1"],
    &["set", "enabled", "orders", "10.0.0.1:80", "true"],
    &["set", "metadata", "orders", "10.0.0.1:80", "a=b"],
    &["set", "protection", "orders", "0.5"],
    &["service", "create", "orders"],
    &["service", "delete", "orders"],
    &["namespaces", "list"],
];

#[tokio::test]
async fn where_nobody_listens_every_command_says_so_with_exit_code_3() {
    for command in COMMANDS {
        let arguments: Vec<&str> = ["--timeout", "500ms"].iter().chain(command).copied().collect();
        let run = ctl("127.0.0.1:1", &arguments).await;
        assert_eq!((run.code, run.out.as_str()), (3, ""), "{command:?}: {run:?}");
        assert!(run.err.contains("127.0.0.1:1") || run.err.contains("doctor"), "{run:?}");
    }
}

#[tokio::test]
async fn who_is_not_let_in_hears_it_with_exit_code_4() {
    let server = MockServer::start().await;
    let page =
        serde_json::json!({ "status": 403, "error": "Forbidden", "message": "user not found!", "path": "/nacos" });
    let metrics = serde_json::json!({ "status": "UP" });
    let state = ResponseTemplate::new(200).set_body_json(metrics);
    Mock::given(matchers::path("/nacos/v1/ns/operator/metrics")).respond_with(state).mount(&server).await;
    Mock::given(matchers::any()).respond_with(ResponseTemplate::new(403).set_body_json(page)).mount(&server).await;
    for command in COMMANDS {
        let arguments: Vec<&str> = ["--protocol", "http"].iter().chain(command).copied().collect();
        let run = ctl(&server.address().to_string(), &arguments).await;
        assert_eq!(run.code, 4, "{command:?}: {run:?}");
        assert!(run.err.contains("user not found!"), "{command:?}: {run:?}");
    }
}

#[tokio::test]
async fn what_is_no_nacos_server_is_told_from_one() {
    let server = MockServer::start().await;
    Mock::given(matchers::any()).respond_with(ResponseTemplate::new(302)).mount(&server).await;
    let run = ctl(&server.address().to_string(), &["services"]).await.ended(4);
    assert!(run.err.contains("not that of a Nacos server"), "{run:?}");
    let pages = MockServer::start().await;
    Mock::given(matchers::any())
        .respond_with(ResponseTemplate::new(200).set_body_string("<html>Welcome</html>"))
        .mount(&pages)
        .await;
    for command in [&["services"][..], &["namespaces", "list"], &["instances", "orders", "--all"]] {
        let run = ctl(&pages.address().to_string(), command).await.ended(4);
        assert!(run.err.contains("not that of a Nacos server"), "{run:?}");
    }
    let run = ctl(&pages.address().to_string(), &["doctor"]).await.ended(1);
    assert!(run.out.starts_with("FAILED   http") && run.out.contains("something else listens"), "{run:?}");
    let world = World::new().await;
    let run = ctl(&format!("{}/wrong", world.addr), &["services"]).await.ended(4);
    assert!(run.err.contains("wrong context path"), "{run:?}");
}

#[tokio::test]
async fn an_unknown_service_is_told_with_what_is_like_it_and_exit_code_5() {
    for world in [World::new().await, World::old().await] {
        let _one = register(&world.client(), ("", "order-service"), Instance::new(("10.0.0.1", 80))).await;
        for command in [&["instances", "order-servcie"][..], &["show", "order-servcie"]] {
            let run = world.ctl(command).await.ended(5);
            assert!(run.err.contains("there is order-service in group DEFAULT_GROUP"), "{run:?}");
        }
        for command in [&["set", "weight", "nope", "10.0.0.1:80", "2"][..], &["instances", "nope", "--all"]] {
            world.ctl(command).await.ended(5);
        }
        let unknown = world.ctl(&["set", "weight", "order-service", "10.0.0.9:80", "2"]).await.ended(5);
        assert!(unknown.err.contains("10.0.0.9:80"), "{unknown:?}");
    }
}

#[tokio::test]
async fn a_wrong_namespace_is_told_with_those_that_are_declared() {
    let world = World::new().await;
    let _one = register(&world.client(), ("", "orders"), Instance::new(("10.0.0.1", 80))).await;
    let run = world.ctl(&["instances", "orders", "--namespace", "prod"]).await.ended(5);
    assert!(run.err.contains("namespace is not declared, those that are: public"), "{run:?}");
    let json = world.ctl(&["instances", "orders", "--namespace", "prod", "--json"]).await.ended(5);
    let error: serde_json::Value = serde_json::from_str(&json.err).expect("a document");
    assert_eq!(error["code"], 5);
}

#[tokio::test]
async fn wrong_usage_ends_with_exit_code_2_before_anything_is_sent() {
    let wrong: [&[&str]; 10] = [
        &["instances"],
        &["register", "orders", "10.0.0.1"],
        &["register", "orders", "10.0.0.1:80", "--weight", "20000"],
        &["register", "orders", "10.0.0.1:80", "-m", "novalue"],
        &["instances", "a b", "--namespace", "x y"],
        &["explain", "orders", "--family", "ipx"],
        &["set", "enabled", "orders", "10.0.0.1:80", "maybe"],
        &["set", "weight", "orders", "10.0.0.1:80", "NaN"],
        &["--server", "host:99999", "services"],
        &["--timeout", "soon", "services"],
    ];
    for arguments in wrong {
        let run = run(arguments).await;
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
    }
    let mut logging = command(&["services"]);
    let output = logging.env("NACOSCTL_LOG", "a=b=c").output().await.expect("the tool ends");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("NACOSCTL_LOG=a=b=c"));
}

#[tokio::test]
async fn output_that_nobody_reads_is_no_failure() {
    let mut child = start(&["completions", "bash"]);
    drop(child.stdout.take());
    let run = end(child).await.ended(0);
    assert_eq!(run.err, "");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn output_that_finds_no_room_leaves_the_exit_code_that_it_says() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a disk without room");
    let run = end(command(&["completions", "bash"]).stdout(full()).spawn().expect("the tool starts")).await.ended(6);
    assert!(run.err.contains("the output cannot be written"), "{run:?}");
    // Neither the log nor the reason can be written, and what is wrong is told all the same.
    for arguments in [["--timeout", "500ms"].as_slice(), &["--timeout", "500ms", "--json"]] {
        let mut unheard = command(&["services", "--server", "127.0.0.1:1"]);
        unheard.args(arguments).env("NACOSCTL_LOG", "trace").stderr(full());
        end(unheard.spawn().expect("the tool starts")).await.ended(3);
    }
}
