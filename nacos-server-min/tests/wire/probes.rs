//! Persistent instances are asked whether they are there.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::time::Duration;

use nacos_server_min::{Probes, Server, Settings};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::http::call;
use crate::support::{Peer, eventually};

/// A dead instance is asked every 5 s in the end, and has to answer three times.
const RECOVERY: Duration = Duration::from_secs(40);

async fn server(probes: Probes) -> Server {
    let mut settings = Settings::default();
    settings.probes = probes;
    Server::builder().settings(settings).start().await.expect("free ports")
}

async fn ok(server: &Server, method: &str, path: &str) {
    let answer = call(server.http_addr(), method, &format!("/nacos/v1/ns{path}"), None).await;
    assert_eq!(answer, (200, "ok".to_owned()), "{method} {path}");
}

async fn register(server: &Server, service: &str, at: SocketAddr, cluster: &str) {
    let (ip, port) = (at.ip(), at.port());
    let query = format!("serviceName={service}&ip={ip}&port={port}&clusterName={cluster}&ephemeral=false");
    ok(server, "POST", &format!("/instance?{query}")).await;
}

async fn healthy(server: &Server, service: &str) -> Vec<bool> {
    let path = format!("/nacos/v1/ns/instance/list?serviceName={service}");
    let (_, list) = call(server.http_addr(), "GET", &path, None).await;
    let list: Value = serde_json::from_str(&list).expect("JSON");
    list["hosts"].as_array().expect("hosts").iter().map(|host| host["healthy"] == true).collect()
}

/// What listens at an address.
struct Listener {
    at: SocketAddr,
    asked: Arc<AtomicUsize>,
    /// The status with which it answers requests by HTTP.
    status: Arc<AtomicU16>,
    _serving: JoinSet<()>,
}

impl Listener {
    /// At `at`, or at any address nobody has.
    fn open(at: Option<SocketAddr>) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_reuseaddr(true).expect("a fresh socket");
        socket.bind(at.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)))).expect("it is free");
        let listener = socket.listen(64).expect("it is bound");
        let at = listener.local_addr().expect("it is bound");
        let (asked, status) = (Arc::<AtomicUsize>::default(), Arc::new(AtomicU16::new(200)));
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, Arc::clone(&asked), Arc::clone(&status)));
        Self { at, asked, status, _serving: serving }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn serve(listener: TcpListener, asked: Arc<AtomicUsize>, status: Arc<AtomicU16>) {
    let mut connections = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        asked.fetch_add(1, Ordering::SeqCst);
        let status = Arc::clone(&status);
        connections.spawn(async move {
            let mut request = [0; 1_024];
            let length = stream.read(&mut request).await.unwrap_or_default();
            if request[..length].starts_with(b"GET /health?a=b HTTP/1.1\r\n") {
                let status = status.load(Ordering::SeqCst);
                let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
                drop(stream.write_all(answer.as_bytes()).await);
            }
        });
    }
}

#[tokio::test]
async fn an_instance_that_cannot_be_reached_is_unhealthy_until_it_can_and_never_removed() {
    let server = server(Probes::Everywhere).await;
    let (peer, mut stream) = Peer::naming(server.grpc_addr()).await;
    peer.subscribe("orders", "").await;
    stream.acked_push().await;
    let (there, gone) = (Listener::open(None), Listener::open(None));
    let at = gone.at;
    drop(gone);
    register(&server, "there", there.at, "DEFAULT").await;
    register(&server, "orders", at, "DEFAULT").await;
    let mut list = stream.acked_push().await;
    while list["hosts"][0]["healthy"] != false {
        list = stream.acked_push().await;
    }
    assert_eq!(server.counters().health_changes, 1);
    let again = Listener::open(Some(at));
    let deadline = Instant::now() + RECOVERY;
    while healthy(&server, "orders").await != [true] {
        assert_eq!(healthy(&server, "there").await, [true]);
        assert!(Instant::now() < deadline, "it is never healthy again");
        sleep(Duration::from_millis(20)).await;
    }
    assert!(again.asked() >= 3, "three good answers, not {}", again.asked());
    assert_eq!((server.counters().health_changes, server.counters().health_probes_denied), (2, 0));
}

#[tokio::test]
async fn a_cluster_says_how_its_instances_are_asked_and_whether() {
    let server = server(Probes::Everywhere).await;
    ok(&server, "POST", "/service?serviceName=orders&metadata=protect%3Doff").await;
    let checker =
        "%7B%22type%22%3A%22HTTP%22%2C%22path%22%3A%22%2Fhealth%3Fa%3Db%22%2C%22expectedResponseCode%22%3A204%7D";
    let cluster = "/cluster?serviceName=orders&useInstancePort4Check=true&checkPort=80";
    ok(&server, "PUT", &format!("{cluster}&clusterName=web&healthChecker={checker}")).await;
    ok(&server, "PUT", &format!("{cluster}&clusterName=still&healthChecker=%7B%22type%22%3A%22NONE%22%7D")).await;
    let (web, still) = (Listener::open(None), Listener::open(None));
    web.status.store(204, Ordering::SeqCst);
    register(&server, "orders", web.at, "web").await;
    eventually("it is asked", async || web.asked() > 1).await;
    assert_eq!(healthy(&server, "orders").await, [true]);
    web.status.store(404, Ordering::SeqCst);
    eventually("one bad answer is enough", async || healthy(&server, "orders").await == [false]).await;
    register(&server, "orders", still.at, "still").await;
    let asked = web.asked();
    eventually("others are asked meanwhile", async || web.asked() > asked).await;
    assert_eq!(still.asked(), 0);
    // Once nobody looks any more, the last word stands.
    ok(&server, "PUT", &format!("{cluster}&clusterName=web&healthChecker=%7B%22type%22%3A%22NONE%22%7D")).await;
    let row = format!("/health?serviceName=orders&clusterName=web&ip=127.0.0.1&port={}", web.at.port());
    ok(&server, "PUT", &format!("{row}&healthy=true")).await;
    assert_eq!(healthy(&server, "orders").await, [true, true]);
}

#[tokio::test]
async fn k06_addresses_of_the_servers_own_machine_are_not_asked_unless_wanted() {
    let server = server(Probes::Remote).await;
    let there = Listener::open(None);
    register(&server, "orders", there.at, "DEFAULT").await;
    register(&server, "orders", SocketAddr::from(([169, 254, 169, 254], 80)), "DEFAULT").await;
    eventually("both came up", async || server.counters().health_probes_denied >= 2).await;
    assert_eq!((server.counters().health_probes, there.asked()), (0, 0));
    assert_eq!(healthy(&server, "orders").await, [true, true], "they stay as they said they were");
}

#[tokio::test]
async fn a_switch_ends_the_questions_and_begins_them_again() {
    let server = server(Probes::Everywhere).await;
    let there = Listener::open(None);
    ok(&server, "PUT", "/operator/switches?entry=check&value=false").await;
    register(&server, "orders", there.at, "DEFAULT").await;
    let looked = Instant::now();
    eventually("there was time to ask", async || looked.elapsed() > Duration::from_millis(300)).await;
    assert_eq!((server.counters().health_probes, there.asked()), (0, 0));
    ok(&server, "PUT", "/operator/switches?entry=check&value=true").await;
    eventually("it is asked", async || there.asked() > 0).await;
}

#[tokio::test]
async fn ephemeral_instances_and_those_that_left_are_not_asked() {
    let server = server(Probes::Everywhere).await;
    let (left, stays) = (Listener::open(None), Listener::open(None));
    register(&server, "stays", stays.at, "DEFAULT").await;
    register(&server, "orders", left.at, "DEFAULT").await;
    eventually("it is asked", async || left.asked() > 0).await;
    let row = format!("/instance?serviceName=orders&ip=127.0.0.1&port={}&ephemeral=false", left.at.port());
    ok(&server, "DELETE", &row).await;
    let (peer, _stream) = Peer::naming(server.grpc_addr()).await;
    let ephemeral = crate::support::instance("127.0.0.1", left.at.port());
    peer.register("brief", ephemeral).await;
    // A question may have been on its way.
    let asked = stays.asked();
    eventually("a round went by", async || stays.asked() > asked).await;
    let (asked, of_left) = (stays.asked(), left.asked());
    eventually("another round went by", async || stays.asked() > asked + 1).await;
    assert_eq!(left.asked(), of_left);
}
