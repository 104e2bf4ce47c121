use http::header::HOST;
use http::{Request, Version};
use tracing::{Level, Span, trace_span};

use super::observe::{Completed, Observer};
use super::rewrite::{add, rewrite};
use super::running::Running;
use super::target::Form;
use super::{BadTarget, BalanceError, hash_key};
use crate::route::RequestHead;
use crate::{Downgrade, Endpoints, NoInstance, PickContext, Picked, RouteTaken, Tried};

/// What is known of a request for a service beside itself. The request stays where it is: it is large, and moving it would
/// cost more than most of what is done with it.
#[derive(Debug)]
pub(super) struct Aimed {
    pub(super) form: Form,
    pub(super) observer: Observer,
    pub(super) attempt: u32,
    pub(super) writes_host: bool,
}

impl Aimed {
    /// Picks an instance and turns the request into one to it. It has to be sent at once: nobody may be waited for
    /// meanwhile, so that no list can come that this request would have to know of.
    pub(super) fn pick_target<B>(
        mut self,
        request: &mut Request<B>,
        endpoints: &Endpoints,
    ) -> Result<Running, BalanceError> {
        let mut route = None;
        let picked = self.pick(request, endpoints, &mut route);
        if let Some(route) = &route {
            self.observer.routed(route);
        }
        let picked = match picked {
            Ok(picked) => picked,
            Err(error) => return Err(self.fail(error)),
        };
        let span = self.span(endpoints, &picked, route.as_ref());
        rewrite(request, self.form, picked.target(), endpoints);
        // HTTP/2 says it otherwise.
        if self.writes_host && request.version() != Version::HTTP_2 {
            add(request, HOST, picked.endpoint().host().cloned());
        }
        self.observer.selected(picked.endpoint());
        Ok(Running::new(picked, self.observer, span, endpoints.settings().completion()))
    }

    /// Ends it before an instance was picked.
    pub(super) fn fail(self, error: impl Into<BalanceError>) -> BalanceError {
        let error = error.into();
        self.observer.complete(|_| Completed::Discard { error: &error });
        error
    }

    /// `route` is filled only where somebody wants to know: that allocates.
    fn pick<B>(
        &self,
        request: &Request<B>,
        endpoints: &Endpoints,
        route: &mut Option<RouteTaken>,
    ) -> Result<Picked, BalanceError> {
        let rules = endpoints.settings().requests();
        let mut cx = PickContext::new().for_request(RequestHead::from(request));
        if self.observer.is_heard() || tracing::enabled!(Level::TRACE) {
            cx = cx.telling(route);
        }
        if let Some(key) = hash_key::of_request(&rules.hash_on, request) {
            cx = cx.hashed_by(key);
        }
        let tls = self.form.needs_tls() && rules.downgrade == Downgrade::Never;
        if tls {
            cx = cx.tls_only();
        }
        let Some(tried) = request.extensions().get::<Tried>() else {
            return endpoints.pick(&mut cx).map_err(|error| none(endpoints, error, tls));
        };
        let picked = tried.with_nodes(|nodes| endpoints.pick(&mut cx.drawn(tried.draw()).without(nodes)));
        let picked = picked.map_err(|error| none(endpoints, error, tls))?;
        tried.add(picked.endpoint());
        Ok(picked)
    }

    fn span(&self, endpoints: &Endpoints, picked: &Picked, route: Option<&RouteTaken>) -> Span {
        let span = trace_span!(
            "balance",
            service = %endpoints.service(),
            instance = %picked.target().authority,
            attempt = self.attempt,
            rule = tracing::field::Empty,
            outcome = tracing::field::Empty,
        );
        if let Some(rule) = route.and_then(RouteTaken::rule) {
            span.record("rule", tracing::field::display(rule));
        }
        span
    }
}

/// Why there is none: for a request for TLS it may be the reason that nobody has it.
#[cold]
fn none(endpoints: &Endpoints, error: NoInstance, tls: bool) -> BalanceError {
    let all = if tls { endpoints.all() } else { Vec::new() };
    let is_plain = |target: &crate::Target| target.scheme != http::uri::Scheme::HTTPS;
    if !all.is_empty() && all.iter().all(|endpoint| is_plain(endpoint.target())) {
        return BadTarget::NotSecure { service: endpoints.service().clone() }.into();
    }
    error.into()
}
