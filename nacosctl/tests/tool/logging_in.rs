//! Servers that let only users in.

use std::process::Stdio;

use nacos_client::{Instance, NamingService};
use nacos_server_min::Server;
use tokio::io::AsyncWriteExt;

use super::support::{command, ctl, end, register};

const PASSWORD: &str = "hunter2 &";

async fn server() -> Server {
    Server::builder().user("app", PASSWORD).start().await.expect("a server")
}

#[tokio::test]
async fn the_password_comes_from_the_environment_a_file_or_the_standard_input() {
    let server = server().await;
    let addr = server.server_addr();
    let file = std::env::temp_dir().join(format!("nacosctl-password-{}", std::process::id()));
    std::fs::write(&file, format!("{PASSWORD}\n")).expect("a file");
    let path = file.to_str().expect("a path").to_owned();
    let client =
        NamingService::builder().servers([&addr]).username("app").password(PASSWORD).build().expect("a client");
    let _one = register(&client, ("", "orders"), Instance::new(("10.0.0.1", 80))).await;
    // An operator's call, and one of naming.
    for asked in [&["services"][..], &["instances", "orders"]] {
        let mut by_variable = command(&["--server", &addr]);
        by_variable.args(asked).env("NACOS_USERNAME", "app").env("NACOS_PASSWORD", PASSWORD);
        end(by_variable.spawn().expect("the tool starts")).await.ended(0);
        let by_file = ["--username", "app", "--password-file", &path];
        ctl(&addr, &[&by_file, asked].concat()).await.ended(0);
    }
    let mut by_input = command(&["--server", &addr, "--username", "app", "--password-file", "-", "services"]);
    let mut child = by_input.stdin(Stdio::piped()).spawn().expect("the tool starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(format!("{PASSWORD}\r\n").as_bytes()).await.expect("it reads");
    drop(input);
    end(child).await.ended(0);
    std::fs::remove_file(file).expect("the file is there");
}

#[tokio::test]
async fn cg47_who_is_not_let_in_hears_why_and_no_output_has_the_password() {
    let server = server().await;
    let addr = server.server_addr();
    let nobody = ctl(&addr, &["services"]).await.ended(4);
    assert!(nobody.err.contains("set username and password"), "{nobody:?}");
    let mut wrong = command(&["--server", &addr, "--username", "app", "services"]);
    wrong.env("NACOS_PASSWORD", "hunter3").env("NACOSCTL_LOG", "trace");
    let wrong = end(wrong.spawn().expect("the tool starts")).await.ended(4);
    assert!(wrong.err.contains("check username and password"), "{wrong:?}");
    assert!(!wrong.err.contains("hunter3") && !wrong.out.contains("hunter3"), "{wrong:?}");
    let whose = ctl(&addr, &["--password-file", "x", "services"]).await.ended(2);
    assert!(whose.err.contains("--username"), "{whose:?}");
    let missing = ctl(&addr, &["--username", "app", "--password-file", "/nowhere/x", "services"]).await.ended(2);
    assert!(missing.err.contains("/nowhere/x"), "{missing:?}");
}

#[tokio::test]
async fn the_doctor_tells_by_which_path_it_logged_in() {
    let server = server().await;
    let mut doctor = command(&["--server", &server.server_addr(), "doctor", "--json"]);
    doctor.env("NACOS_USERNAME", "app").env("NACOS_PASSWORD", PASSWORD);
    let report = end(doctor.spawn().expect("the tool starts")).await.ended(0).json();
    let text = report.to_string();
    assert!(text.contains("logged in as app by /v3/auth/user/login"), "{text}");
    let report = ctl(&server.server_addr(), &["doctor", "--json"]).await.ended(1).json();
    assert!(report.to_string().contains("set --username"), "{report}");
}
