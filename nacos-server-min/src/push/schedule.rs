use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::slot::{Due, PushTiming, Slot};

/// What a connection's pushes want at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send the newest list of this service under this id.
    Send { service: usize, id: u64, again: bool },
    /// Nothing before that time, or before the next change.
    Wait(Option<Duration>),
    /// Give the connection up.
    GiveUp,
}

/// What an acknowledgement meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acked {
    /// No push of this connection.
    Unknown,
    /// Taken note of.
    Known,
    /// The last of too many refusals.
    GiveUp,
}

struct Entry {
    slot: Slot,
    /// The slot's place in `timers`.
    wake: Option<Duration>,
    sends: u32,
}

/// All subscriptions of one connection: one slot each, served in the order they became due.
pub(crate) struct Schedule {
    timing: PushTiming,
    slots: HashMap<usize, Entry>,
    timers: BTreeSet<(Duration, usize)>,
    ids: HashMap<u64, usize>,
}

impl Schedule {
    pub(crate) fn new(timing: PushTiming) -> Self {
        Self { timing, slots: HashMap::new(), timers: BTreeSet::new(), ids: HashMap::new() }
    }

    /// Adds a service; nothing is sent until it changes.
    pub(crate) fn add(&mut self, service: usize) {
        self.slots.entry(service).or_insert_with(|| Entry { slot: Slot::new(), wake: None, sends: 0 });
    }

    pub(crate) fn remove(&mut self, service: usize) {
        if let Some(entry) = self.slots.remove(&service) {
            for id in entry.slot.ids() {
                self.ids.remove(&id);
            }
            if let Some(at) = entry.wake {
                self.timers.remove(&(at, service));
            }
        }
    }

    pub(crate) fn changed(&mut self, service: usize, now: Duration, not_before: Duration) {
        if let Some(entry) = self.slots.get_mut(&service) {
            entry.slot.changed(now, not_before, &self.timing);
            Self::rearm(&mut self.timers, service, entry);
        }
    }

    /// What is due; a push gets its id from `next_id`.
    pub(crate) fn step(&mut self, now: Duration, next_id: impl FnOnce() -> u64) -> Step {
        while let Some(&(at, service)) = self.timers.first() {
            if at > now {
                return Step::Wait(Some(at));
            }
            let Some(entry) = self.slots.get_mut(&service) else {
                self.timers.pop_first();
                continue;
            };
            match entry.slot.due(now, &self.timing) {
                Due::Send => {
                    let id = next_id();
                    if let Some(forgotten) = entry.slot.sent(id, now, &self.timing) {
                        self.ids.remove(&forgotten);
                    }
                    self.ids.insert(id, service);
                    let again = entry.sends > 0 && entry.slot.ids().count() > 1;
                    entry.sends = entry.sends.saturating_add(1);
                    Self::rearm(&mut self.timers, service, entry);
                    return Step::Send { service, id, again };
                }
                Due::GiveUp => return Step::GiveUp,
                Due::Nothing => Self::rearm(&mut self.timers, service, entry),
            }
        }
        Step::Wait(None)
    }

    /// How long the first thing to do has been waiting to be taken.
    pub(crate) fn overdue(&self, now: Duration) -> Duration {
        self.timers.first().map_or(Duration::ZERO, |(at, _)| now.saturating_sub(*at))
    }

    pub(crate) fn acked(&mut self, id: u64, ok: bool, now: Duration) -> Acked {
        let Some(&service) = self.ids.get(&id) else { return Acked::Unknown };
        let Some(entry) = self.slots.get_mut(&service) else { return Acked::Unknown };
        let known: Vec<u64> = entry.slot.ids().collect();
        let due = entry.slot.acked(id, ok, now, &self.timing);
        for id in known {
            if !entry.slot.ids().any(|kept| kept == id) {
                self.ids.remove(&id);
            }
        }
        Self::rearm(&mut self.timers, service, entry);
        if due == Due::GiveUp { Acked::GiveUp } else { Acked::Known }
    }

    /// Subscriptions, and ids that are still waited for.
    #[cfg(test)]
    pub(crate) fn sizes(&self) -> (usize, usize, usize) {
        (self.slots.len(), self.timers.len(), self.ids.len())
    }

    fn rearm(timers: &mut BTreeSet<(Duration, usize)>, service: usize, entry: &mut Entry) {
        let wake = entry.slot.wake();
        if wake != entry.wake {
            if let Some(at) = entry.wake {
                timers.remove(&(at, service));
            }
            if let Some(at) = wake {
                timers.insert((at, service));
            }
            entry.wake = wake;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: PushTiming = PushTiming {
        ack_timeout: Duration::from_secs(5),
        retry_delay: Duration::from_secs(1),
        max_delay: Duration::from_secs(30),
        spacing: Duration::from_millis(50),
    };

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_reader_that_never_acknowledges_costs_a_bounded_amount() {
        let mut schedule = Schedule::new(TIMING);
        let mut next = 0;
        for service in 0..10 {
            schedule.add(service);
        }
        for tick in 0..60_000u64 {
            let now = ms(tick);
            schedule.changed(usize::try_from(tick % 10).expect("a digit"), now, ms(0));
            while let Step::Send { .. } = schedule.step(now, || {
                next += 1;
                next
            }) {}
        }
        let (slots, timers, ids) = schedule.sizes();
        assert_eq!((slots, timers), (10, 10));
        assert!(ids <= 10 * 17, "{ids}");
    }

    #[test]
    fn services_are_served_in_the_order_they_became_due() {
        let mut schedule = Schedule::new(TIMING);
        for service in [3, 1, 2] {
            schedule.add(service);
            schedule.changed(service, ms(10 - service as u64), ms(0));
        }
        let mut order = Vec::new();
        let mut id = 0;
        while let Step::Send { service, .. } = schedule.step(ms(10), || {
            id += 1;
            id
        }) {
            order.push(service);
        }
        assert_eq!(order, [3, 2, 1]);
    }

    #[test]
    fn removing_a_service_forgets_its_ids_and_timers() {
        let mut schedule = Schedule::new(TIMING);
        schedule.add(1);
        schedule.changed(1, ms(0), ms(0));
        assert_eq!(schedule.step(ms(0), || 7), Step::Send { service: 1, id: 7, again: false });
        schedule.remove(1);
        assert_eq!(schedule.sizes(), (0, 0, 0));
        assert_eq!(schedule.acked(7, true, ms(1)), Acked::Unknown);
    }

    #[test]
    fn every_push_gets_its_own_id_and_only_the_last_one_delivers() {
        let mut schedule = Schedule::new(TIMING);
        schedule.add(1);
        schedule.changed(1, ms(0), ms(0));
        assert!(matches!(schedule.step(ms(0), || 1), Step::Send { id: 1, .. }));
        schedule.changed(1, ms(1), ms(0));
        assert!(matches!(schedule.step(ms(50), || 2), Step::Send { id: 2, .. }));
        assert_eq!(schedule.acked(1, true, ms(51)), Acked::Known);
        assert!(matches!(schedule.step(ms(51), || 3), Step::Wait(Some(_))), "list 2 is still pending");
        assert_eq!(schedule.acked(2, true, ms(52)), Acked::Known);
        assert_eq!(schedule.step(ms(52), || 4), Step::Wait(None));
        assert_eq!(schedule.sizes(), (1, 0, 0));
    }
}
