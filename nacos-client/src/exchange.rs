//! One HTTP exchange, on a connection of its own: logins and calls of operators are rare, and so nothing has to be kept or ended.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use crate::auth::Token;
use crate::config::ClientConfig;
use crate::servers::{Connector, ContextPath, ServerAddress, SystemResolver, TcpConnector};

const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded;charset=UTF-8");

/// What is asked. Shown without its form.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// Path and query, without the context path.
    pub(crate) target: String,
    /// Form body; empty for none.
    pub(crate) form: Bytes,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("method", &self.method).field("target", &self.target).finish_non_exhaustive()
    }
}

impl Request {
    /// A request that has everything in its query.
    #[cfg(feature = "maintain")]
    pub(crate) fn plain(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), form: Bytes::new() }
    }

    /// Method and path, as an error names them.
    #[cfg(feature = "maintain")]
    pub(crate) fn name(&self) -> String {
        let path = self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path);
        format!("{} {path}", self.method)
    }
}

/// What a server said.
pub(crate) struct Answer {
    /// The configured server.
    #[cfg(feature = "maintain")]
    pub(crate) server: String,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why there is no answer; a text for people.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// No connection, or it broke, or nothing came in time, or nothing that can be read.
    #[error("{0}")]
    Lost(String),
    /// An answer whose status is none of HTTP.
    #[error("an answer with a status that HTTP does not have")]
    NoStatus,
}

impl From<String> for NoAnswer {
    fn from(text: String) -> Self {
        Self::Lost(text)
    }
}

/// Asks servers.
#[derive(Debug)]
pub(crate) struct Http {
    connector: Arc<dyn Connector>,
    /// What the program calls itself.
    agent: HeaderValue,
    context_path: ContextPath,
    /// For connecting.
    connect: Duration,
    /// For the whole exchange.
    pub(crate) limit: Duration,
    /// Largest answer, in bytes.
    max: usize,
}

impl Http {
    /// Asks over TCP.
    pub(crate) fn new(config: &ClientConfig, agent: &'static str) -> Self {
        Self {
            connector: Arc::new(TcpConnector::new(Arc::new(SystemResolver))),
            agent: HeaderValue::from_static(agent),
            context_path: config.context_path.clone(),
            connect: config.timeouts.connect,
            limit: config.timeouts.http,
            max: config.max_message_size,
        }
    }

    /// The same by other means than TCP.
    #[cfg(test)]
    pub(crate) fn over(self, connector: Arc<dyn Connector>) -> Self {
        Self { connector, ..self }
    }

    /// The same with `limit` for the whole exchange.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// One question to one server, with a token if there is one.
    pub(crate) async fn exchange(
        &self,
        server: &ServerAddress,
        request: &Request,
        token: Option<&Token>,
    ) -> Result<Answer, NoAnswer> {
        match tokio::time::timeout(self.limit, self.exchange_in_time(server, request, token)).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {:?}", self.limit).into()),
        }
    }

    async fn exchange_in_time(
        &self,
        server: &ServerAddress,
        request: &Request,
        token: Option<&Token>,
    ) -> Result<Answer, NoAnswer> {
        let path = format!("{}{}", server.path.as_ref().unwrap_or(&self.context_path), request.target);
        let mut message = http::Request::builder()
            .method(request.method.clone())
            .uri(path)
            .header(header::HOST, server.host.authority(server.port))
            .header(header::USER_AGENT, self.agent.clone())
            .header(header::ACCEPT, "*/*")
            .body(Full::new(request.form.clone()))
            .map_err(|_| "the request is too long for HTTP".to_owned())?;
        if !request.form.is_empty() {
            message.headers_mut().insert(header::CONTENT_TYPE, FORM);
        }
        if let Some(token) = token {
            message.headers_mut().insert(header::AUTHORIZATION, token.header());
        }
        let link = self.connector.connect(server.host.clone(), server.port, self.connect);
        let link = tokio::time::timeout(self.connect, link).await;
        let link = link.map_err(|_| format!("no connection within {:?}", self.connect))?.map_err(dialed)?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(link.io)).await.map_err(broken)?;
        let answer = async {
            let (head, body) = sender.send_request(message).await.map_err(broken)?.into_parts();
            let body = Limited::new(body, self.max).collect().await.map_err(|error| error.to_string())?;
            Ok(Answer {
                #[cfg(feature = "maintain")]
                server: server.to_string(),
                status: head.status,
                headers: head.headers,
                body: body.to_bytes(),
            })
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
fn broken(error: hyper::Error) -> NoAnswer {
    if error.is_parse_status() { NoAnswer::NoStatus } else { crate::error::describe(&error).into() }
}
