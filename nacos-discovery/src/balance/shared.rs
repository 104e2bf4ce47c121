use std::sync::Arc;

use http::Request;
use nacos_client::ServiceKey;
use papaya::Guard;

use super::BalanceError;
use super::aimed::Aimed;
use super::observe::{Completed, HookList, Observer};
use super::outcome::Judge;
use super::target::{Addressing, Destination, Named};
use crate::propagate::Propagation;
use crate::{Attempt, Directory, Endpoints, Tried};

/// What all clones of a layer, and all services made by it, have in common.
#[derive(Debug, Clone)]
pub(super) struct Shared {
    pub(super) directory: Directory,
    /// `None`: that of the directory's settings.
    pub(super) group: Option<String>,
    pub(super) addressing: Addressing,
    pub(super) hooks: HookList,
    pub(super) judge: Judge,
    /// What goes on from the request that is being handled.
    pub(super) propagation: Option<Propagation>,
    /// Whether the `Host` header of an instance is written here, not by the client below.
    pub(super) writes_host: bool,
}

impl Shared {
    /// What a request is: `None` if it is for no service. The endpoints are there as long as the guard of the directory.
    pub(super) fn aim<'g, B>(
        &'g self,
        request: &mut Request<B>,
        guard: &'g impl Guard,
    ) -> Result<Option<(Aimed, &'g Arc<Endpoints>)>, BalanceError> {
        let Destination::Service(named, form) = self.addressing.destination(request)? else {
            return Ok(None);
        };
        let attempt = attempt(request);
        let (group, name) = match named {
            Named::Name(name) => (self.group(), name),
            Named::Key(key) => (key.group(), key.name()),
        };
        let endpoints = match self.directory.look_up(group, name, guard) {
            Ok(endpoints) => endpoints,
            Err(error) => {
                let error = error.into();
                let observer = Observer::start(&self.hooks, &ServiceKey::new(group, name), request, attempt);
                observer.complete(|_| Completed::Discard { error: &error });
                return Err(error);
            }
        };
        // Before anything is chosen by them.
        if let Some(propagation) = &self.propagation {
            propagation.add_to(request);
        }
        let observer = Observer::start(&self.hooks, endpoints.service(), request, attempt);
        let writes_host = self.writes_host;
        Ok(Some((Aimed { form, observer, attempt, writes_host }, endpoints)))
    }

    pub(super) fn is_for_service<B>(&self, request: &Request<B>) -> bool {
        matches!(self.addressing.destination(request), Ok(Destination::Service(..)))
    }

    fn group(&self) -> &str {
        self.group.as_deref().unwrap_or_else(|| self.directory.settings().group())
    }

    /// The instances of the service that a request is for, `None` if it is for none or cannot be sent.
    pub(super) fn endpoints_of<B>(&self, request: &Request<B>) -> Option<Arc<Endpoints>> {
        let (group, name) = match self.addressing.destination(request) {
            Ok(Destination::Service(Named::Name(name), _)) => (self.group(), name),
            Ok(Destination::Service(Named::Key(key), _)) => (key.group(), key.name()),
            Ok(Destination::Elsewhere) | Err(_) => return None,
        };
        self.directory.endpoints_named(group, name).ok()
    }
}

/// Which attempt of the request it is: as the layer that repeats it says, or by the instances it was sent to before.
fn attempt<B>(request: &Request<B>) -> u32 {
    let extensions = request.extensions();
    let before = || extensions.get::<Tried>().map_or(0, Tried::len);
    let counted = || u32::try_from(before()).unwrap_or(u32::MAX).saturating_add(1);
    extensions.get::<Attempt>().copied().map_or_else(counted, Attempt::number)
}
