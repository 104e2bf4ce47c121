use std::fmt;
use std::sync::{Arc, LazyLock};

use http::Request;
use http::uri::Scheme;

use super::{Member, RouteTaken};
use crate::node::Node;
use crate::route::RequestHead;

/// What one pick depends on beside the table: randomness, the request's hash key, what it is routed by, and the instances
/// that it must not use.
pub struct PickContext<'a> {
    random: Random<'a>,
    hash_key: Option<u64>,
    head: Option<RequestHead<'a>>,
    /// What was drawn for the request before, and what is drawn in the pick that is under way.
    given: Option<u64>,
    draw: Option<u64>,
    /// Who wants to know how the request was routed.
    told: Option<&'a mut Option<RouteTaken>>,
    tried: &'a [Arc<Node>],
    avoid: Avoid,
    only: Only,
}

enum Random<'a> {
    Thread,
    Seeded(&'a mut fastrand::Rng),
}

/// A request that says nothing.
static NOTHING: LazyLock<Request<()>> = LazyLock::new(Request::default);

/// Which members can serve the request at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Only {
    Any,
    /// Those that speak TLS.
    Tls,
}

/// Which members a table passes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Avoid {
    /// Nothing: no instance is ejected, and none was tried.
    Nothing,
    /// Instances that are ejected, and those that were tried. One whose pause has ended by `probing`, a time of the ejector,
    /// is to be probed; at 0 none is.
    Unusable { probing: u64 },
}

impl<'a> PickContext<'a> {
    /// With the calling thread's own randomness, and nothing to avoid.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            random: Random::Thread,
            hash_key: None,
            head: None,
            given: None,
            draw: None,
            told: None,
            tried: &[],
            avoid: Avoid::Nothing,
            only: Only::Any,
        }
    }

    /// Draws from `rng`, so that a seed repeats the sequence.
    #[must_use]
    pub const fn seeded(mut self, rng: &'a mut fastrand::Rng) -> Self {
        self.random = Random::Seeded(rng);
        self
    }

    /// The key by which consistent hashing chooses.
    #[must_use]
    pub const fn hashed_by(mut self, key: u64) -> Self {
        self.hash_key = Some(key);
        self
    }

    /// The request, which is routed by what it says where the service has rules for that. Without it the rules see a `GET`
    /// of `/` that says nothing more.
    #[must_use]
    pub const fn for_request(mut self, head: RequestHead<'a>) -> Self {
        self.head = Some(head);
        self
    }

    /// What was drawn for the request before.
    pub(crate) const fn drawn(mut self, draw: u64) -> Self {
        self.given = Some(draw);
        self.draw = Some(draw);
        self
    }

    /// Writes down how the request is routed, where it is.
    pub(crate) const fn telling(mut self, told: &'a mut Option<RouteTaken>) -> Self {
        self.told = Some(told);
        self
    }

    /// The request is routed by this rule. Allocates only if somebody wants to know.
    #[inline]
    pub(crate) fn tell(&mut self, rule: Option<&str>, missed: bool) {
        if let Some(told) = &mut self.told {
            **told = Some(RouteTaken::new(rule, missed));
        }
    }

    pub(crate) const fn without(mut self, tried: &'a [Arc<Node>]) -> Self {
        self.tried = tried;
        self
    }

    /// Takes only members that speak TLS.
    pub(crate) const fn tls_only(mut self) -> Self {
        self.only = Only::Tls;
        self
    }

    pub(crate) const fn avoiding(&mut self, avoid: Avoid) {
        self.avoid = avoid;
    }

    pub(crate) const fn tried(&self) -> &'a [Arc<Node>] {
        self.tried
    }

    /// 64 uniform random bits.
    #[inline]
    pub fn random(&mut self) -> u64 {
        match &mut self.random {
            Random::Thread => fastrand::u64(..),
            Random::Seeded(rng) => rng.u64(..),
        }
    }

    /// What rules see of the request.
    pub(crate) fn head(&self) -> RequestHead<'a> {
        self.head.unwrap_or_else(|| RequestHead::from(&*NOTHING))
    }

    /// Another request begins to be routed, unless somebody said what was drawn for it.
    pub(crate) const fn begin(&mut self) {
        self.draw = self.given;
    }

    /// What decides where a rule spreads requests by shares: the same for every attempt, whatever the rules are by then.
    pub(crate) fn draw(&mut self) -> u64 {
        if let Some(draw) = self.draw {
            return draw;
        }
        let draw = self.random();
        self.draw = Some(draw);
        draw
    }

    /// The key of the request, where it has one.
    #[must_use]
    pub const fn hash_key(&self) -> Option<u64> {
        self.hash_key
    }

    /// Whether every member may be picked: nothing needs to be asked one by one.
    #[must_use]
    #[inline]
    pub fn takes_any(&self) -> bool {
        self.avoid == Avoid::Nothing && self.only == Only::Any
    }

    /// Whether the member may be picked: it is not ejected, and the request was not sent there before.
    #[must_use]
    pub fn takes(&self, member: &Member) -> bool {
        let node = member.endpoint().node();
        let fits = self.only == Only::Any || member.endpoint().target().scheme == Scheme::HTTPS;
        fits && match self.avoid {
            Avoid::Nothing => true,
            Avoid::Unusable { probing } => {
                node.is_usable(probing) && !self.tried.iter().any(|tried| Arc::ptr_eq(tried, node))
            }
        }
    }
}

impl Default for PickContext<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PickContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PickContext").field("hash_key", &self.hash_key).finish_non_exhaustive()
    }
}
