//! Exchanges with one server, over a small pool of kept connections.

use std::{error::Error as _, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri, header, uri::Authority};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{Client, Error},
    rt::TokioTimer,
};

use super::wire::{Dial, Ends, PoolTasks};
use crate::{
    auth::Token,
    servers::{ContextPath, ServerAddress},
    transport::{LinkError, LinkFault},
};

/// The agent decides whether a server pushes: Nacos sends its UDP packets to clients whose name and version it knows, to others never, without a word. 1.x moreover writes
/// grouped names only for this one. So this client takes the name of the one whose protocol it speaks.
const AGENT: HeaderValue = HeaderValue::from_static("Nacos-Java-Client:v1.4.8");
const AGENT_VERSION: HeaderValue = HeaderValue::from_static("1.4.8");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded;charset=UTF-8");
/// Servers close idle connections after 20 s or later: ours go first.
const IDLE: Duration = Duration::from_secs(15);
/// Connections kept for each server.
const KEPT: usize = 16;

/// One request, for whichever server.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) method: Method,
    /// Path and query, without the context path.
    pub(super) target: Arc<str>,
    /// Form body; empty for none.
    pub(super) form: Bytes,
}

/// One answer, its body read to the end.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Bytes,
    /// Where a redirection points to.
    pub(super) location: Option<String>,
    pub(super) ends: Option<Ends>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// No connection, or it broke, or nothing came in time.
    Link(LinkError),
    /// There is an answer that cannot be read.
    Unreadable(String),
    /// No URI can hold the request.
    Unsendable,
}

/// One server.
#[derive(Debug)]
pub(super) struct Server {
    /// The configured entry, formatted.
    pub(super) name: Arc<str>,
    authority: Authority,
    context_path: ContextPath,
    headers: HeaderMap,
    /// Largest answer taken, in bytes.
    limit: usize,
    client: Client<Dial, Full<Bytes>>,
}

impl Server {
    /// A server at `address`; `None` if its name cannot stand in a URI.
    pub(super) fn new(
        address: &ServerAddress,
        context_path: &ContextPath,
        limit: usize,
        dial: Dial,
        tasks: PoolTasks,
    ) -> Option<Self> {
        let authority = Authority::try_from(address.host.authority(address.port)).ok()?;
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(header::USER_AGENT, AGENT);
        headers.insert(HeaderName::from_static("client-version"), AGENT_VERSION);
        headers.insert(HeaderName::from_static("request-module"), HeaderValue::from_static("Naming"));
        let client = Client::builder(tasks)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(KEPT)
            .pool_timer(TokioTimer::new())
            .build(dial);
        let name = Arc::from(address.to_string());
        let context_path = address.path.as_ref().unwrap_or(context_path).clone();
        Some(Self { name, authority, context_path, headers, limit, client })
    }

    /// Sends `request` and reads the answer, in `limit` altogether.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection the request went by; whether the server acts on it is then unknown.
    pub(super) async fn exchange(
        &self,
        request: &Request,
        token: Option<&Token>,
        limit: Duration,
    ) -> Result<Answer, Failure> {
        match tokio::time::timeout(limit, self.exchange_in_time(request, token)).await {
            Ok(result) => result,
            Err(_) => Err(Failure::Link(LinkFault::CallTimeout(limit).at(&self.name))),
        }
    }

    async fn exchange_in_time(&self, request: &Request, token: Option<&Token>) -> Result<Answer, Failure> {
        let uri = self.uri(request).ok_or(Failure::Unsendable)?;
        let response = match self.send(request, token, &uri).await {
            // A server may close a kept connection in the moment in which it is used. All requests may be repeated.
            Err(error) if !error.is_connect() => self.send(request, token, &uri).await,
            other => other,
        };
        self.read(response.map_err(|error| Failure::Link(self.broken(error)))?).await
    }

    fn uri(&self, request: &Request) -> Option<Uri> {
        let path = format!("{}{}", self.context_path, request.target);
        Uri::builder().scheme("http").authority(self.authority.clone()).path_and_query(path).build().ok()
    }

    async fn send(&self, request: &Request, token: Option<&Token>, uri: &Uri) -> Result<Response<Incoming>, Error> {
        let mut message = http::Request::new(Full::new(request.form.clone()));
        *message.method_mut() = request.method.clone();
        *message.uri_mut() = uri.clone();
        *message.headers_mut() = self.headers.clone();
        if !request.form.is_empty() {
            message.headers_mut().insert(header::CONTENT_TYPE, FORM);
        }
        if let Some(token) = token {
            message.headers_mut().insert(header::AUTHORIZATION, token.header());
        }
        self.client.request(message).await
    }

    async fn read(&self, response: Response<Incoming>) -> Result<Answer, Failure> {
        let (head, body) = response.into_parts();
        let body = match Limited::new(body, self.limit).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                let limit = self.limit;
                return Err(Failure::Unreadable(format!(
                    "an answer of more than {limit} bytes, which is `max_message_size`"
                )));
            }
            Err(error) => return Err(Failure::Link(LinkFault::Transport(Some(Arc::from(error))).at(&self.name))),
        };
        let location = head.headers.get(header::LOCATION).map(|to| String::from_utf8_lossy(to.as_bytes()).into_owned());
        let ends = head.extensions.get::<Ends>().cloned();
        Ok(Answer { status: head.status, body, location, ends })
    }

    fn broken(&self, error: Error) -> LinkError {
        let dialed = error.source().and_then(|source| source.downcast_ref::<LinkError>()).cloned();
        dialed.unwrap_or_else(|| LinkFault::Transport(Some(Arc::new(error))).at(&self.name))
    }
}
