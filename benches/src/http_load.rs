//! A load generator for HTTP/1.1: connections that are kept, and one request at a time on each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::Failure;

/// One kept connection.
pub(crate) struct Link {
    server: SocketAddr,
    tcp: TcpStream,
    buffer: BytesMut,
}

impl Link {
    pub(crate) async fn open(server: SocketAddr) -> Result<Self, Failure> {
        Ok(Self { server, tcp: connect(server).await?, buffer: BytesMut::with_capacity(16 * 1024) })
    }

    /// The body of the answer to a request without a body, which has to be a success.
    pub(crate) async fn ask(&mut self, request: &Request) -> Result<Bytes, Failure> {
        let Request { method, target } = request;
        let text = format!("{method} {target} HTTP/1.1\r\nHost: server\r\nContent-Length: 0\r\n\r\n");
        self.tcp.write_all(text.as_bytes()).await?;
        let head = loop {
            if let Some(end) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break self.buffer.split_to(end + 4);
            }
            self.more().await?;
        };
        let head = std::str::from_utf8(&head)?;
        let field = |wanted: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(':'));
            fields.find_map(|(name, value)| name.eq_ignore_ascii_case(wanted).then(|| value.trim()))
        };
        let body = match field("content-length") {
            Some(length) => self.exactly(length.parse()?).await?,
            None if field("transfer-encoding") == Some("chunked") => self.chunks().await?,
            None => return Err("an answer without a length".into()),
        };
        // Tomcat says so after a hundred requests.
        if field("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            self.tcp = connect(self.server).await?;
        }
        if !head.starts_with("HTTP/1.1 200 ") {
            return Err(format!("{method} {target}: {head}{}", String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }

    async fn exactly(&mut self, length: usize) -> Result<Bytes, Failure> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(self.buffer.split_to(length).freeze())
    }

    /// The chunks of a body, put together.
    async fn chunks(&mut self) -> Result<Bytes, Failure> {
        let mut body = BytesMut::new();
        loop {
            let end = loop {
                if let Some(end) = self.buffer.windows(2).position(|window| window == b"\r\n") {
                    break end;
                }
                self.more().await?;
            };
            let size = self.buffer.split_to(end + 2);
            let size = usize::from_str_radix(std::str::from_utf8(&size)?.trim(), 16)?;
            let chunk = self.exactly(size + 2).await?;
            if size == 0 {
                return Ok(body.freeze());
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    async fn more(&mut self) -> Result<(), Failure> {
        if self.tcp.read_buf(&mut self.buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        Ok(())
    }
}

async fn connect(server: SocketAddr) -> Result<TcpStream, Failure> {
    let tcp = TcpStream::connect(server).await?;
    tcp.set_nodelay(true)?;
    Ok(tcp)
}

/// What is asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: &'static str,
    target: String,
}

impl Request {
    pub(crate) fn get(target: impl Into<String>) -> Self {
        Self { method: "GET", target: target.into() }
    }

    /// Registers an instance with an address of its own, as the first generation of clients does.
    pub(crate) fn register(service: &str, number: usize) -> Self {
        Self { method: "POST", target: format!("/nacos/v1/ns/instance?{}", address(service, number)) }
    }

    /// A light beat of such an instance.
    pub(crate) fn beat(service: &str, number: usize) -> Self {
        Self { method: "PUT", target: format!("/nacos/v1/ns/instance/beat?{}", address(service, number)) }
    }

    /// The list of a service.
    pub(crate) fn list(service: &str) -> Self {
        Self::get(format!("/nacos/v1/ns/instance/list?serviceName={service}"))
    }
}

fn address(service: &str, number: usize) -> String {
    let [_, b, c, d] = u32::try_from(number).unwrap_or_default().to_be_bytes();
    format!("serviceName={service}&ip=10.{b}.{c}.{d}&port=8080")
}

/// Seconds that so many requests take over so many connections; `make` gets their numbers.
pub(crate) async fn seconds(
    server: SocketAddr,
    connections: usize,
    calls: usize,
    make: impl Fn(usize) -> Request + Clone + Send + 'static,
) -> Result<f64, Failure> {
    let mut links = Vec::new();
    for _ in 0..connections {
        links.push(Link::open(server).await?);
    }
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let mut callers: JoinSet<Result<(), Failure>> = JoinSet::new();
    for mut link in links {
        let (next, make) = (Arc::clone(&next), make.clone());
        callers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= calls {
                    return Ok(());
                }
                link.ask(&make(number)).await?;
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    Ok(start.elapsed().as_secs_f64())
}
