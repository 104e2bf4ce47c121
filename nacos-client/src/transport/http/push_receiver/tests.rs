//! The receiver over real sockets on loopback, and over scripted ones.

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Mutex,
};

use futures_util::future::BoxFuture;
use nacos_proto::{grpc::ServiceInfo, udp::PushPacket};
use tokio::{net::UdpSocket, sync::mpsc, task::JoinHandle, time::timeout};

use super::*;
use crate::{
    config::{PushSenders, UdpPush},
    transport::{Epoch, Event, Origin},
};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
const LIMIT: Duration = Duration::from_secs(20);

/// Passes events on to the test.
struct Tap(mpsc::UnboundedSender<Event>);

impl EventHandler for Tap {
    fn handle(&self, event: Event) {
        let _ = self.0.send(event);
    }

    fn known_lists(&self) -> Vec<ServiceInfo> {
        let list =
            |name: &str| ServiceInfo { name: Some(name.to_owned()), hosts: Some(Vec::new()), ..Default::default() };
        vec![list("g@@a"), list("g@@b\"")]
    }
}

struct Bench {
    pushes: Arc<Pushes>,
    events: mpsc::UnboundedReceiver<Event>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Bench {
    fn new(settings: UdpPush, sockets: impl Bind) -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        let pushes = Arc::new(Pushes::new(settings));
        let stop = CancellationToken::new();
        let receiver = PushReceiver::new(Arc::clone(&pushes), Arc::new(Tap(sender)), sockets);
        let task = tokio::spawn(receiver.run(stop.clone()));
        Self { pushes, events, stop, task }
    }

    /// Listens on the way to a server at `ip`.
    async fn listening(settings: UdpPush, ip: IpAddr) -> Self {
        let bench = Self::new(settings, UdpSockets);
        bench.reached(ip);
        bench.pushes.begin(Epoch(1));
        bench.port().await;
        bench
    }

    /// A server was reached at `ip`, from the same address.
    fn reached(&self, ip: IpAddr) {
        self.pushes.reached(&SocketAddr::new(ip, 8848).to_string(), Some(ip));
    }

    /// Waits until somebody listens.
    async fn port(&self) -> u16 {
        self.until("a port", |pushes| pushes.port() != 0).await;
        self.pushes.port()
    }

    async fn until(&self, what: &str, test: impl Fn(&Pushes) -> bool) {
        let poll = async {
            while !test(&self.pushes) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(LIMIT, poll).await.unwrap_or_else(|_| panic!("never: {what}"));
    }

    /// The next push: its epoch, its sender and the name of its service.
    async fn pushed(&mut self) -> (u64, SocketAddr, String) {
        match timeout(LIMIT, self.events.recv()).await.expect("in time") {
            Some(Event::Push { epoch, origin: Origin::Datagram(sender), info }) => {
                (epoch.0, sender, info.name.unwrap())
            }
            other => panic!("{other:?}"),
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        timeout(LIMIT, self.task).await.expect("in time").unwrap();
        assert_eq!(self.pushes.port(), 0, "nobody is told a port at which nobody listens");
    }
}

fn push(name: &str, stamp: i64) -> Vec<u8> {
    let data = format!(r#"{{"name":"{name}","hosts":[]}}"#);
    PushPacket { kind: "dom".to_owned(), data, last_ref_time: stamp }.encode()
}

async fn answer(socket: &UdpSocket) -> (SocketAddr, String) {
    let mut buffer = vec![0; 65_535];
    let (length, from) = timeout(LIMIT, socket.recv_from(&mut buffer)).await.expect("an answer").unwrap();
    (from, String::from_utf8(buffer[..length].to_vec()).unwrap())
}

#[tokio::test]
async fn a_push_is_handed_over_and_acknowledged_from_the_same_socket_over_both_families() {
    for ip in [V4, V6] {
        let mut bench = Bench::listening(UdpPush::DEFAULT, ip).await;
        let server = UdpSocket::bind((ip, 0)).await.unwrap();
        let to = SocketAddr::new(ip, bench.pushes.port());
        server.send_to(&push("g@@s", -42), to).await.unwrap();
        assert_eq!(bench.pushed().await, (1, server.local_addr().unwrap(), "g@@s".to_owned()));
        let (from, ack) = answer(&server).await;
        assert_eq!((from, ack.as_str()), (to, r#"{"type":"push-ack","lastRefTime":"-42","data":""}"#));
        bench.stop().await;
    }
}

#[tokio::test]
async fn h07_broken_packets_and_those_of_strangers_are_counted_and_never_answered() {
    let mut bench = Bench::listening(UdpPush::DEFAULT, V4).await;
    let (server, stranger) = (UdpSocket::bind((V4, 0)).await.unwrap(), UdpSocket::bind("127.0.0.2:0").await.unwrap());
    let to = SocketAddr::new(V4, bench.pushes.port());
    for broken in
        [&b""[..], b"\x1f\x8b\x08", b"OPTIONS sip:nm SIP/2.0", b"{\"type\":\"dom\",\"data\":\"[]\"}", &[0xff; 9000]]
    {
        server.send_to(broken, to).await.unwrap();
        stranger.send_to(broken, to).await.unwrap();
    }
    stranger.send_to(&push("g@@s", 1), to).await.unwrap();
    server.send_to(&push("g@@s", 2), to).await.unwrap();
    bench.pushed().await;
    assert!(answer(&server).await.1.contains(r#""2""#), "the only answer");
    let counts = bench.pushes.counts();
    assert_eq!((counts.pushes, counts.unreadable, counts.foreign), (1, 5, 6));
    assert!(stranger.try_recv(&mut [0; 9]).is_err());
    bench.stop().await;
}

#[tokio::test]
async fn behind_a_load_balancer_everybody_can_be_believed_but_is_not_told_everything() {
    let settings = UdpPush { senders: PushSenders::Anyone, ..UdpPush::DEFAULT };
    let mut bench = Bench::listening(settings, V4).await;
    let node = UdpSocket::bind("127.0.0.2:0").await.unwrap();
    let to = SocketAddr::new(V4, bench.pushes.port());
    node.send_to(&push("g@@s", 1), to).await.unwrap();
    bench.pushed().await;
    answer(&node).await;
    node.send_to(br#"{"type":"dump","lastRefTime":3}"#, to).await.unwrap();
    assert_eq!(answer(&node).await.1, r#"{"type":"dump-ack","lastRefTime":"3","data":""}"#);
    bench.stop().await;
}

#[tokio::test]
async fn other_types_are_answered_as_they_ask() {
    let bench = Bench::listening(UdpPush::DEFAULT, V4).await;
    let server = UdpSocket::bind((V4, 0)).await.unwrap();
    let to = SocketAddr::new(V4, bench.pushes.port());
    server.send_to(br#"{"type":"news"}"#, to).await.unwrap();
    assert_eq!(answer(&server).await.1, r#"{"type":"unknown-ack","lastRefTime":"0","data":""}"#);
    server.send_to(br#"{"type":"dump","lastRefTime":"8"}"#, to).await.unwrap();
    let dump: serde_json::Value = serde_json::from_str(&answer(&server).await.1).unwrap();
    let data: serde_json::Value = serde_json::from_str(dump["data"].as_str().unwrap()).unwrap();
    assert_eq!((dump["type"].as_str(), data.as_object().unwrap().len()), (Some("dump-ack"), 2));
    assert!(data.get("g@@b\"").is_some());
    assert_eq!(bench.pushes.counts().unknown, 1);
    bench.stop().await;
}

#[tokio::test]
async fn between_two_epochs_nothing_is_handed_over_or_acknowledged() {
    let mut bench = Bench::listening(UdpPush::DEFAULT, V4).await;
    let server = UdpSocket::bind((V4, 0)).await.unwrap();
    let to = SocketAddr::new(V4, bench.pushes.port());
    bench.pushes.end();
    server.send_to(&push("g@@early", 1), to).await.unwrap();
    server.send_to(br#"{"type":"news"}"#, to).await.unwrap();
    assert!(answer(&server).await.1.contains("unknown-ack"), "the one before it was not answered");
    bench.pushes.begin(Epoch(2));
    server.send_to(&push("g@@s", 2), to).await.unwrap();
    let (epoch, _, name) = bench.pushed().await;
    assert_eq!((epoch, name.as_str()), (2, "g@@s"));
    bench.stop().await;
}

#[tokio::test]
async fn the_port_of_the_settings_is_used_and_kept_trying_for_while_it_is_taken() {
    let taken = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let bench = Bench::new(UdpPush { port, ..UdpPush::DEFAULT }, UdpSockets);
    bench.reached(V4);
    bench.until("a failure", |pushes| pushes.counts().push_sockets_lost > 0).await;
    assert_eq!(bench.pushes.port(), 0);
    drop(taken);
    assert_eq!(bench.port().await, port);
    bench.stop().await;
}

#[tokio::test]
async fn the_socket_moves_to_the_family_of_the_way_to_the_server() {
    let mut bench = Bench::listening(UdpPush::DEFAULT, V4).await;
    bench.reached(V6);
    bench.pushes.begin(Epoch(2));
    let server = UdpSocket::bind((V6, 0)).await.unwrap();
    let mut sent = 0;
    // Whether the new socket listens already cannot be seen from outside.
    while bench.events.is_empty() {
        let port = bench.pushes.port();
        if port != 0 && server.send_to(&push("g@@s", sent), SocketAddr::new(V6, port)).await.is_ok() {
            sent += 1;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(bench.pushed().await.0, 2);
    bench.stop().await;
}

/// Sockets that do what a script says.
struct Scripted(Arc<Script>);

type Received = Vec<io::Result<Vec<u8>>>;

#[derive(Default)]
struct Script {
    /// For each socket to come: its port and what it receives before it waits for ever.
    sockets: Mutex<VecDeque<(u16, Received)>>,
    sent: Mutex<Vec<(u16, String)>>,
}

struct ScriptedSocket {
    port: u16,
    receives: Mutex<VecDeque<io::Result<Vec<u8>>>>,
    script: Arc<Script>,
}

impl Bind for Scripted {
    fn bind(&self, _: SocketAddr) -> io::Result<Box<dyn Datagrams>> {
        let (port, receives) = self.0.sockets.lock().unwrap().pop_front().ok_or(io::ErrorKind::AddrInUse)?;
        Ok(Box::new(ScriptedSocket { port, receives: Mutex::new(receives.into()), script: Arc::clone(&self.0) }))
    }
}

impl Datagrams for ScriptedSocket {
    fn port(&self) -> io::Result<u16> {
        Ok(self.port)
    }

    fn receive<'a>(&'a self, buffer: &'a mut [u8]) -> BoxFuture<'a, io::Result<(usize, SocketAddr)>> {
        let next = self.receives.lock().unwrap().pop_front();
        Box::pin(async move {
            match next {
                Some(Ok(bytes)) => {
                    buffer[..bytes.len()].copy_from_slice(&bytes);
                    Ok((bytes.len(), SocketAddr::new(V4, 9)))
                }
                Some(Err(error)) => Err(error),
                None => std::future::pending().await,
            }
        })
    }

    fn send<'a>(&'a self, packet: &'a [u8], _: SocketAddr) -> BoxFuture<'a, io::Result<usize>> {
        let text = String::from_utf8(packet.to_vec()).unwrap();
        self.script.sent.lock().unwrap().push((self.port, text));
        Box::pin(async { Err(io::ErrorKind::NetworkUnreachable.into()) })
    }
}

fn failed(kind: io::ErrorKind) -> io::Result<Vec<u8>> {
    Err(kind.into())
}

#[tokio::test(start_paused = true)]
async fn after_an_error_of_the_socket_another_one_is_made_and_its_port_told() {
    let script = Arc::new(Script::default());
    script.sockets.lock().unwrap().extend([
        (1, vec![Ok(push("g@@a", 1)), failed(io::ErrorKind::Other)]),
        (2, vec![failed(io::ErrorKind::ConnectionReset), Ok(push("g@@b", 2)), failed(io::ErrorKind::NotConnected)]),
        (3, vec![Ok(push("g@@c", 3))]),
    ]);
    let mut bench = Bench::new(UdpPush::DEFAULT, Scripted(Arc::clone(&script)));
    bench.reached(V4);
    bench.pushes.begin(Epoch(1));
    let mut names = Vec::new();
    for _ in 0..3 {
        names.push(bench.pushed().await.2);
    }
    assert_eq!(names, ["g@@a", "g@@b", "g@@c"]);
    bench.until("the third", |pushes| pushes.port() == 3).await;
    assert_eq!(bench.pushes.counts().push_sockets_lost, 2, "an echo of an acknowledgement is no error");
    let sent: Vec<u16> = script.sent.lock().unwrap().iter().map(|(port, _)| *port).collect();
    assert_eq!(sent, [1, 2, 3], "an acknowledgement that cannot be sent ends nothing");
    bench.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_socket_that_only_fails_makes_no_loop_without_pause() {
    let script = Arc::new(Script::default());
    let echoes = || (0..100).map(|_| failed(io::ErrorKind::ConnectionReset)).collect();
    script.sockets.lock().unwrap().extend((1..=5).map(|port| (port, echoes())));
    let bench = Bench::new(UdpPush::DEFAULT, Scripted(script));
    bench.reached(V4);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let failures = bench.pushes.counts().push_sockets_lost;
    assert!((120..=300).contains(&failures), "{failures}");
    bench.stop().await;
}

#[test]
fn servers_that_change_their_addresses_all_the_time_cost_no_memory() {
    let pushes = Pushes::new(UdpPush::DEFAULT);
    let ip = |n: u32| IpAddr::V4(Ipv4Addr::from_bits(0x7f00_0000 + n));
    for n in 0..10_000 {
        pushes.reached(&format!("{}:8848", ip(1)), None);
        pushes.reached(&format!("{}:8848", ip(n)), None);
    }
    assert!(pushes.believes(ip(1)) && pushes.believes(ip(9_999)) && !pushes.believes(ip(2)));
    assert!(pushes.believes("::ffff:127.0.0.1".parse().unwrap()), "the same address in the other notation");
}
