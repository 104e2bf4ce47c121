//! An HTTP server of a test that fails in a chosen way, and tells what reached it.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Method};
use nacos_client::Instance;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::AbortHandle;

use crate::support::{FREE, listen};

/// How a server fails, or does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Reads the request and answers with this status and body.
    Answer(u16, Vec<u8>),
    /// Answers with this status once the head of the request is there, and does not read its body.
    Early(u16),
    /// Resets the connection once a byte of the request is there.
    Reset,
    /// Reads the request and says nothing.
    Stall,
    /// Breaks off in the middle of the head of its answer.
    CutHead,
    /// Breaks off in the middle of the body of its answer.
    CutBody,
}

/// A request that was read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Default)]
struct Log {
    connections: usize,
    /// Requests of which a byte came.
    touched: usize,
    whole: Vec<Received>,
}

/// A server on 127.0.0.1 that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct FaultServer {
    address: SocketAddr,
    log: Arc<Mutex<Log>>,
    serving: AbortHandle,
}

impl FaultServer {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let (listener, address) = listen().await;
        let log = Arc::new(Mutex::new(Log::default()));
        let serving = tokio::spawn(accept(listener, behaviour, Arc::clone(&log))).abort_handle();
        Self { address, log, serving }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn instance(&self) -> Instance {
        Instance::new(self.address)
    }

    /// Requests of which at least a byte came.
    pub(crate) fn touched(&self) -> usize {
        self.log.lock().expect("no test failed with it").touched
    }

    pub(crate) fn connections(&self) -> usize {
        self.log.lock().expect("no test failed with it").connections
    }

    /// Requests that came as a whole.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.log.lock().expect("no test failed with it").whole.clone()
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn accept(listener: TcpListener, behaviour: Behaviour, log: Arc<Mutex<Log>>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("a listener accepts");
        log.lock().expect("no test failed with it").connections += 1;
        let (behaviour, log) = (behaviour.clone(), Arc::clone(&log));
        connections.spawn(async move {
            // A client that goes away ends the connection, and is no failure of a test.
            let _ = serve(stream, &behaviour, &log).await;
        });
    }
}

async fn serve(mut stream: TcpStream, behaviour: &Behaviour, log: &Mutex<Log>) -> std::io::Result<()> {
    loop {
        let first = stream.read_u8().await?;
        log.lock().expect("no test failed with it").touched += 1;
        if *behaviour == Behaviour::Reset {
            // What was sent and not read makes the system answer with a reset.
            stream.readable().await?;
            return Ok(());
        }
        let head = read_head(&mut stream, first).await?;
        if let Behaviour::Early(status) = behaviour {
            stream.write_all(format!("HTTP/1.1 {status} Told\r\ncontent-length: 0\r\n\r\n").as_bytes()).await?;
            std::future::pending::<()>().await;
        }
        let received = read_request(&mut stream, &head).await?;
        log.lock().expect("no test failed with it").whole.push(received);
        match behaviour {
            Behaviour::Answer(status, body) => {
                let head = format!("HTTP/1.1 {status} Told\r\nx-from: {}\r\n", stream.local_addr()?);
                let answer = format!("{head}content-length: {}\r\n\r\n", body.len());
                stream.write_all(&[answer.as_bytes(), body].concat()).await?;
            }
            Behaviour::CutHead => return stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-le").await,
            Behaviour::CutBody => {
                return stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nten bytes.").await;
            }
            Behaviour::Stall => std::future::pending().await,
            Behaviour::Reset | Behaviour::Early(_) => unreachable!("they ended above"),
        }
    }
}

async fn read_head(stream: &mut TcpStream, first: u8) -> std::io::Result<String> {
    let mut head = vec![first];
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8(head).expect("heads are ASCII"))
}

async fn read_request(stream: &mut TcpStream, head: &str) -> std::io::Result<Received> {
    let mut lines = head.split("\r\n");
    let method = lines.next().and_then(|line| line.split(' ').next()).expect("a method").parse().expect("a method");
    let fields = lines.filter_map(|line| line.split_once(": "));
    let headers: HeaderMap =
        fields.map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value"))).collect();
    let mut body = Vec::new();
    if let Some(length) = headers.get("content-length") {
        body.resize(length.to_str().expect("digits").parse().expect("a length"), 0);
        stream.read_exact(&mut body).await?;
    } else if headers.contains_key("transfer-encoding") {
        while let Some(chunk) = read_chunk(stream).await? {
            body.extend(chunk);
        }
    }
    Ok(Received { method, headers, body })
}

async fn read_chunk(stream: &mut TcpStream) -> std::io::Result<Option<Vec<u8>>> {
    let mut size = Vec::new();
    while !size.ends_with(b"\r\n") {
        size.push(stream.read_u8().await?);
    }
    let size = usize::from_str_radix(std::str::from_utf8(&size).expect("digits").trim(), 16).expect("a size");
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk).await?;
    chunk.truncate(size);
    Ok((size > 0).then_some(chunk))
}

/// An address that refuses connections, and is nobody else's as long as this lives.
pub(crate) struct Refusing {
    _socket: TcpSocket,
    address: SocketAddr,
}

impl Refusing {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(FREE).expect("a free port");
        let address = socket.local_addr().expect("it is bound");
        Self { _socket: socket, address }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn instance(&self) -> Instance {
        Instance::new(self.address)
    }
}
