use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::ArcSwap;
use futures_util::Stream;
use nacos_client::ServiceKey;
use papaya::Guard;
use tokio::time::Instant;

use super::discover::{Change, discover};
use super::endpoints::Rerouting;
use super::following::Following;
use super::named::Named;
use super::route_book::RouteBook;
use super::updater::Updater;
use super::{Endpoints, RoutesFollower, Source};
use crate::eject::EjectionSender;
use crate::route::{RouteDocument, RouteError};
use crate::settings::BalanceSettings;
use crate::{Discovery, DiscoveryError};

/// Who can take requests, for every service that was asked for. Cheap to clone; all clones share one set of services.
///
/// The first question about a service begins to watch it; one task per service then keeps its tables up to date, whether
/// requests come or not. A service that nobody asks for any longer is let go after its idle time.
#[derive(Clone)]
pub struct Directory {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    source: Arc<dyn Source>,
    settings: BalanceSettings,
    services: papaya::HashMap<ServiceKey, Arc<Endpoints>>,
    /// Held while a service is added, so that it is watched once, and while rules are replaced, so that it has the new ones.
    made: Mutex<Made>,
    /// Written under the lock of `made`.
    book: ArcSwap<RouteBook>,
    followers: Mutex<Vec<Weak<Following>>>,
    ejections: EjectionSender,
}

/// All endpoints that were made and are used: also those that the map has let go of while somebody holds them, who must not be
/// routed by rules of that time.
#[derive(Debug, Default)]
struct Made {
    endpoints: Vec<Weak<Endpoints>>,
}

impl Directory {
    /// With lists from `source`.
    #[must_use]
    pub fn new(source: Arc<dyn Source>, settings: BalanceSettings) -> Self {
        let book = ArcSwap::from_pointee(RouteBook::of_settings(&settings));
        Self {
            shared: Arc::new(Shared {
                source,
                settings,
                services: papaya::HashMap::new(),
                made: Mutex::default(),
                book,
                followers: Mutex::default(),
                ejections: EjectionSender::new(),
            }),
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &BalanceSettings {
        &self.shared.settings
    }

    /// The instances of a service; the first time it begins to watch the service. Needs a tokio runtime. Finding a service
    /// that is watched takes no lock.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    pub fn endpoints(&self, service: &ServiceKey) -> Result<Arc<Endpoints>, DiscoveryError> {
        self.endpoints_named(service.group(), service.name())
    }

    /// The same by group and name; a blank group is the default one. Finding a service that is watched allocates nothing.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    pub fn endpoints_named(&self, group: &str, name: &str) -> Result<Arc<Endpoints>, DiscoveryError> {
        self.look_up(group, name, &self.guard()).map(Arc::clone)
    }

    /// The same for a moment. Counting a reference to endpoints for each call would make threads wait for one another.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    pub(crate) fn look_up<'g>(
        &'g self,
        group: &str,
        name: &str,
        guard: &'g impl Guard,
    ) -> Result<&'g Arc<Endpoints>, DiscoveryError> {
        let named = Named::new(group, name);
        match self.shared.find(&named, guard) {
            Some(endpoints) => Ok(endpoints),
            None => self.shared.add(&named, guard),
        }
    }

    /// As long as it is held, everything stays that was looked up with it.
    #[inline]
    pub(crate) fn guard(&self) -> impl Guard + use<'_> {
        self.shared.services.guard()
    }

    /// The services that are watched, sorted.
    #[must_use]
    pub fn services(&self) -> Vec<ServiceKey> {
        let mut services: Vec<_> = self.shared.services.pin().keys().cloned().collect();
        services.sort_unstable();
        services
    }

    /// The endpoints of a service if it is watched. Unlike [`Directory::endpoints`] it begins nothing, and does not count as
    /// a use.
    #[must_use]
    pub fn peek(&self, service: &ServiceKey) -> Option<Arc<Endpoints>> {
        self.shared.services.pin().get(service).cloned()
    }

    /// What happens to the endpoints that requests to a service prefer: first those there are, then every change. For
    /// balancers that own the connections themselves, like tower's `Balance`. It ends when the source is shut down.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    pub fn discover(
        &self,
        service: &ServiceKey,
    ) -> Result<impl Stream<Item = Change> + Send + Unpin + use<>, DiscoveryError> {
        self.endpoints(service).map(discover)
    }

    /// Routes requests by these rules, in the place of all rules before. They are in force when this returns: a call that
    /// begins later is routed by them, whatever it holds of the directory. Rules of services that nobody asks for yet count
    /// when somebody does.
    ///
    /// Tables are made before anything changes, on the caller's thread; only services whose rules are others than before get
    /// new ones. It must not be called by a [`crate::Filter`] or a [`crate::Policy`].
    ///
    /// # Errors
    /// If a rule cannot be used: then all rules before stay in force.
    pub fn set_routes(&self, document: RouteDocument) -> Result<(), RouteError> {
        let book = RouteBook::new(document, self.settings().group())?;
        let made = lock(&self.shared.made);
        let book = book.after(&self.shared.book.load());
        let all: Vec<_> = made.endpoints.iter().filter_map(Weak::upgrade).collect();
        // If code of the application panics here, nothing has happened.
        let reroutings: Vec<_> =
            all.iter().filter_map(|one| one.reroute(book.router(one.service()).cloned())).collect();
        self.shared.book.store(Arc::new(book));
        reroutings.into_iter().for_each(Rerouting::commit);
        drop(made);
        Ok(())
    }

    /// The rules that are in force.
    #[must_use]
    pub fn routes(&self) -> Arc<RouteDocument> {
        Arc::clone(self.shared.book.load().document())
    }

    /// Since when they are.
    pub(crate) fn routes_since(&self) -> Instant {
        self.shared.book.load().since()
    }

    /// Keeps the rules as the newest document of a stream says, in the place of those before, until the handle is dropped or the
    /// stream ends; then the rules stay as they are. What is wrong with a document, or goes wrong in the stream, is logged and
    /// told by the handle, and the rules before stay, too.
    ///
    /// # Errors
    /// Without a tokio runtime.
    pub fn follow_routes<S, E>(&self, documents: S) -> Result<RoutesFollower, DiscoveryError>
    where
        S: Stream<Item = Result<RouteDocument, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        let follower = RoutesFollower::spawn(self, documents)?;
        let mut followers = lock(&self.shared.followers);
        followers.retain(|one| one.strong_count() > 0);
        followers.push(follower.following());
        drop(followers);
        Ok(follower)
    }

    /// What the documents that are followed are in trouble with.
    pub(crate) fn routes_trouble(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        lock(&self.shared.followers).iter().filter_map(Weak::upgrade).find_map(|one| one.trouble())
    }

    pub(super) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn ejection_sender(&self) -> &EjectionSender {
        &self.shared.ejections
    }
}

impl Shared {
    pub(super) fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn find<'g>(&'g self, named: &Named<'_>, guard: &'g impl Guard) -> Option<&'g Arc<Endpoints>> {
        let endpoints = self.services.get(named, guard)?;
        endpoints.mark_used();
        Some(endpoints)
    }

    fn add<'g>(
        self: &'g Arc<Self>,
        named: &Named<'_>,
        guard: &'g impl Guard,
    ) -> Result<&'g Arc<Endpoints>, DiscoveryError> {
        let mut made = lock(&self.made);
        if let Some(endpoints) = self.find(named, guard) {
            return Ok(endpoints);
        }
        let service = named.key();
        let endpoints = Endpoints::telling(service.clone(), self.settings.service(&service), self.ejections.clone());
        let endpoints = Arc::new(endpoints);
        if let Some(rerouting) = endpoints.reroute(self.book.load().router(&service).cloned()) {
            rerouting.commit();
        }
        endpoints.kept_by(Updater::spawn(&endpoints, self)?);
        made.add(&endpoints);
        let endpoints = self.services.get_or_insert(service, endpoints, guard);
        drop(made);
        Ok(endpoints)
    }

    /// Forgets a service, unless it is another one of the same name. Whoever found it a moment before still has endpoints
    /// that are kept up to date: their task ends only when the last of them, the map's own included, is dropped.
    pub(super) fn let_go(&self, endpoints: &Arc<Endpoints>) {
        let guard = self.services.guard();
        let same = |_: &ServiceKey, there: &Arc<Endpoints>| Arc::ptr_eq(there, endpoints);
        let gone = self.services.remove_if(endpoints.service(), same, &guard).is_ok_and(|gone| gone.is_some());
        if gone {
            tracing::debug!(service = %endpoints.service(), "idle, so it is not watched any longer");
            // The map drops it as soon as no look-up is under way, not some time later.
            guard.flush();
        }
    }
}

impl Made {
    fn add(&mut self, endpoints: &Arc<Endpoints>) {
        self.endpoints.retain(|one| one.strong_count() > 0);
        self.endpoints.push(Arc::downgrade(endpoints));
    }
}

impl From<&Self> for Directory {
    fn from(directory: &Self) -> Self {
        directory.clone()
    }
}

impl From<&Discovery> for Directory {
    fn from(discovery: &Discovery) -> Self {
        discovery.directory().clone()
    }
}

impl fmt::Debug for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory").field("source", &self.shared.source).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
