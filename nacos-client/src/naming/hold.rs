//! Which removals of a list are believed: the guard against lists of servers that do not know everybody yet.
//!
//! What is suspect is an instance that an earlier connection listed and a young one does not: its provider may need some
//! seconds to register again. An instance that the connection itself has listed before has really left.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::config::{EmptyPolicy, HoldTimes};
use crate::model::{Held, HostList, Instance};

/// The server's last list and the instances that are missing from it but kept for now.
#[derive(Debug)]
pub(crate) struct Guard {
    policy: EmptyPolicy,
    times: HoldTimes,
    last: Option<Last>,
    hold: Option<Hold>,
}

#[derive(Debug)]
struct Last {
    list: Arc<HostList>,
    /// Since when the connection that brought it serves, which tells connections apart.
    connected: Instant,
}

#[derive(Debug)]
struct Hold {
    /// Sorted by identity; never empty.
    instances: Vec<Arc<Instance>>,
    since: Instant,
    /// `None` = until an instance is listed again.
    until: Option<Instant>,
    /// Held only because the list was empty, not because the connection was young.
    for_emptiness: bool,
}

/// The instances that the last list had and the next one has not.
struct Missing {
    instances: Vec<Arc<Instance>>,
    /// Both lists came by the same connection.
    seen_leaving: bool,
}

impl Guard {
    pub(crate) const fn new(policy: EmptyPolicy, times: HoldTimes) -> Self {
        Self { policy, times, last: None, hold: None }
    }

    /// Forgets everything, as if no list had come yet.
    pub(crate) fn clear(&mut self) {
        self.last = None;
        self.hold = None;
    }

    /// Takes the server's next list, received by a connection that serves since `connected`, and returns what to show.
    pub(crate) fn take(&mut self, list: HostList, connected: Instant, now: Instant) -> Arc<HostList> {
        let list = Arc::new(list);
        let missing = self.last.as_ref().map(|last| missing_from(&list, last.list.hosts())).unwrap_or_default();
        let seen_leaving = self.last.as_ref().is_some_and(|last| last.connected == connected);
        let young = self.policy != EmptyPolicy::Accept && now < connected + self.times.window;
        // A hold whose end came while there was no connection was decided by nobody: a young connection goes on with it.
        let undecided = |until| now < until || (young && until < connected);
        let earlier = self.hold.take().filter(|hold| hold.until.is_none_or(undecided));
        let missing = Missing { instances: missing, seen_leaving };
        self.hold = self.next_hold(&list, missing, earlier, young.then_some(connected), now);
        self.last = Some(Last { list: Arc::clone(&list), connected });
        match &self.hold {
            None => list,
            Some(hold) => {
                let all = list.hosts().iter().chain(&hold.instances).cloned().collect();
                Arc::new(HostList::new(all, list.protected()))
            }
        }
    }

    fn next_hold(
        &self,
        list: &HostList,
        missing: Missing,
        earlier: Option<Hold>,
        young: Option<Instant>,
        now: Instant,
    ) -> Option<Hold> {
        let empty = list.hosts().is_empty();
        let empty_limit = match self.policy {
            EmptyPolicy::Hold { max } if empty => Some(Some(max)),
            EmptyPolicy::HoldForever if empty => Some(None),
            _ => None,
        };
        let since = earlier.as_ref().map_or(now, |hold| hold.since);
        let earlier = earlier.filter(|hold| young.is_some() || empty || !hold.for_emptiness);
        let (mut instances, until, for_emptiness) = match earlier {
            Some(hold) => (missing_from(list, &hold.instances), hold.until, hold.for_emptiness),
            None => (Vec::new(), None, true),
        };
        if (young.is_some() && !missing.seen_leaving) || empty_limit.is_some() {
            instances.extend(missing.instances);
            instances.sort_by(|a, b| a.cmp_key(b));
        }
        if instances.is_empty() {
            return None;
        }
        let until = match (empty_limit, young) {
            (Some(Some(max)), _) if since + max <= now => return None,
            (Some(limit), _) => limit.map(|max| since + max),
            (None, Some(connected)) => {
                until.max(Some(connected + self.age_of_decision(instances.len(), list.hosts().len())))
            }
            (None, None) => until,
        };
        // Outside both cases only a hold with an end goes on; one that waited for an instance to be listed has ended.
        (empty_limit.is_some() || until.is_some()).then_some(Hold {
            instances,
            since,
            until,
            for_emptiness: for_emptiness && young.is_none(),
        })
    }

    fn age_of_decision(&self, held: usize, listed: usize) -> Duration {
        if held > listed { self.times.majority } else { self.times.window }
    }

    /// What the snapshot says about the hold.
    pub(crate) fn held(&self) -> Option<Held> {
        self.hold
            .as_ref()
            .map(|hold| Held::new(hold.since.into_std(), hold.until.map(Instant::into_std), hold.instances.len()))
    }

    /// When the server is to be asked whether what is held is gone.
    pub(crate) fn decision_at(&self) -> Option<Instant> {
        self.hold.as_ref().and_then(|hold| hold.until)
    }
}

/// The instances of `old`, sorted by identity, that `list` does not have.
fn missing_from(list: &HostList, old: &[Arc<Instance>]) -> Vec<Arc<Instance>> {
    let hosts = list.hosts();
    old.iter().filter(|i| hosts.binary_search_by(|h| h.cmp_key(i)).is_err()).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const TIMES: HoldTimes = HoldTimes { window: Duration::from_secs(5), majority: Duration::from_secs(30) };

    fn list(ports: impl IntoIterator<Item = u16>) -> HostList {
        HostList::new(ports.into_iter().map(|port| Arc::new(Instance::new(("h", port)))).collect(), false)
    }

    struct Bench {
        guard: Guard,
        connected: Instant,
    }

    impl Bench {
        /// A guard that saw `ports` on an old connection; a new connection begins at second 0.
        fn new(policy: EmptyPolicy, ports: std::ops::Range<u16>) -> Self {
            let connected = Instant::now() + SECOND * 1000;
            let mut guard = Guard::new(policy, TIMES);
            guard.take(list(ports), connected - SECOND * 900, connected - SECOND * 100);
            Self { guard, connected }
        }

        fn take(&mut self, second: u64, ports: std::ops::Range<u16>) -> usize {
            self.guard.take(list(ports), self.connected, self.connected + SECOND * second as u32).hosts().len()
        }

        fn decision(&self) -> Option<u64> {
            self.guard.decision_at().map(|at| (at - self.connected).as_secs())
        }
    }

    #[test]
    fn the_first_list_is_believed() {
        let mut guard = Guard::new(EmptyPolicy::Default, TIMES);
        let now = Instant::now();
        assert!(guard.take(list([]), now, now).hosts().is_empty());
        assert_eq!(guard.held(), None);
    }

    #[test]
    fn f02_removals_on_a_young_connection_are_held_and_decided_at_five_seconds() {
        let mut b = Bench::new(EmptyPolicy::Default, 0..10);
        assert_eq!(b.take(1, 0..8), 10);
        assert_eq!((b.decision(), b.guard.held().map(|h| h.count)), (Some(5), Some(2)));
        assert_eq!(b.take(2, 0..12), 12, "additions apply at once, and what is listed again is not held");
        assert_eq!(b.guard.held(), None);
        assert_eq!(b.take(3, 0..11), 11, "what this connection listed and lists no more has left");

        let mut b = Bench::new(EmptyPolicy::Default, 0..10);
        assert_eq!(b.take(1, 0..8), 10);
        assert_eq!(b.take(3, 0..7), 9, "one leaves before its eyes, the others are still held");
        assert_eq!(b.take(5, 0..7), 7, "the list at the deadline is believed");
        assert_eq!((b.guard.held(), b.decision()), (None, None));
    }

    #[test]
    fn f01_on_the_first_connection_every_removal_is_believed() {
        let mut guard = Guard::new(EmptyPolicy::Default, TIMES);
        let connected = Instant::now();
        assert_eq!(guard.take(list(0..3), connected, connected).hosts().len(), 3);
        assert!(guard.take(list([]), connected, connected + SECOND).hosts().is_empty());
    }

    #[test]
    fn f02_if_more_than_half_vanish_they_are_held_for_thirty_seconds() {
        let mut b = Bench::new(EmptyPolicy::Default, 0..10);
        assert_eq!((b.take(1, 0..0), b.decision()), (10, Some(30)));
        assert_eq!((b.take(8, 0..7), b.decision()), (10, Some(30)), "no shorter once most are back");
        assert_eq!(b.take(20, 0..6), 9, "what goes after the first seconds is believed, what was held stays");
        assert_eq!(b.take(30, 0..6), 6);
    }

    #[test]
    fn cg40_on_an_older_connection_the_default_believes_an_empty_list() {
        let mut b = Bench::new(EmptyPolicy::Default, 0..10);
        assert_eq!(b.take(1, 0..10), 10);
        assert_eq!(b.take(6, 0..0), 0);
    }

    #[test]
    fn a_hold_that_ended_between_two_connections_goes_on() {
        let mut b = Bench::new(EmptyPolicy::Default, 0..10);
        assert_eq!((b.take(1, 0..8), b.decision()), (10, Some(5)));
        b.connected += SECOND * 20;
        assert_eq!((b.take(1, 0..8), b.decision()), (10, Some(5)), "the next connection decides at its own age of 5 s");
        assert_eq!(b.take(5, 0..8), 8);
    }

    #[test]
    fn accept_believes_everything() {
        let mut b = Bench::new(EmptyPolicy::Accept, 0..10);
        assert_eq!(b.take(0, 0..0), 0);
    }

    #[test]
    fn cg40_hold_keeps_an_emptied_list_at_most_its_time() {
        let mut b = Bench::new(EmptyPolicy::Hold { max: SECOND * 7 }, 0..4);
        assert_eq!(b.take(10, 0..3), 3, "a partial removal is believed");
        assert_eq!((b.take(11, 0..0), b.decision()), (3, Some(18)));
        assert_eq!((b.take(12, 0..0), b.decision()), (3, Some(18)));
        assert_eq!(b.take(18, 0..0), 0);
        b.take(19, 0..3);
        assert_eq!(b.take(20, 0..0), 3);
        assert_eq!(b.take(21, 0..1), 1, "once an instance is listed the list is believed");
    }

    #[test]
    fn hold_forever_waits_for_an_instance() {
        let mut b = Bench::new(EmptyPolicy::HoldForever, 0..4);
        assert_eq!((b.take(10, 0..0), b.decision()), (4, None));
        assert_eq!(b.guard.held().map(|h| (h.count, h.until)), Some((4, None)));
        assert_eq!(b.take(10_000, 0..0), 4);
        assert_eq!(b.take(10_001, 7..8), 1);
    }

    #[test]
    fn hold_forever_on_a_young_connection_turns_into_an_ordinary_hold() {
        let mut b = Bench::new(EmptyPolicy::HoldForever, 0..4);
        assert_eq!((b.take(1, 0..0), b.decision()), (4, None));
        assert_eq!((b.take(2, 0..1), b.decision()), (4, Some(30)));
        assert_eq!(b.take(30, 0..1), 1);
    }
}
