//! The program: its command line, its environment, its exit codes.
//!
//! Apart from the other tests because starting a process copies, for a moment, every listening socket of this one: a port that
//! was just freed may not be free yet.

use std::net::{SocketAddr, TcpListener};
use std::process::{Output, Stdio};
use std::time::Duration;

use nacos_server_min::Server;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// Longest wait for anything that is going to happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacos-server-min"));
    for name in ["PORT", "HOST", "LOG", "BEHAVIOUR", "SEED", "PROBES", "HTTP_THREADS"] {
        command.env_remove(format!("NACOS_SERVER_{name}"));
    }
    command.kill_on_drop(true).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

async fn output(command: &mut Command) -> Output {
    timeout(PATIENCE, command.output()).await.expect("it ends by itself").expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    http: SocketAddr,
    grpc: SocketAddr,
}

/// Starts the program and reads the addresses it announces.
async fn start(command: &mut Command) -> Running {
    let mut child = command.spawn().expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut line = async || timeout(PATIENCE, lines.next_line()).await.expect("in time").expect("readable");
    let mut address = async |before: &str, after: &str| {
        let line = line().await.expect("a line");
        let (_, rest) = line.split_once(before).unwrap_or_else(|| panic!("{before} in {line}"));
        rest.strip_suffix(after).unwrap_or_else(|| panic!("{after} behind {line}")).parse().expect("ip:port")
    };
    let http = address("listening on http://", "/nacos").await;
    let grpc = address("listening on ", " (gRPC)").await;
    Running { child, lines, http, grpc }
}

async fn send(child: &Child, name: &str) {
    let pid = child.id().expect("still running").to_string();
    let sent = Command::new("kill").args(["-s", name, &pid]).status().await.expect("kill runs");
    assert!(sent.success());
}

/// Sends a signal that ends it, and returns its exit code.
async fn signal(child: &mut Child, name: &str) -> Option<i32> {
    send(child, name).await;
    timeout(PATIENCE, child.wait()).await.expect("it ends").expect("waited").code()
}

#[tokio::test]
async fn it_serves_and_ends_cleanly_on_sigterm_with_clients_connected() {
    let mut running = start(program().args(["--port", "0", "--log", "warn"])).await;
    let mut probe = TcpStream::connect(running.http).await.expect("it listens");
    probe.write_all(b"GET /nacos/v1/console/health/readiness HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("written");
    let mut answer = [0; 12];
    timeout(PATIENCE, probe.read_exact(&mut answer)).await.expect("in time").expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200");
    let mut grpc = TcpStream::connect(running.grpc).await.expect("it listens");
    grpc.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.expect("written");
    timeout(PATIENCE, grpc.read_exact(&mut answer)).await.expect("in time").expect("the server's settings");
    assert_eq!(signal(&mut running.child, "TERM").await, Some(0));
}

#[tokio::test]
async fn it_serves_with_any_number_of_threads_for_http() {
    for count in ["0", "1", "3"] {
        let mut running = start(program().args(["--port", "0", "--log", "warn", "--http-threads", count])).await;
        let list = ask(running.http, "GET /nacos/v1/ns/instance/list?serviceName=orders").await;
        assert!(list.contains(r#""hosts":[]"#), "{count}: {list}");
        assert_eq!(signal(&mut running.child, "TERM").await, Some(0), "{count}");
    }
    let refused = output(program().args(["--port", "0", "--http-threads", "5000"])).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("at most 1024"));
}

#[tokio::test]
async fn it_ends_cleanly_on_ctrl_c() {
    let mut running = start(program().args(["--port", "0"])).await;
    assert_eq!(signal(&mut running.child, "INT").await, Some(0));
}

#[tokio::test]
async fn a_log_that_nobody_watches_has_no_colours() {
    let mut running = start(program().args(["--port", "0", "--log", "info"])).await;
    assert_eq!(signal(&mut running.child, "TERM").await, Some(0));
    let mut log = String::new();
    let mut stderr = running.child.stderr.take().expect("piped");
    timeout(PATIENCE, stderr.read_to_string(&mut log)).await.expect("in time").expect("UTF-8");
    assert!(log.contains("server started"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn neither_a_log_without_room_nor_lines_that_nobody_reads_end_it() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a disk without room");
    let mut running = start(program().args(["--port", "0", "--log", "trace"]).stderr(full())).await;
    let list = ask(running.http, "GET /nacos/v1/ns/instance/list?serviceName=orders").await;
    assert!(list.contains(r#""hosts":[]"#), "{list}");
    assert_eq!(signal(&mut running.child, "TERM").await, Some(0));

    let mut unheard = program().args(["--port", "0"]).stdout(full()).spawn().expect("it runs");
    let mut log = BufReader::new(unheard.stderr.take().expect("piped")).lines();
    let http: SocketAddr = loop {
        let line = timeout(PATIENCE, log.next_line()).await.expect("in time").expect("readable").expect("a line");
        if let Some((_, rest)) = line.split_once("server started http_addr=") {
            break rest.split_whitespace().next().expect("an address").parse().expect("ip:port");
        }
    };
    let list = ask(http, "GET /nacos/v1/ns/instance/list?serviceName=orders").await;
    assert!(list.contains(r#""hosts":[]"#), "{list}");
    assert_eq!(signal(&mut unheard, "TERM").await, Some(0));

    let told_nobody = program().args(["--port", "0", "--http-threads", "5000"]).stderr(full()).status().await;
    assert_eq!(told_nobody.expect("it runs").code(), Some(2));
}

#[tokio::test]
async fn each_of_the_three_ports_is_named_when_it_is_taken() {
    let server = Server::builder().start().await.expect("free ports");
    let port = server.http_addr().port();
    let taken = output(program().args(["--port", &port.to_string()])).await;
    assert_eq!(taken.status.code(), Some(2));
    let message = text(&taken.stderr);
    assert!(message.contains(&format!("port {port} is already in use")), "{message}");
    assert_eq!(text(&taken.stdout), "", "nothing listens, so nothing says so");
    server.shutdown().await;

    for offset in [1000, 1001] {
        let holder = freed(port + offset).await;
        let taken = output(program().args(["--port", &port.to_string()])).await;
        assert_eq!(taken.status.code(), Some(2));
        let message = text(&taken.stderr);
        assert!(message.contains(&format!("port {} is already in use", port + offset)), "{message}");
        drop(holder);
    }
}

/// Takes a port that this process had a moment ago.
async fn freed(port: u16) -> TcpListener {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(listener) => return listener,
            Err(error) => assert!(tokio::time::Instant::now() < deadline, "port {port}: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_environment_is_as_good_as_the_command_line() {
    let command = &mut program();
    command.env("NACOS_SERVER_PORT", "0").env("NACOS_SERVER_HOST", "127.0.0.1").env("NACOS_SERVER_LOG", "error");
    command.env("NACOS_SERVER_BEHAVIOUR", "nacos25").env("NACOS_SERVER_SEED", "7");
    let mut running = start(command).await;
    let third = timeout(PATIENCE, running.lines.next_line()).await.expect("in time").expect("readable");
    assert!(third.is_some_and(|line| line.contains("2.5.1")));
    assert_eq!(signal(&mut running.child, "TERM").await, Some(0));

    let refused = output(program().env("NACOS_SERVER_PORT", "70000")).await;
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("70000"));
}

/// The answer to one request, head and all.
async fn ask(addr: SocketAddr, request: &str) -> String {
    let mut tcp = TcpStream::connect(addr).await.expect("it listens");
    let head = format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
    tcp.write_all(head.as_bytes()).await.expect("written");
    let mut answer = String::new();
    timeout(PATIENCE, tcp.read_to_string(&mut answer)).await.expect("in time").expect("UTF-8");
    answer
}

#[tokio::test]
async fn it_asks_the_instances_it_is_told_to_ask() {
    // Taken and never listened at, so whoever connects is refused.
    let nobody = tokio::net::TcpSocket::new_v4().expect("a socket");
    nobody.bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let port = nobody.local_addr().expect("bound").port();
    let mut running = start(program().args(["--port", "0", "--log", "error", "--probes", "everywhere"])).await;
    let one = format!("serviceName=orders&ip=127.0.0.1&port={port}&ephemeral=false");
    assert!(ask(running.http, &format!("POST /nacos/v1/ns/instance?{one}")).await.ends_with("ok"));
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let list = "GET /nacos/v1/ns/instance/list?serviceName=orders";
    while !ask(running.http, list).await.contains(r#""healthy":false"#) {
        assert!(tokio::time::Instant::now() < deadline, "it is never unhealthy");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(signal(&mut running.child, "TERM").await, Some(0));
}

#[tokio::test]
async fn l13_nobody_expires_while_it_stands_still() {
    let mut running = start(program().args(["--port", "0", "--log", "warn"])).await;
    let times = "%7B%22preserved.heart.beat.timeout%22:6000,%22preserved.ip.delete.timeout%22:6000%7D";
    let one = format!("serviceName=orders&ip=127.0.0.1&port=80&metadata={times}");
    assert!(ask(running.http, &format!("POST /nacos/v1/ns/instance?{one}")).await.ends_with("ok"));
    send(&running.child, "STOP").await;
    // Longer than the instance may be silent.
    tokio::time::sleep(Duration::from_secs(7)).await;
    send(&running.child, "CONT").await;
    let mut log = BufReader::new(running.child.stderr.take().expect("piped")).lines();
    let told = timeout(PATIENCE, log.next_line()).await.expect("in time").expect("readable").expect("a line");
    assert!(told.contains("held up"), "{told}");
    // The check that follows takes no longer than that; nobody was heard meanwhile.
    let list = ask(running.http, "GET /nacos/v1/ns/instance/list?serviceName=orders").await;
    assert!(list.contains(r#""healthy":true"#), "{list}");
    assert_eq!(signal(&mut running.child, "TERM").await, Some(0));
}

#[tokio::test]
async fn it_explains_itself() {
    let help = output(program().arg("--help")).await;
    assert_eq!(help.status.code(), Some(0));
    let help = text(&help.stdout);
    for word in [
        "--port",
        "--host",
        "--log",
        "--behaviour",
        "--probes",
        "--http-threads",
        "NACOS_SERVER_PORT",
        "NACOS_SERVER_HOST",
        "8848",
    ] {
        assert!(help.contains(word), "{word} in {help}");
    }
    let version = output(program().arg("--version")).await;
    assert_eq!(text(&version.stdout).trim(), concat!("nacos-server-min ", env!("CARGO_PKG_VERSION")));
    let unknown = output(program().arg("--nope")).await;
    assert_eq!(unknown.status.code(), Some(2));
    let nonsense = output(program().args(["--port", "0", "--log", "a=b=c"])).await;
    assert_eq!(nonsense.status.code(), Some(2));
    assert!(text(&nonsense.stderr).contains("--log"));
    let host = output(program().args(["--port", "0", "--host", "no such host"])).await;
    assert_eq!(host.status.code(), Some(2));
    assert!(text(&host.stderr).contains("no such host"));
}

/// `--help` behind a command lets the program read all of it, and start nothing.
#[tokio::test]
async fn every_documented_command_line_is_understood() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace");
    let pages = std::fs::read_dir(root.join("docs")).expect("there are pages");
    let pages = pages.map(|page| page.expect("readable").path()).chain([root.join("README.md")]);
    let mut count = 0;
    for page in pages {
        let words = std::fs::read_to_string(&page).expect("readable");
        let lines = words.lines().filter_map(|line| line.strip_prefix("cargo run -p nacos-server-min"));
        for line in lines {
            count += 1;
            let arguments = line.split(['#', '&']).next().unwrap_or_default().split_whitespace();
            let output = output(program().args(arguments.filter(|word| *word != "--")).arg("--help")).await;
            assert!(output.status.success(), "{}: {line}: {}", page.display(), text(&output.stderr));
        }
    }
    assert!(count > 1, "only {count} command lines were found");
}
