use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use http::{Request, StatusCode};
use nacos_client::ServiceKey;
use tokio::time::Instant;

use super::{CallInfo, Completed, Hooks};
use crate::{Endpoint, RouteTaken};

/// The hooks of a layer, in the order in which they were given.
pub(crate) type HookList = Arc<[Arc<dyn Hooks>]>;

/// Tells the hooks of one call: of its end exactly once, for dropping this is the caller's giving up. Without hooks it is
/// nothing and costs nothing.
pub(crate) struct Observer(Option<Box<Observed>>);

struct Observed {
    hooks: HookList,
    call: CallInfo,
    started: Instant,
    status: Option<StatusCode>,
}

impl Observer {
    /// The call begins.
    pub(crate) fn start<B>(hooks: &HookList, service: &ServiceKey, request: &Request<B>, attempt: u32) -> Self {
        if hooks.is_empty() {
            return Self(None);
        }
        let path = request.uri().path_and_query().cloned();
        let path = path.unwrap_or_else(|| http::uri::PathAndQuery::from_static("/"));
        let call = CallInfo::new(service.clone(), request.method().clone(), path, attempt);
        let observed = Observed { hooks: Arc::clone(hooks), call, started: Instant::now(), status: None };
        observed.tell(|hooks, call| hooks.start(call));
        Self(Some(Box::new(observed)))
    }

    /// Whether somebody is told.
    pub(crate) const fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// The request was routed, be it to nobody.
    pub(crate) fn routed(&mut self, route: &RouteTaken) {
        if let Some(observed) = &mut self.0 {
            observed.call.route_by(route.clone());
        }
    }

    /// An instance was chosen.
    pub(crate) fn selected(&mut self, endpoint: &Arc<Endpoint>) {
        if let Some(observed) = &mut self.0 {
            observed.call.select(Arc::clone(endpoint));
            observed.tell(|hooks, call| hooks.selected(call, endpoint.instance()));
        }
    }

    /// The head of the answer is there.
    pub(crate) fn answered(&mut self, status: StatusCode) {
        if let Some(observed) = &mut self.0 {
            observed.status = Some(status);
        }
    }

    /// The call has ended: `completed` makes of the answer's status what the hooks are told.
    pub(crate) fn complete<'a>(mut self, completed: impl FnOnce(Option<StatusCode>) -> Completed<'a>) {
        if let Some(observed) = self.0.take() {
            observed.complete(&completed(observed.status));
        }
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        if let Some(observed) = self.0.take() {
            observed.complete(&Completed::Cancelled { status: observed.status });
        }
    }
}

impl Observed {
    fn complete(&self, completed: &Completed<'_>) {
        let took = self.started.elapsed();
        self.tell(|hooks, call| hooks.complete(call, completed, took));
    }

    fn tell(&self, tell: impl Fn(&dyn Hooks, &CallInfo)) {
        for hooks in &*self.hooks {
            // What a panic leaves half done is the hooks' own: nothing of ours is changed in there.
            if catch_unwind(AssertUnwindSafe(|| tell(&**hooks, &self.call))).is_err() {
                tracing::error!(?hooks, service = %self.call.service(), "hooks of a call panicked");
            }
        }
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observer").field(&self.0.as_ref().map(|observed| &observed.call)).finish()
    }
}
