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
    tcp: TcpStream,
    buffer: BytesMut,
}

impl Link {
    pub(crate) async fn open(server: SocketAddr) -> Result<Self, Failure> {
        let tcp = TcpStream::connect(server).await?;
        tcp.set_nodelay(true)?;
        Ok(Self { tcp, buffer: BytesMut::with_capacity(16 * 1024) })
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
        let length = head.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok()).flatten()
        });
        let length = length.ok_or("an answer without a length")?;
        while self.buffer.len() < length {
            self.more().await?;
        }
        let body = self.buffer.split_to(length).freeze();
        if !head.starts_with("HTTP/1.1 200 ") {
            return Err(format!("{method} {target}: {head}{}", String::from_utf8_lossy(&body)).into());
        }
        Ok(body)
    }

    async fn more(&mut self) -> Result<(), Failure> {
        if self.tcp.read_buf(&mut self.buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        Ok(())
    }
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
        let [_, b, c, d] = u32::try_from(number).unwrap_or_default().to_be_bytes();
        let query = format!("serviceName={service}&ip=10.{b}.{c}.{d}&port=8080");
        Self { method: "POST", target: format!("/nacos/v1/ns/instance?{query}") }
    }

    /// The list of a service.
    pub(crate) fn list(service: &str) -> Self {
        Self::get(format!("/nacos/v1/ns/instance/list?serviceName={service}"))
    }
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
