use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue, Request};

use super::{IncomingLayer, OutgoingLayer, Propagated, PropagationError, reserved};

/// As many as conditions of routes look at.
const MAX_BYTES: usize = 256;

/// Which headers go on from an incoming request to the calls that are made for it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Propagation {
    headers: Arc<[Header]>,
    max_bytes: usize,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug, Clone)]
struct Header {
    name: HeaderName,
    is_credential: bool,
}

impl Propagation {
    /// The headers of these names, which are checked. The case of letters does not matter; a name given twice counts once.
    ///
    /// # Errors
    /// [`PropagationError`]: no name of a header, or one that must not be passed on. Headers of the connection and those that
    /// describe one message (`content-*`, `if-*`, `grpc-*` and the like) never are; `authorization` and `cookie` only by
    /// [`Propagation::with_credentials`].
    ///
    /// # Examples
    ///
    /// ```
    /// use nacos_discovery::propagate::Propagation;
    ///
    /// let labels = Propagation::headers(["x-version", "x-tenant"])?;
    /// assert!(Propagation::headers(["x version"]).is_err());
    /// # drop(labels);
    /// # Ok::<_, nacos_discovery::propagate::PropagationError>(())
    /// ```
    pub fn headers<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Result<Self, PropagationError> {
        let none = Self { headers: Arc::default(), max_bytes: MAX_BYTES, dropped: Arc::default() };
        none.with(names, false, reserved::plain)
    }

    /// Headers that hold credentials, such as `authorization`, too: every service that is called can act as the caller then.
    /// Their values are marked as sensitive, so that no `Debug` shows them and HTTP/2 keeps them out of its tables. The client below
    /// should follow no redirects then: it would take them along.
    ///
    /// # Errors
    /// [`PropagationError`], as for [`Propagation::headers`].
    pub fn with_credentials<N: AsRef<str>>(self, names: impl IntoIterator<Item = N>) -> Result<Self, PropagationError> {
        self.with(names, true, reserved::checked)
    }

    /// How long a value may be, in bytes; default 256. Conditions of routes look at no longer ones. A header with a longer
    /// value is not passed on.
    #[must_use]
    pub const fn with_max_bytes(mut self, max: usize) -> Self {
        self.max_bytes = max;
        self
    }

    fn with<N: AsRef<str>>(
        mut self,
        names: impl IntoIterator<Item = N>,
        is_credential: bool,
        check: impl Fn(&str) -> Result<HeaderName, PropagationError>,
    ) -> Result<Self, PropagationError> {
        let mut headers = self.headers.to_vec();
        for name in names {
            let name = check(name.as_ref())?;
            headers.retain(|header| header.name != name);
            headers.push(Header { name, is_credential });
        }
        self.headers = headers.into();
        Ok(self)
    }

    /// For servers: keeps the headers of each request. Around an axum application, `Router::layer` takes it.
    #[must_use]
    pub fn incoming(&self) -> IncomingLayer {
        IncomingLayer::new(self.clone())
    }

    /// For clients: adds the headers to each request, or with [`OutgoingLayer::above`] to those for services. A balancer that
    /// [propagates](crate::BalanceLayer::propagating) needs no such layer.
    #[must_use]
    pub fn outgoing(&self) -> OutgoingLayer {
        OutgoingLayer::new(self.clone())
    }

    /// What of these headers goes on: those named, as they came. One of which a value is too long, or has other than visible
    /// ASCII, spaces and tabs, is left out with all its values, as a route could be taken by another one of them.
    #[must_use]
    pub fn of(&self, headers: &HeaderMap) -> Propagated {
        let mut kept = Vec::new();
        for Header { name, is_credential } in &*self.headers {
            let values = headers.get_all(name);
            if let Some(unfit) = values.iter().find(|value| !self.takes(value)) {
                self.count_dropped(name, unfit.len());
                continue;
            }
            kept.extend(values.iter().map(|value| {
                let mut value = value.clone();
                value.set_sensitive(*is_credential || value.is_sensitive());
                (name.clone(), value)
            }));
        }
        Propagated::new(kept)
    }

    /// Adds to a request the named headers that it does not have: of the [`Propagated`] among its extensions, or of the
    /// [current](Propagated::current) one if it has no such extension. For clients that are no tower services.
    pub fn add_to<B>(&self, request: &mut Request<B>) {
        let propagated = match request.extensions().get::<Propagated>() {
            Some(own) => own.clone(),
            None => Propagated::current(),
        };
        if propagated.is_empty() {
            return;
        }
        for Header { name, .. } in &*self.headers {
            let mut values = propagated.iter().filter(|(header, _)| *header == name).map(|(_, value)| value);
            let Some(first) = values.next() else { continue };
            if let Entry::Vacant(vacant) = request.headers_mut().entry(name) {
                let mut entry = vacant.insert_entry(first.clone());
                values.for_each(|value| entry.append(value.clone()));
            }
        }
    }

    /// How many headers of incoming requests were left out because they are too long or hold other than visible ASCII, since
    /// this was made; all clones count together.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn takes(&self, value: &HeaderValue) -> bool {
        value.len() <= self.max_bytes && value.to_str().is_ok()
    }

    fn count_dropped(&self, header: &HeaderName, bytes: usize) {
        if self.dropped.fetch_add(1, Ordering::Relaxed) == 0 {
            let max = self.max_bytes;
            tracing::debug!(%header, bytes, max, "not passed on: too long, or not visible ASCII; told once, then counted");
        }
    }
}
