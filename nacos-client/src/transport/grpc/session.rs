//! A live connection as naming uses it: calls, bounded in number and time.

use std::{sync::Arc, sync::OnceLock, time::Duration};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use nacos_proto::code;
use tokio::{runtime::Handle, sync::Semaphore};
use tokio_util::sync::CancellationToken;

use super::{
    channel::{Channel, framed},
    requests,
    rpc_error::RpcError,
    settings::GrpcSettings,
    traffic::Traffic,
};
use crate::auth::{LoginError, Token};
use crate::transport::{Call, CallError, Epoch, LinkError, LinkFault, Refusal, Reply, Session, SessionInfo};

/// Calls in flight per connection. Enough to keep a server busy; few enough that a slow one is not buried.
pub(super) const MAX_IN_FLIGHT: usize = 64;
/// How long after its set-up a connection may still be unknown to the server.
const GRACE: Duration = Duration::from_millis(200);
/// The wait before a call that came too early is sent again.
const GRACE_PAUSE: Duration = Duration::from_millis(100);

/// What the connection's task and its sessions share.
#[derive(Debug)]
pub(super) struct Life {
    /// Cancelled to ask the task to end the connection.
    pub(super) sick: CancellationToken,
    /// Why it was asked.
    fault: OnceLock<LinkFault>,
    /// Cancelled when the connection has ended, after `cause` was set.
    ended: CancellationToken,
    cause: OnceLock<LinkError>,
    permits: Semaphore,
    peer: Arc<str>,
}

impl Life {
    pub(super) fn new(peer: Arc<str>) -> Self {
        Self {
            sick: CancellationToken::new(),
            fault: OnceLock::new(),
            ended: CancellationToken::new(),
            cause: OnceLock::new(),
            permits: Semaphore::new(MAX_IN_FLIGHT),
            peer,
        }
    }

    /// Asks the connection's task to end; the first fault counts.
    pub(super) fn fail(&self, fault: LinkFault) {
        self.fault.get_or_init(|| fault);
        self.sick.cancel();
    }

    /// What [`Life::fail`] was called with.
    pub(super) fn fault(&self) -> LinkFault {
        self.fault.get().cloned().unwrap_or(LinkFault::Closed)
    }

    /// The connection ended; the first cause counts.
    pub(super) fn end(&self, cause: LinkError) {
        self.cause.get_or_init(|| cause);
        self.permits.close();
        self.ended.cancel();
    }

    /// The connection ended without a cause of its own.
    pub(super) fn end_closed(&self) {
        self.end(LinkFault::Closed.at(&self.peer));
    }

    /// The end of the connection as the failure of a call. Waits for that end, which must be under way.
    async fn over(&self) -> CallError {
        self.ended.cancelled().await;
        let cause = self.cause.get().cloned();
        CallError::Link(cause.unwrap_or_else(|| LinkFault::Closed.at(&self.peer)))
    }
}

/// The session of one epoch.
pub(super) struct GrpcSession {
    inner: Arc<Inner>,
}

struct Inner {
    epoch: Epoch,
    info: Arc<SessionInfo>,
    channel: Channel,
    life: Arc<Life>,
    traffic: Arc<Traffic>,
    settings: Arc<GrpcSettings>,
    client_ip: Arc<str>,
    runtime: Handle,
}

/// What a session is made of.
pub(super) struct SessionParts {
    pub(super) epoch: Epoch,
    pub(super) info: Arc<SessionInfo>,
    pub(super) channel: Channel,
    pub(super) life: Arc<Life>,
    pub(super) traffic: Arc<Traffic>,
    pub(super) settings: Arc<GrpcSettings>,
    pub(super) client_ip: Arc<str>,
}

impl GrpcSession {
    /// A session of a connection whose set-up finished just now, on the current runtime.
    pub(super) fn new(parts: SessionParts) -> Self {
        let SessionParts { epoch, info, channel, life, traffic, settings, client_ip } = parts;
        let runtime = Handle::current();
        Self { inner: Arc::new(Inner { epoch, info, channel, life, traffic, settings, client_ip, runtime }) }
    }
}

impl Session for GrpcSession {
    fn epoch(&self) -> Epoch {
        self.inner.epoch
    }

    fn info(&self) -> &SessionInfo {
        &self.inner.info
    }

    fn call(&self, call: Call) -> BoxFuture<'static, Result<Reply, CallError>> {
        let inner = Arc::clone(&self.inner);
        Box::pin(async move { inner.call(&call).await })
    }
}

impl Inner {
    async fn call(&self, call: &Call) -> Result<Reply, CallError> {
        let persistent = matches!(call, Call::RegisterPersistent { .. } | Call::DeregisterPersistent { .. });
        if persistent && !self.info.abilities.persistent {
            return Err(CallError::Unsupported { needs: requests::PERSISTENT_SINCE });
        }
        if self.settings.auth.is_off() {
            return self.send(call, None).await.map_err(CallError::without_login);
        }
        // Boxed so that it does not make every call larger.
        Box::pin(self.send_as_user(call)).await
    }

    /// With a token, and once more with a newer one if the server denies it.
    async fn send_as_user(&self, call: &Call) -> Result<Reply, CallError> {
        let auth = &self.settings.auth;
        let Some(token) = self.unless_over(auth.pass()).await? else { return self.send(call, None).await };
        match self.send(call, Some(&token)).await {
            Err(denied) if denied.is_denial() => {
                let Some(newer) = self.unless_over(auth.renewed(&token)).await? else { return Err(denied) };
                let result = self.send(call, Some(&newer)).await;
                auth.made_again(&newer, result.as_ref().is_err_and(CallError::is_denial));
                result
            }
            result => result,
        }
    }

    /// Waits for a token, but not longer than the connection lives.
    async fn unless_over<T>(&self, token: impl Future<Output = Result<T, LoginError>>) -> Result<T, CallError> {
        tokio::select! {
            biased;
            token = token => token.map_err(CallError::Login),
            over = self.life.over() => Err(over),
        }
    }

    /// One attempt, which takes a place among the calls under way; who waits for a token has none.
    async fn send(&self, call: &Call, token: Option<&Token>) -> Result<Reply, CallError> {
        let Ok(_permit) = self.life.permits.acquire().await else { return Err(self.life.over().await) };
        let frame = match self.encode(call, token) {
            Ok(frame) => frame,
            Err(error) => return Err(self.failed(error).await),
        };
        let result = self.exchange(call, frame.clone()).await;
        match unregistered(&result) {
            // Rare, and boxed so that it does not make every call larger.
            Some(code) => Box::pin(self.not_registered(call, frame, code)).await,
            None => result,
        }
    }

    /// The bytes of the request, made once for all attempts with this token.
    fn encode(&self, call: &Call, token: Option<&Token>) -> Result<Bytes, RpcError> {
        let mut request = requests::encode(call, &self.settings.namespace)
            .with_client_ip(&*self.client_ip)
            .with_header("app", &*self.settings.app_name);
        if let Some(token) = token {
            request = request.with_header("accessToken", token.text());
        }
        framed(&request)
    }

    /// The server does not know the connection: soon after the set-up it may only be late, later the connection is of no use.
    async fn not_registered(&self, call: &Call, frame: Bytes, code: i32) -> Result<Reply, CallError> {
        if self.traffic.age() > GRACE {
            return Err(self.end(LinkFault::Unregistered(code)).await);
        }
        self.pause().await;
        let result = self.exchange(call, frame).await;
        match unregistered(&result) {
            Some(code) => Err(self.end(LinkFault::Unregistered(code)).await),
            None => result,
        }
    }

    async fn exchange(&self, call: &Call, frame: Bytes) -> Result<Reply, CallError> {
        let waiting = self.traffic.begin();
        let answer = self.channel.unary_frame(frame).await;
        drop(waiting);
        match answer {
            Ok(answer) => {
                let result = requests::decode(call, &answer);
                if handled(&result) {
                    self.traffic.heard();
                }
                result
            }
            Err(error) => Err(self.failed(error).await),
        }
    }

    async fn failed(&self, error: RpcError) -> CallError {
        match error.into_call_error() {
            Ok(error) => error,
            Err(fault) => self.end(fault).await,
        }
    }

    async fn end(&self, fault: LinkFault) -> CallError {
        self.life.fail(fault);
        self.life.over().await
    }

    /// Slept in a task of the connection's runtime, so that a call may be polled anywhere, and for sure not longer than the runtime lives.
    async fn pause(&self) {
        let slept = self.runtime.spawn(async { tokio::time::sleep(GRACE_PAUSE).await });
        if slept.await.is_err() {
            tracing::debug!("the runtime ended during a pause");
        }
    }
}

/// Whether the server took the request up, which keeps the connection alive, whatever it then said.
fn handled(result: &Result<Reply, CallError>) -> bool {
    match result {
        Ok(_) => true,
        Err(CallError::Refused(refusal)) => !matches!(refusal.code, code::UNREGISTERED | code::BAD_GATEWAY),
        Err(
            CallError::Link(_)
            | CallError::Unreachable(_)
            | CallError::Login(_)
            | CallError::Decode(_)
            | CallError::Oversized { .. }
            | CallError::Unsupported { .. },
        ) => false,
    }
}

/// The code that says the server does not know the connection, if that is what the result says.
fn unregistered(result: &Result<Reply, CallError>) -> Option<i32> {
    match result {
        Err(CallError::Refused(Refusal { code: lost @ (code::UNREGISTERED | code::CLIENT_DISCONNECT), .. })) => {
            Some(*lost)
        }
        _ => None,
    }
}
