//! One exchange, on a connection of its own: calls of operators are rare, and so nothing has to be kept or ended.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use crate::servers::{Connector, ContextPath, ServerAddress, SystemResolver, TcpConnector};

/// Operators' own programs are named, other than clients, for which servers keep lists of names and versions.
const AGENT: &str = concat!("Nacos-Rust-Maintain:v", env!("CARGO_PKG_VERSION"));

/// What is asked.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Path and query, without the context path.
    pub(super) target: String,
}

impl Request {
    /// Method and path, as an error names them.
    pub(super) fn name(&self) -> String {
        let path = self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path);
        format!("{} {path}", self.method)
    }
}

/// What a server said.
#[derive(Debug)]
pub(super) struct Answer {
    /// The configured server.
    pub(super) server: String,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Asks servers.
#[derive(Debug)]
pub(super) struct Http {
    connector: TcpConnector,
    pub(super) context_path: ContextPath,
    /// For connecting.
    pub(super) connect: Duration,
    /// For the whole exchange.
    pub(super) limit: Duration,
    /// Largest answer, in bytes.
    pub(super) max: usize,
}

impl Http {
    pub(super) fn new(context_path: ContextPath, connect: Duration, limit: Duration, max: usize) -> Self {
        Self { connector: TcpConnector::new(Arc::new(SystemResolver)), context_path, connect, limit, max }
    }

    /// One question to one server; the error is a text for people.
    pub(super) async fn exchange(&self, server: &ServerAddress, request: &Request) -> Result<Answer, String> {
        match tokio::time::timeout(self.limit, self.exchange_in_time(server, request)).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {:?}", self.limit)),
        }
    }

    async fn exchange_in_time(&self, server: &ServerAddress, request: &Request) -> Result<Answer, String> {
        let path = format!("{}{}", server.path.as_ref().unwrap_or(&self.context_path), request.target);
        let message = http::Request::builder()
            .method(request.method.clone())
            .uri(path)
            .header(header::HOST, server.host.authority(server.port))
            .header(header::USER_AGENT, AGENT)
            .header(header::ACCEPT, "*/*")
            .body(Empty::<Bytes>::new())
            .map_err(|_| "the request is too long for HTTP".to_owned())?;
        let link = self.connector.connect(server.host.clone(), server.port, self.connect);
        let link = tokio::time::timeout(self.connect, link).await;
        let link = link.map_err(|_| format!("no connection within {:?}", self.connect))?.map_err(dialed)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(link.io)).await.map_err(broken)?;
        let answer = async {
            let (head, body) = sender.send_request(message).await.map_err(broken)?.into_parts();
            let body = Limited::new(body, self.max).collect().await.map_err(|error| error.to_string())?;
            Ok(Answer { server: server.to_string(), status: head.status, headers: head.headers, body: body.to_bytes() })
        };
        tokio::pin!(answer, connection);
        tokio::select! {
            biased;
            answer = &mut answer => answer,
            // The last bytes may have come with the end of the connection.
            _ = &mut connection => answer.await,
        }
    }
}

fn dialed(error: crate::servers::DialError) -> String {
    match error {
        crate::servers::DialError::Resolve(error) => format!("its name has no address: {error}"),
        crate::servers::DialError::Connect { peer, source } => format!("{peer}: {source}"),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn broken(error: hyper::Error) -> String {
    crate::error::describe(&error)
}
