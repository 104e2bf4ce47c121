use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use http::{Method, Request, Uri};
use nacos_client::ServiceKey;

use super::destination::shown;
use super::{Destination, Form, Named, ServiceRef};
use crate::BadTarget;

type Predicate = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// How a layer tells which service a request is for.
#[derive(Clone, Default)]
pub(in crate::balance) struct Addressing {
    /// The only service of the layer, if it has but one.
    bound: Option<ServiceRef>,
    /// Services that have another name in URIs of every scheme.
    aliases: HashMap<String, ServiceRef>,
    /// Hosts of `http` URIs that are names of services, as they were given.
    hosts: HashMap<String, ServiceRef>,
    /// The keys of the two above in small letters, for a host that stands in neither as it is.
    folded: HashMap<String, ServiceRef>,
    predicate: Option<Predicate>,
}

impl Addressing {
    pub(in crate::balance) fn bound(service: ServiceRef) -> Self {
        Self { bound: Some(service), ..Self::default() }
    }

    pub(in crate::balance) fn add_alias(&mut self, host: &str, service: ServiceRef) {
        self.folded.insert(host.to_ascii_lowercase(), service.clone());
        self.aliases.insert(host.to_owned(), service);
    }

    pub(in crate::balance) fn add_host(&mut self, name: &str) {
        let service = ServiceRef::from(name);
        self.folded.entry(name.to_ascii_lowercase()).or_insert_with(|| service.clone());
        self.hosts.insert(name.to_owned(), service);
    }

    pub(in crate::balance) fn set_predicate(&mut self, predicate: Predicate) {
        self.predicate = Some(predicate);
    }

    /// Reads the request; nothing is allocated for one that can be sent.
    pub(in crate::balance) fn destination<'a, B>(
        &'a self,
        request: &'a Request<B>,
    ) -> Result<Destination<'a>, BadTarget> {
        let uri = request.uri();
        let place = Place::of(uri);
        let service = match request.extensions().get::<ServiceKey>() {
            Some(key) => Some(Named::Key(key)),
            None => self.named_by(uri, place.host)?,
        };
        let Some(service) = service else { return Ok(Destination::Elsewhere) };
        // It would be lost with the authority that it belongs to.
        if place.has_user_info {
            return Err(BadTarget::UserInfo { uri: shown(uri) });
        }
        if request.method() == Method::CONNECT && uri.scheme().is_none() {
            return Err(BadTarget::Connect);
        }
        let Some(form) = Form::of(uri) else {
            return Err(BadTarget::Scheme { scheme: uri.scheme_str().unwrap_or_default().to_owned() });
        };
        Ok(Destination::Service(service, form))
    }

    /// The service that the URI names, or the only one.
    fn named_by<'a>(&'a self, uri: &Uri, host: &'a str) -> Result<Option<Named<'a>>, BadTarget> {
        let is_lb = is_lb(uri);
        if host.is_empty() && (is_lb || self.bound.is_none()) {
            // Nobody could send it anywhere: it says neither a service nor a host.
            return Err(BadTarget::NoService { uri: shown(uri) });
        }
        if is_lb {
            return Ok(Some(self.aliases.get(host).map_or(Named::Name(host), ServiceRef::named)));
        }
        Ok(self.bound.as_ref().map(ServiceRef::named).or_else(|| self.known(host)))
    }

    /// The service that a host stands for. Letters of hosts may be large or small, and `url::Url` makes them small, so a
    /// host that was given exactly so counts more than one that differs in that.
    fn known<'a>(&'a self, host: &'a str) -> Option<Named<'a>> {
        let exact = self.aliases.get(host).or_else(|| self.hosts.get(host));
        let known = exact.or_else(|| {
            let find = |folded: Cow<'_, str>| self.folded.get(&*folded);
            if self.folded.is_empty() { None } else { find(small_letters(host)) }
        });
        known.map(ServiceRef::named).or_else(|| {
            let is_name = self.predicate.as_ref().is_some_and(|predicate| predicate(host));
            is_name.then_some(Named::Name(host))
        })
    }
}

/// What counts of the authority of a URI.
struct Place<'a> {
    /// Empty if there is none.
    host: &'a str,
    has_user_info: bool,
}

impl<'a> Place<'a> {
    fn of(uri: &'a Uri) -> Self {
        let Some(authority) = uri.authority() else { return Self { host: "", has_user_info: false } };
        let text = authority.as_str();
        // The name of a service is all of it: one look at each letter is enough then.
        if text.bytes().any(|byte| matches!(byte, b'@' | b':')) {
            Self { host: authority.host(), has_user_info: text.contains('@') }
        } else {
            Self { host: text, has_user_info: false }
        }
    }
}

fn is_lb(uri: &Uri) -> bool {
    uri.scheme_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("lb"))
}

fn small_letters(host: &str) -> Cow<'_, str> {
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}

impl fmt::Debug for Addressing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Addressing")
            .field("bound", &self.bound)
            .field("aliases", &self.aliases)
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}
