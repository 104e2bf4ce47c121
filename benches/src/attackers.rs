//! Clients that are broken or mean no good, each kind in a process of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use clap::ValueEnum;
use nacos_proto::{REQUEST_PATH, STREAM_PATH};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Failure;
use super::process::until_parent_ends;
use super::raw::{Connection, first_instance, instance_number};

/// What they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Subscribe and never read what comes by the stream.
    SlowReader,
    /// Read everything and acknowledge nothing.
    NeverAcknowledging,
    /// Subscribe and then read nothing from the socket, which stays open.
    HalfOpen,
    /// Connect and never finish the set-up.
    UnfinishedSetUps,
    /// Headers without end, requests taken back at once, questions whose answers are never read.
    HeaderFlood,
    /// A thousand streams on one connection.
    ManyStreams,
    /// Messages of 10 MiB that never end, and HTTP bodies without end.
    GiantBodies,
}

const SERVICE: &str = "attacked-service";
const INSTANCES: usize = 100;
/// Between two changes of the service that the attackers are subscribed to.
const CHANGE: Duration = Duration::from_millis(5);
/// A server that takes nothing for so long has had enough.
const STUCK: Duration = Duration::from_secs(1);
/// Connections and floods at a time, where a few do harm already.
const FEW: usize = 4;

/// Attacks the server whose main port is given, until the parent ends. `strength` is the number of connections.
pub(crate) async fn run(kind: Kind, server: SocketAddr, strength: usize) -> Result<(), Failure> {
    let grpc = SocketAddr::from((Ipv4Addr::LOCALHOST, server.port() + 1_000));
    // All of them end with this process.
    let mut attack = JoinSet::new();
    match kind {
        Kind::SlowReader | Kind::NeverAcknowledging | Kind::HalfOpen => {
            attack.spawn(async move { drop(change(grpc).await) });
            subscribe(&mut attack, kind, grpc, strength).await?;
        }
        Kind::UnfinishedSetUps => {
            for number in 0..FEW {
                attack.spawn(async move { unfinished(grpc, strength / FEW, number).await });
            }
        }
        Kind::HeaderFlood => {
            for flood in [endless_headers, refused_headers, taken_back, questions] {
                attack.spawn(async move {
                    loop {
                        flood(grpc).await;
                    }
                });
            }
        }
        Kind::ManyStreams => {
            for _ in 0..FEW {
                attack.spawn(async move { while streams(grpc).await.is_ok() {} });
            }
        }
        Kind::GiantBodies => {
            for _ in 0..strength {
                attack.spawn(async move {
                    loop {
                        drop(giant_message(grpc).await);
                    }
                });
            }
            attack.spawn(async move {
                loop {
                    endless_body(server).await;
                }
            });
        }
    }
    until_parent_ends(server).await
}

/// Changes the attackers' service for ever.
async fn change(grpc: SocketAddr) -> Result<(), Failure> {
    let (many, one) = (Connection::open_answering(grpc).await?, Connection::open_answering(grpc).await?);
    many.registered().await?;
    one.registered().await?;
    many.register_batch(SERVICE, (1..INSTANCES).map(instance_number).collect()).await?;
    for number in 0.. {
        one.register(SERVICE.to_owned(), first_instance(number)).await?;
        sleep(CHANGE).await;
    }
    Ok(())
}

async fn subscribe(attack: &mut JoinSet<()>, kind: Kind, grpc: SocketAddr, count: usize) -> Result<(), Failure> {
    for _ in 0..count {
        let (connection, mut incoming) = Connection::open_reading(grpc).await?;
        connection.registered().await?;
        connection.subscribe(SERVICE).await?;
        if kind == Kind::HalfOpen {
            connection.freeze();
        }
        attack.spawn(async move {
            if kind == Kind::NeverAcknowledging {
                while incoming.next().await.is_ok_and(|message| message.is_some()) {}
            }
            std::future::pending::<()>().await;
            drop((connection, incoming));
        });
    }
    Ok(())
}

/// What every HTTP/2 connection begins with, and empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// `:method POST`, `:scheme http`, `:path /`.
const REQUEST: &[u8] = &[0x83, 0x86, 0x84];
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
const CANCEL: &[u8] = &[0, 0, 0, 8];

/// Opens connections that say nothing, only the preface, or only open a stream, and holds them; those that are closed are
/// made again.
async fn unfinished(grpc: SocketAddr, count: usize, first: usize) {
    let (mut sockets, mut streams) = (Vec::new(), Vec::new());
    for number in 0.. {
        if number >= count {
            // About as fast as the server gives them up.
            sleep(Duration::from_millis(5)).await;
        }
        match (number + first) % 3 {
            2 => {
                if let Ok(connection) = Connection::dial(grpc).await {
                    let stream = connection.begin(STREAM_PATH).await;
                    keep(&mut streams, (connection, stream), count / 3, number);
                }
            }
            kind => {
                if let Ok(mut socket) = TcpStream::connect(grpc).await {
                    let preface = if kind == 1 { PREFACE } else { &[] };
                    // The server may have had enough.
                    drop(socket.write_all(preface).await);
                    keep(&mut sockets, socket, count * 2 / 3, number);
                }
            }
        }
    }
}

/// Holds so many, a new one in the place of an old one.
fn keep<T>(all: &mut Vec<T>, new: T, most: usize, number: usize) {
    if all.len() < most {
        all.push(new);
    } else if most > 0 {
        all[number % most] = new;
    }
}

fn frame(kind: u8, flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap_or_default().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), body].concat()
}

/// A header of 16 000 bytes, without indexing.
fn long_header() -> Vec<u8> {
    // The length as HPACK writes it: seven bits, then groups of seven, the lowest first.
    let length: [u8; 3] = [127, 0x81, 0x7c];
    [&[0, 3], &b"x-x"[..], &length, &[b'v'; 16_000]].concat()
}

/// Writes `first` and then `more`, so often or until the server has had enough; reads nothing.
async fn flood(server: SocketAddr, first: &[u8], more: impl Fn(u32) -> Vec<u8>, times: u32) {
    let Ok(mut socket) = TcpStream::connect(server).await else { return };
    drop(socket.write_all(first).await);
    for number in 0..times {
        match timeout(STUCK, socket.write_all(&more(number))).await {
            Ok(Ok(())) => {}
            // Closed, or nothing is taken any more.
            _ => break,
        }
    }
}

type Flooding = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn endless_headers(grpc: SocketAddr) -> Flooding {
    let begun = [PREFACE, &frame(HEADERS, 0, 1, REQUEST)].concat();
    Box::pin(async move { flood(grpc, &begun, |_| frame(CONTINUATION, 0, 1, &long_header()), 1_000).await })
}

fn refused_headers(grpc: SocketAddr) -> Flooding {
    let block = [REQUEST, &long_header()].concat();
    Box::pin(async move { flood(grpc, PREFACE, |n| frame(HEADERS, END_HEADERS, 2 * n + 1, &block), 300).await })
}

fn taken_back(grpc: SocketAddr) -> Flooding {
    let both =
        |n: u32| [frame(HEADERS, END_HEADERS, 2 * n + 1, REQUEST), frame(RST_STREAM, 0, 2 * n + 1, CANCEL)].concat();
    Box::pin(async move { flood(grpc, PREFACE, both, 5_000).await })
}

fn questions(grpc: SocketAddr) -> Flooding {
    Box::pin(async move { flood(grpc, PREFACE, |_| frame(PING, 0, 0, &[0; 8]).repeat(100), 1_000).await })
}

/// As many streams as a connection may have, whose messages never come, and as many for pushes, which are refused.
async fn streams(grpc: SocketAddr) -> Result<(), Failure> {
    const STREAMS: usize = 1_000;
    let connection = Connection::dial(grpc).await?;
    for path in [REQUEST_PATH, STREAM_PATH] {
        let mut begun = Vec::new();
        for _ in 0..STREAMS {
            begun.push(connection.begin(path).await?);
        }
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// A message of 10 MiB whose last byte never comes.
async fn giant_message(grpc: SocketAddr) -> Result<(), Failure> {
    const SIZE: usize = 10 * 1024 * 1024;
    let connection = Connection::dial(grpc).await?;
    let (answer, mut body) = connection.begin(REQUEST_PATH).await?;
    let mut message = vec![0; 5 + SIZE - 1];
    message[1..5].copy_from_slice(&u32::try_from(SIZE)?.to_be_bytes());
    body.send_data(Bytes::from(message), false)?;
    // Refused, or held for as long as the server likes.
    drop(timeout(STUCK, answer).await);
    Ok(())
}

/// An HTTP request whose body goes on for ever.
async fn endless_body(http: SocketAddr) {
    const CHUNK: usize = 128 * 1024;
    let head = b"POST /nacos/v1/ns/instance HTTP/1.1\r\nhost: h\r\n\
        content-type: application/x-www-form-urlencoded\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = [format!("{CHUNK:x}\r\n").as_bytes(), &[b'a'; CHUNK], b"\r\n"].concat();
    flood(http, head, |_| chunk.clone(), 1_000).await;
}
