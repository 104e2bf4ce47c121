//! The recorded pushes by UDP: the calls are made again, and the datagrams that come are compared with those that came.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::read::GzDecoder;
use nacos_server_min::{Behaviour, Server};
use nacos_tests::compare::{self, Difference, Kind, Options};
use nacos_tests::http::{self, Call};
use nacos_tests::vectors::{self, Acks, UdpCase};
use serde_json::{Map, Value};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Verdicts, exceptions};
use crate::exceptions::Against;
use crate::script::Mode;
use crate::tally::Tally;

/// Datagrams are compressed from this size on.
const COMPRESSED_FROM: usize = 1_024;
/// So much later than in the recording a datagram may come.
const PATIENCE: Duration = Duration::from_secs(5);
/// Where nothing came in the recording, this long is looked whether something comes.
const WATCH: Duration = Duration::from_secs(1);

type Inbox = Arc<Mutex<Vec<Vec<u8>>>>;

/// Reads a datagram: its list, and what is wrong with its form.
fn read(bytes: &[u8]) -> Result<(String, i64), Difference> {
    let wrong = |text: &str| Difference::new(Kind::JsonType, text);
    let compressed = bytes.starts_with(&[0x1f, 0x8b]);
    let mut plain = Vec::new();
    if compressed {
        GzDecoder::new(bytes).read_to_end(&mut plain).map_err(|error| wrong(&error.to_string()))?;
    } else {
        plain.extend_from_slice(bytes);
    }
    if compressed != (plain.len() >= COMPRESSED_FROM) {
        return Err(wrong(&format!("{} bytes, compressed: {compressed}", plain.len())));
    }
    let packet: Map<String, Value> = serde_json::from_slice(&plain).map_err(|error| wrong(&error.to_string()))?;
    let text = |name: &str| packet.get(name).and_then(Value::as_str);
    let stamp = packet.get("lastRefTime").and_then(Value::as_i64);
    match (packet.len(), text("type"), text("data"), stamp) {
        (3, Some("dom"), Some(list), Some(stamp)) => Ok((list.to_owned(), stamp)),
        _ => Err(wrong(&format!("no push: {packet:?}"))),
    }
}

fn compare(recorded: &[u8], ours: &[u8]) -> Vec<Difference> {
    let (recorded, _) = read(recorded).expect("recorded datagrams are sound");
    match read(ours) {
        Ok((ours, _)) => compare::messages(("dom", &recorded), ("dom", &ours), Options::default()),
        Err(difference) => vec![difference],
    }
}

/// Receives, and acknowledges as the recorder did, until dropped.
async fn receive(socket: UdpSocket, acks: Acks, inbox: Inbox) {
    let other = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let mut buffer = vec![0; 65_536];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        let bytes = buffer.get(..length).unwrap_or_default().to_vec();
        if let Ok((_, stamp)) = read(&bytes) {
            let ack = format!(r#"{{"type": "push-ack", "lastRefTime":"{stamp}", "data":""}}"#);
            let sent = match acks {
                Acks::Same => socket.send_to(ack.as_bytes(), from).await,
                Acks::Other => other.send_to(ack.as_bytes(), from).await,
                Acks::None => Ok(0),
            };
            sent.expect("the server's socket is open");
        }
        inbox.lock().expect("no panic inside").push(bytes);
    }
}

/// Makes the calls of a case at their times, and collects what comes until all that is recorded should have come.
async fn hold(server: SocketAddr, case: &UdpCase, verdicts: &mut Verdicts) -> Vec<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let port = socket.local_addr().expect("bound").port().to_string();
    let inbox = Inbox::default();
    let mut receiving = JoinSet::new();
    receiving.spawn(receive(socket, case.ack, Arc::clone(&inbox)));
    let mut began = Instant::now();
    for (at, call) in case.calls.iter().enumerate() {
        sleep_until(began + Duration::from_millis(call.at)).await;
        // What had come before the call in the recording has to come before it here, however slow this machine is.
        let before = case.packets.iter().filter(|packet| packet.at < call.at).count();
        let patience = Instant::now() + PATIENCE;
        while inbox.lock().expect("no panic inside").len() < before && Instant::now() < patience {
            sleep(Duration::from_millis(10)).await;
        }
        began = Instant::now() - Duration::from_millis(call.at);
        let query = call.query.replace("<port>", &port);
        let made = Call { method: &call.method, path: &call.path, query: &query, ..Call::default() };
        let headers = call.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let reply = http::call_with(server, made, headers).await.expect("the HTTP port answers");
        let name = format!("udp/{}/call-{at}", case.case);
        let status = (reply.status != call.status).then(|| Difference::new(Kind::Status, reply.status.to_string()));
        let mut differences: Vec<Difference> = status.into_iter().collect();
        if call.body().starts_with('{') {
            differences.extend(compare::messages(("list", call.body()), ("list", &reply.body), Options::default()));
        } else if call.body() != reply.body {
            differences.push(Difference::new(Kind::Value, reply.body));
        }
        verdicts.insert(name, differences);
    }
    let Some(last) = case.packets.last() else {
        sleep(WATCH).await;
        return inbox.lock().expect("no panic inside").clone();
    };
    let deadline = began + Duration::from_millis(last.at) + PATIENCE;
    loop {
        let seen = inbox.lock().expect("no panic inside").clone();
        let repeated = (1..seen.len()).any(|at| seen[..at].contains(&seen[at]));
        let came = seen.iter().any(|bytes| compare(&last.bytes(), bytes).is_empty());
        if came && (repeated || case.ack == Acks::Same) || Instant::now() > deadline {
            return seen;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Finds each recorded datagram among ours. By default changes are not merged for half a second, and many calls may take longer
/// than that, so there may be more of ours between those.
fn judge(case: &UdpCase, ours: &[Vec<u8>], mode: Mode, verdicts: &mut Verdicts) {
    let mut taken = vec![false; ours.len()];
    let mut known: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for (nth, recorded) in case.packets.iter().map(vectors::UdpPacket::bytes).enumerate() {
        let wanted = |at: &usize| match known.get(&recorded) {
            Some(first) => !taken[*at] && ours[*at] == ours[*first],
            None => !taken[*at] && compare(&recorded, &ours[*at]).is_empty(),
        };
        let differences = match (0..ours.len()).find(wanted) {
            Some(at) => {
                taken[at] = true;
                known.entry(recorded).or_insert(at);
                Vec::new()
            }
            None => match ours.get(nth).filter(|_| !known.contains_key(&recorded)) {
                Some(other) => compare(&recorded, other),
                None => vec![Difference::new(Kind::Push, "it did not come")],
            },
        };
        verdicts.insert(format!("udp/{}/packet-{nth}", case.case), differences);
    }
    let extra = taken.iter().filter(|taken| !**taken).count();
    let merged = !case.packets.is_empty() && (mode == Mode::Default || case.calls.len() > 2);
    if extra > 0 && !merged {
        let difference = Difference::new(Kind::ExtraPush, format!("{extra} more came"));
        verdicts.insert(format!("udp/{}/extra", case.case), vec![difference]);
    }
}

async fn replay(mode: Mode) -> Verdicts {
    let mut running = JoinSet::new();
    for case in vectors::udp_2_5_1() {
        running.spawn(async move {
            let behaviour = if mode == Mode::Nacos25 { Behaviour::Nacos25 } else { Behaviour::Standard };
            let server = Server::builder().behaviour(behaviour).seed(4).start().await.expect("free ports");
            let mut verdicts = Verdicts::new();
            let seen = hold(server.http_addr(), &case, &mut verdicts).await;
            judge(&case, &seen, mode, &mut verdicts);
            server.shutdown().await;
            verdicts
        });
    }
    let mut verdicts = Verdicts::new();
    while let Some(case) = running.join_next().await {
        verdicts.extend(case.expect("a case comes to its end"));
    }
    verdicts
}

#[tokio::test(flavor = "multi_thread")]
async fn datagrams_are_those_of_nacos_2_5_1() {
    let (older, ours) = tokio::join!(replay(Mode::Nacos25), replay(Mode::Default));
    Tally::check(&[
        Tally::with(Against::Udp25, &older, exceptions::TABLE),
        Tally::with(Against::UdpDefault, &ours, exceptions::TABLE),
    ]);
}

#[test]
fn a_wrong_datagram_is_found() {
    let good =
        vectors::udp_2_5_1().into_iter().find(|case| case.case == "java").expect("it is recorded").packets[1].bytes();
    let text = String::from_utf8(good.clone()).expect("it came as a text");
    assert_eq!(compare(&good, &good), []);
    let kinds = |ours: String| compare(&good, ours.as_bytes()).iter().map(|d| d.kind).collect::<Vec<_>>();
    assert_eq!(kinds(text.replace("10.20.0.1", "10.20.0.2")), [Kind::Value, Kind::Value], "the address and the id");
    assert_eq!(kinds(text.replace(r#"\"weight\":1.0,"#, "")), [Kind::MissingKey]);
    assert_eq!(kinds(text.replace(r#""type":"dom""#, r#""type":"service""#)), [Kind::JsonType]);
    assert_eq!(kinds(format!("{text}{}", " ".repeat(COMPRESSED_FROM))), [Kind::JsonType], "it should be compressed");
    assert_eq!(kinds("{}".to_owned()), [Kind::JsonType]);
}
