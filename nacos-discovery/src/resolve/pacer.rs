use std::time::Duration;

use tokio::time::Instant;

use super::ServiceList;

/// Makes one of lists that follow one another quickly.
#[derive(Debug)]
pub(super) struct Pacer {
    window: Duration,
    last: Option<Instant>,
    waiting: Option<ServiceList>,
}

/// Whether a list may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    MayWait,
    /// It takes somebody away: no request must go there any longer.
    AtOnce,
}

impl Pacer {
    pub(super) const fn new(window: Duration) -> Self {
        Self { window, last: None, waiting: None }
    }

    /// Takes a list in; it comes back if its time is now.
    pub(super) fn offer(&mut self, list: ServiceList, urgency: Urgency, now: Instant) -> Option<ServiceList> {
        if self.waiting.as_ref().is_none_or(|waiting| waiting.revision() <= list.revision()) {
            self.waiting = Some(list);
        }
        match urgency {
            Urgency::AtOnce => self.leave(now),
            Urgency::MayWait => self.due(now),
        }
    }

    /// The list that waits, if it has waited enough.
    pub(super) fn due(&mut self, now: Instant) -> Option<ServiceList> {
        let open = self.opens().is_none_or(|opens| opens <= now);
        if open { self.leave(now) } else { None }
    }

    /// When the list that waits has waited enough.
    pub(super) fn next(&self) -> Option<Instant> {
        self.waiting.as_ref().and_then(|_| self.opens())
    }

    fn opens(&self) -> Option<Instant> {
        self.last?.checked_add(self.window)
    }

    fn leave(&mut self, now: Instant) -> Option<ServiceList> {
        let list = self.waiting.take()?;
        self.last = Some(now);
        Some(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(20);

    fn list(revision: u64) -> ServiceList {
        ServiceList::new(revision, [])
    }

    fn revision(list: Option<ServiceList>) -> Option<u64> {
        list.map(|list| list.revision())
    }

    #[test]
    fn the_first_list_passes_at_once_and_those_that_follow_become_one() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut pacer = Pacer::new(WINDOW);
        assert_eq!(revision(pacer.offer(list(1), Urgency::MayWait, at(0))), Some(1));
        assert_eq!(pacer.next(), None);
        assert_eq!(revision(pacer.offer(list(2), Urgency::MayWait, at(1))), None);
        assert_eq!(revision(pacer.offer(list(4), Urgency::MayWait, at(19))), None);
        assert_eq!(revision(pacer.offer(list(3), Urgency::MayWait, at(19))), None);
        assert_eq!((pacer.next(), revision(pacer.due(at(19)))), (Some(at(20)), None));
        assert_eq!(revision(pacer.due(at(20))), Some(4), "the newest");
        assert_eq!(revision(pacer.offer(list(5), Urgency::MayWait, at(40))), Some(5), "it came alone");
    }

    #[test]
    fn a_list_that_takes_somebody_away_never_waits() {
        let start = Instant::now();
        let mut pacer = Pacer::new(WINDOW);
        for revision_of in 1..=10 {
            let passed = pacer.offer(list(revision_of), Urgency::AtOnce, start);
            assert_eq!(revision(passed), Some(revision_of));
        }
    }
}
