use std::sync::Arc;

use http::{HeaderName, HeaderValue};

use super::Scoped;
use super::current;

/// The headers of an incoming request that go on with the calls made for it. Cheap to clone.
///
/// [`super::Incoming`] puts it among the extensions of the request, and around its handler. Where there is no request, as for a
/// message out of a queue, [`super::Propagation::of`] makes it of any headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Propagated {
    // `None` without any, which most requests are: nothing is allocated for them.
    headers: Option<Arc<[(HeaderName, HeaderValue)]>>,
}

impl Propagated {
    pub(super) fn new(headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        Self { headers: (!headers.is_empty()).then(|| headers.into()) }
    }

    /// Those of the request that is being handled, as far as this task knows one; else none.
    #[must_use]
    pub fn current() -> Self {
        current::get()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.headers.is_none()
    }

    /// The first value of a header, in which the case of letters does not matter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&HeaderValue> {
        self.iter().find(|(header, _)| header.as_str().eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All of them. A header with several values has several entries, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.headers.iter().flat_map(|headers| headers.iter()).map(|(name, value)| (name, value))
    }

    /// Runs a future with these as the current ones, whatever task it is polled by: for work that is spawned, or for work
    /// without an incoming request.
    ///
    /// # Examples
    ///
    /// ```
    /// # async fn example() {
    /// use nacos_discovery::propagate::Propagated;
    ///
    /// let work = async { /* calls other services */ };
    /// tokio::spawn(Propagated::current().scope(work));
    /// # }
    /// ```
    pub fn scope<F: Future>(self, future: F) -> Scoped<F> {
        Scoped::new(self, future)
    }
}
