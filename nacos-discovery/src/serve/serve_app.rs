use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use futures_util::future::BoxFuture;
use nacos_client::NamingService;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{ServeError, Serving, accept, counted, operations, stop_signal};
use crate::{Discovery, Registrar, ShutdownReport, Step, StepOutcome, StepReport, Traffic};

/// An application about to be served, over HTTP/1.1 and HTTP/2 without TLS; made by [`Discovery::serve`].
///
/// Connections that were upgraded, to WebSocket for one, are the application's own: the shutdown does not wait for them.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use axum::{Router, routing::get};
/// use nacos_discovery::{Discovery, DiscoveryConfig};
///
/// let app = Router::new().route("/orders", get(|| async { "no orders" }));
/// let discovery = Discovery::new(DiscoveryConfig::from_file("application.yml")?)?;
/// let report = discovery.serve(app).operations_at("/actuator").run().await?; // until SIGTERM or Ctrl-C
/// println!("{report}");
/// # Ok(()) }
/// ```
#[must_use = "nothing is served until `run` or `start`"]
pub struct Serve {
    discovery: Discovery,
    app: Router,
    address: SocketAddr,
    listener: Option<TcpListener>,
    ready: Option<BoxFuture<'static, ()>>,
    stop: BoxFuture<'static, io::Result<()>>,
    operations: Option<String>,
    registrar: Registrar,
}

impl Discovery {
    /// Serves `app`: binds, registers, serves, and leaves in the right order. It listens on `server.address` and
    /// `server.port`.
    pub fn serve(&self, app: Router) -> Serve {
        Serve {
            discovery: self.clone(),
            app,
            address: self.config().listen().socket_addr(),
            listener: None,
            ready: None,
            stop: Box::pin(stop_signal()),
            operations: None,
            registrar: self.registrar(),
        }
    }
}

impl Serve {
    /// Listens on another address than the configured one; port 0 takes a free one.
    pub const fn listen_on(mut self, address: SocketAddr) -> Self {
        self.address = address;
        self
    }

    /// Listens on a listener that is bound already.
    pub fn listener(mut self, listener: TcpListener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// Registers only once `ready` has ended. Requests are answered before that already.
    pub fn ready_when<T>(mut self, ready: impl Future<Output = T> + Send + 'static) -> Self {
        self.ready = Some(Box::pin(async move { drop(ready.await) }));
        self
    }

    /// Lets [`Serve::run`] end when `stop` does, instead of at SIGTERM or Ctrl-C.
    pub fn stop_on<T>(mut self, stop: impl Future<Output = T> + Send + 'static) -> Self {
        self.stop = Box::pin(async move {
            drop(stop.await);
            Ok(())
        });
        self
    }

    /// Adds the routes of [`operations()`] below `path`, such as `/actuator`. They take precedence over those of the
    /// application, and are not counted as its traffic.
    pub fn operations_at(mut self, path: impl Into<String>) -> Self {
        self.operations = Some(path.into());
        self
    }

    /// Changes the registrar: what is registered, and the plan of the shutdown. How to drain is set by the server itself.
    pub fn registrar(mut self, change: impl FnOnce(Registrar) -> Registrar) -> Self {
        self.registrar = change(self.registrar);
        self
    }

    /// Binds, serves, waits until it is ready, and registers. The caller ends it with [`Serving::shutdown`].
    ///
    /// # Errors
    /// [`ServeError`]; then nothing is served and nothing registered.
    ///
    /// # Cancel safety
    /// Dropping the future ends everything that was begun.
    pub async fn start(self) -> Result<Serving, ServeError> {
        let Self { discovery, app, address, listener, ready, stop: _, operations: path, registrar } = self;
        let readiness = registrar.readiness().clone();
        let traffic = Traffic::new();
        let mut app = counted(app, traffic.clone());
        if let Some(path) = path {
            let operations = operations(&discovery, &readiness);
            app = Router::new().nest(checked(&path)?, operations).fallback_service(app);
        }
        let listener = match listener {
            Some(listener) => listener,
            None => TcpListener::bind(address).await.map_err(|source| ServeError::Bind { address, source })?,
        };
        let bound = listener.local_addr().map_err(ServeError::Listener)?;
        let stop = CancellationToken::new();
        // Ends by the drain of the shutdown, or with the plan that owns it.
        let serve = accept::serve(listener, accept::Application { app, readiness }, stop.clone());
        let serving = AbortOnDropHandle::new(tokio::spawn(serve));
        tracing::info!(address = %bound, "listening");
        if let Some(ready) = ready {
            ready.await;
        }
        let drain = move || async move {
            stop.cancel();
            drop(serving.await);
        };
        let registrar = registrar.plan(|plan| plan.traffic(traffic).drain(drain));
        Ok(Serving::new(bound, registrar.register(bound).await?))
    }

    /// Serves until SIGTERM, Ctrl-C, or what [`Serve::stop_on`] names, then leaves. A stop before it is registered cuts it off
    /// and closes the client.
    ///
    /// # Errors
    /// [`ServeError`]; then nothing is served and nothing registered.
    ///
    /// # Cancel safety
    /// Dropping the future ends everything at once.
    pub async fn run(mut self) -> Result<ShutdownReport, ServeError> {
        let mut stop = std::mem::replace(&mut self.stop, Box::pin(std::future::pending()));
        let client = self.registrar.client_to_close();
        let serving = tokio::select! {
            // First, so that a signal that comes during the start is not lost.
            biased;
            stopped = &mut stop => {
                stopped.map_err(ServeError::Signal)?;
                return Ok(close(client).await);
            }
            started = self.start() => started?,
        };
        stop.await.map_err(ServeError::Signal)?;
        Ok(serving.shutdown().await)
    }
}

/// All there is to a shutdown before anything is registered. A registration under way is taken back with the client.
async fn close(client: Option<(NamingService, Duration)>) -> ShutdownReport {
    let begin = Instant::now();
    let outcome = match client {
        Some((nacos, limit)) if nacos.shutdown(limit).await.clean => StepOutcome::Done,
        Some(_) => StepOutcome::Overdue,
        None => StepOutcome::Skipped,
    };
    ShutdownReport { steps: vec![StepReport { step: Step::Close, outcome, took: begin.elapsed() }] }
}

/// axum panics on a path that it cannot use.
fn checked(path: &str) -> Result<&str, ServeError> {
    let plain = |segment: &str| {
        !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    match path.strip_prefix('/') {
        Some(rest) if rest.split('/').all(plain) => Ok(path),
        _ => Err(ServeError::OperationsPath(path.to_owned())),
    }
}

impl fmt::Debug for Serve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve")
            .field("address", &self.address)
            .field("operations", &self.operations)
            .field("registrar", &self.registrar)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_paths_are_taken() {
        for good in ["/actuator", "/internal/ops-1", "/.well-known"] {
            assert!(checked(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "actuator", "/a/", "//a", "/{id}", "/a*", "/ä", "/a b"] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }
}
