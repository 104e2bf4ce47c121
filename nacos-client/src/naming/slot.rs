//! The subscription of one service on the current connection, as a pure state machine.
//!
//! ```text
//!              wanted                 answered             check due, refresh
//!   nothing ──────────▶ Subscribe ──────────▶ subscribed ──────────────────▶ Query ─▶ subscribed
//!                                                 │ not wanted
//!                                                 └───────▶ Unsubscribe ─▶ nothing
//!   a new epoch: nothing is subscribed, whatever was under way
//! ```
//!
//! At most one call per service is in flight, so an unsubscription can never overtake a later subscription.
//!
//! On a connection whose lists are polled a query follows every answer, after the time the list may be kept.

use std::time::Duration;

use tokio::time::Instant;

use super::backoff::{Backoff, Waits};
use super::trouble::Trouble;
use crate::transport::{Epoch, Freshness};

/// Servers answer from views that lag up to 0.6 s, so a check asks after that.
const CHECK_DELAY: Duration = Duration::from_secs(1);
/// A request the server refuses for good is tried again this much later.
pub(crate) const REFUSED_RETRY: Duration = Duration::from_secs(30);
/// Reconciliations of many services are spread by this share of the interval in either direction.
const SPREAD: f64 = 0.2;
/// A polled list is asked for this share of its time earlier at most. Never later: servers of the 1.x line forget where to
/// push to exactly when that time is over.
const POLL_SPREAD: f64 = 0.2;
/// The time a polled list is kept if the server says none: only servers before 1.4 do so, about services they do not know
/// and do not push, and this is what later ones say there.
const DEFAULT_KEEP: Duration = Duration::from_secs(3);
const SHORTEST_KEEP: Duration = Duration::from_secs(1);
const LONGEST_KEEP: Duration = Duration::from_secs(60);
/// Two queries of a service are at least this far apart if datagrams ask for them, whoever sends how many.
const DOUBT_PAUSE: Duration = Duration::from_millis(100);

/// A call about one service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubCall {
    Subscribe,
    Unsubscribe,
    Query,
}

/// A call that is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SubFlight {
    pub(crate) call: SubCall,
    pub(crate) epoch: Epoch,
    /// The refreshes asked for when it was sent: its answer serves all of them.
    refresh: u64,
}

/// How a call ended.
#[derive(Debug)]
pub(crate) enum SubOutcome {
    Answered,
    /// The connection ended.
    LinkOver,
    /// Try again soon.
    Transient(Trouble),
    /// The server will not change its mind soon.
    Final(Trouble),
}

#[derive(Debug)]
pub(crate) struct SubSlot {
    wanted: bool,
    /// What the rest speaks of.
    epoch: Option<Epoch>,
    freshness: Freshness,
    subscribed: bool,
    flight: Option<SubFlight>,
    backoff: Backoff,
    trouble: Option<Trouble>,
    check_at: Option<Instant>,
    /// How long to wait after answers that said nothing of instances.
    unsaid: Backoff,
    reconcile: Option<Duration>,
    reconcile_at: Option<Instant>,
    /// How long a polled list is kept.
    keep: Duration,
    poll_at: Option<Instant>,
    /// When the last call was sent that a list answers.
    asked_at: Option<Instant>,
    refresh_asked: u64,
    refresh_served: u64,
    /// The refreshes asked for when a query failed.
    refresh_failed: u64,
}

impl SubSlot {
    /// Nothing wanted; `reconcile` is the interval of reconciliations.
    pub(crate) fn new(reconcile: Option<Duration>) -> Self {
        Self {
            wanted: false,
            epoch: None,
            freshness: Freshness::Pushed,
            subscribed: false,
            flight: None,
            backoff: Backoff::default(),
            trouble: None,
            check_at: None,
            unsaid: Backoff::new(Waits::Polls),
            reconcile,
            reconcile_at: None,
            keep: DEFAULT_KEEP,
            poll_at: None,
            asked_at: None,
            refresh_asked: 0,
            refresh_served: 0,
            refresh_failed: 0,
        }
    }

    pub(crate) const fn is_wanted(&self) -> bool {
        self.wanted
    }

    pub(crate) fn set_wanted(&mut self, wanted: bool) {
        if wanted && !self.wanted {
            // A new wish does not wait for the back-off of an earlier one.
            self.backoff.clear();
            self.trouble = None;
            if self.subscribed || self.flight.is_some() {
                // Its list was forgotten, and no push need follow: ask for it.
                self.refresh_asked += 1;
            }
        }
        self.wanted = wanted;
    }

    /// Nothing is wanted, known or under way.
    pub(crate) const fn is_idle(&self) -> bool {
        !self.wanted && !self.subscribed && self.flight.is_none()
    }

    /// Whether the connection `epoch` is still to answer, for the first time, whether it takes the subscription.
    pub(crate) fn is_moving(&self, epoch: Option<Epoch>) -> bool {
        self.wanted && (self.epoch != epoch || (!self.subscribed && self.trouble.is_none()))
    }

    pub(crate) const fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }

    /// Asks for a query 1 s from now; several merge into the first.
    pub(crate) fn check(&mut self, now: Instant) {
        self.check_at.get_or_insert(now + CHECK_DELAY);
    }

    /// An answer had no list of instances: the next query is 1 s away, after more such answers up to 60 s.
    pub(crate) fn said_nothing(&mut self, now: Instant) {
        let again = self.unsaid.next(now).max(now + CHECK_DELAY);
        self.check_at.get_or_insert(again);
        if self.is_polled() {
            self.poll_at = Some(again);
        }
    }

    /// An answer had a list.
    pub(crate) fn said_list(&mut self) {
        self.unsaid.clear();
    }

    /// Asks for a query at once, or a moment after the last one.
    pub(crate) fn check_at_once(&mut self, now: Instant) {
        let at = self.asked_at.map_or(now, |asked| now.max(asked + DOUBT_PAUSE));
        self.check_at = Some(self.check_at.map_or(at, |check| check.min(at)));
    }

    /// Whether the list is polled on the present connection.
    pub(crate) fn is_polled(&self) -> bool {
        self.freshness == Freshness::Polled
    }

    /// How long the server says the list may be kept, in milliseconds.
    pub(crate) fn keep(&mut self, millis: Option<i64>) {
        let millis = millis.and_then(|millis| u64::try_from(millis).ok()).filter(|millis| *millis > 0);
        self.keep = millis.map_or(DEFAULT_KEEP, Duration::from_millis).clamp(SHORTEST_KEEP, LONGEST_KEEP);
    }

    /// Asks for a query now and returns a number to wait for with [`SubSlot::refreshed`].
    pub(crate) fn refresh(&mut self) -> u64 {
        self.refresh_asked += 1;
        self.refresh_asked
    }

    /// Whether the list is as new as refresh number `ticket` asked for; the error if its query failed.
    pub(crate) fn refreshed(&self, ticket: u64) -> Option<Result<(), Trouble>> {
        if self.refresh_served >= ticket {
            return Some(Ok(()));
        }
        let trouble = self.trouble.as_ref().filter(|_| self.refresh_failed >= ticket);
        trouble.map(|trouble| Err(trouble.clone()))
    }

    /// The next call to send on `connection`. `decision_at` is when a query must decide about held instances.
    pub(crate) fn next(
        &mut self,
        connection: Option<(Epoch, Freshness)>,
        decision_at: Option<Instant>,
        now: Instant,
    ) -> Option<SubFlight> {
        if self.epoch != connection.map(|(epoch, _)| epoch) {
            self.turn_to(connection);
        }
        let (epoch, _) = connection?;
        if self.flight.is_some() || self.backoff.is_waiting(now) {
            return None;
        }
        let call = match (self.wanted, self.subscribed) {
            (true, false) => SubCall::Subscribe,
            (false, true) => SubCall::Unsubscribe,
            (true, true) if self.query_due(decision_at, now) => SubCall::Query,
            _ => return None,
        };
        if call == SubCall::Query {
            self.check_at = None;
            self.plan_query(now);
        }
        self.asked_at = Some(now);
        let flight = SubFlight { call, epoch, refresh: self.refresh_asked };
        self.flight = Some(flight);
        Some(flight)
    }

    /// The server knows nothing of us on a new connection.
    fn turn_to(&mut self, connection: Option<(Epoch, Freshness)>) {
        (self.epoch, self.subscribed, self.flight) = (connection.map(|(epoch, _)| epoch), false, None);
        if let Some((_, freshness)) = connection {
            self.freshness = freshness;
        }
        self.backoff = Backoff::new(if self.is_polled() { Waits::Polls } else { Waits::Calls });
        self.unsaid.clear();
        self.trouble = None;
        (self.check_at, self.reconcile_at, self.poll_at) = (None, None, None);
    }

    fn query_due(&self, decision_at: Option<Instant>, now: Instant) -> bool {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let refresh = self.refresh_asked > self.refresh_served.max(self.refresh_failed);
        refresh || due(self.check_at) || due(self.reconcile_at) || due(self.poll_at) || due(decision_at)
    }

    /// When to call [`SubSlot::next`] again, if nothing happens before.
    pub(crate) fn wake_at(&self, decision_at: Option<Instant>) -> Option<Instant> {
        if self.flight.is_some() || self.epoch.is_none() {
            return None;
        }
        let queries = [self.check_at, self.reconcile_at, self.poll_at, decision_at].into_iter().flatten().min();
        let queries = queries.filter(|_| self.wanted && self.subscribed);
        match self.backoff.until() {
            Some(until) => Some(queries.map_or(until, |at| at.max(until))),
            None => queries,
        }
    }

    /// A call ended. `false` if it is not the one under way: it belonged to an earlier connection.
    pub(crate) fn done(&mut self, flight: SubFlight, outcome: SubOutcome, now: Instant) -> bool {
        if self.flight != Some(flight) || self.epoch != Some(flight.epoch) {
            return false;
        }
        self.flight = None;
        match outcome {
            SubOutcome::Answered => self.answered(flight, now),
            // The event that ends the epoch follows; until then there is nothing to try.
            SubOutcome::LinkOver => self.backoff.wait_until(now + REFUSED_RETRY),
            SubOutcome::Transient(trouble) => {
                let retry = self.backoff.next(now);
                self.failed(flight, trouble, retry);
            }
            SubOutcome::Final(trouble) => self.failed(flight, trouble, now + REFUSED_RETRY),
        }
        true
    }

    /// There is a token: what was denied, or not asked for want of one, is asked now.
    pub(crate) fn logged_in(&mut self, now: Instant) {
        if self.trouble.as_ref().is_some_and(Trouble::awaits_login) {
            self.backoff.clear();
            // Of use where it was a query that failed.
            self.check_at = self.check_at.map(|at| at.min(now));
        }
    }

    fn answered(&mut self, flight: SubFlight, now: Instant) {
        self.backoff.clear();
        self.trouble = None;
        match flight.call {
            SubCall::Subscribe => self.subscribed = true,
            SubCall::Unsubscribe => self.subscribed = false,
            SubCall::Query => {}
        }
        if flight.call != SubCall::Unsubscribe {
            self.refresh_served = self.refresh_served.max(flight.refresh);
        }
        // What a polled list says counts from its arrival.
        if flight.call == SubCall::Subscribe || (flight.call == SubCall::Query && self.is_polled()) {
            self.plan_query(now);
        }
    }

    fn failed(&mut self, flight: SubFlight, trouble: Trouble, retry: Instant) {
        if flight.call == SubCall::Unsubscribe && trouble.is_final() {
            // Nothing more can be done about it; pushes that still come are dropped.
            self.subscribed = false;
            return;
        }
        if flight.call == SubCall::Query {
            self.check_at.get_or_insert(retry);
        }
        self.refresh_failed = self.refresh_failed.max(flight.refresh);
        self.trouble = Some(trouble);
        self.backoff.wait_until(retry);
    }

    /// The next query if nothing asks for one before: a poll, or a reconciliation of what is pushed.
    fn plan_query(&mut self, now: Instant) {
        if self.is_polled() {
            self.poll_at = Some(now + self.keep.mul_f64(1.0 - POLL_SPREAD * fastrand::f64()));
        } else {
            self.reconcile_at =
                self.reconcile.map(|interval| now + interval.mul_f64(1.0 + SPREAD * (2.0 * fastrand::f64() - 1.0)));
        }
    }
}

#[cfg(test)]
mod tests;
