use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;

use super::schedule::{Acked, Step};
use super::slot::PushTiming;

/// The pushes of one connection with the habits of the recorded server: every change starts a chain of its own, which sends
/// the newest list again until it is acknowledged, without limit; lists may be repeated and may overtake each other.
pub(crate) struct Chains {
    timing: PushTiming,
    services: HashSet<usize>,
    /// By time and a running number.
    queue: BTreeMap<(Duration, u64), Item>,
    waiting: HashMap<u64, (Duration, usize)>,
    order: u64,
}

enum Item {
    /// A list to send: the newest one, or one that was frozen when it was fired.
    Send { service: usize, frozen: Option<Bytes>, again: bool },
    /// The acknowledgement of this id is overdue.
    Overdue { id: u64 },
}

impl Chains {
    pub(crate) fn new(timing: PushTiming) -> Self {
        Self { timing, services: HashSet::new(), queue: BTreeMap::new(), waiting: HashMap::new(), order: 0 }
    }

    pub(crate) fn add(&mut self, service: usize) {
        self.services.insert(service);
    }

    pub(crate) fn remove(&mut self, service: usize) {
        self.services.remove(&service);
        self.waiting.retain(|_, (_, of)| *of != service);
        self.queue.retain(|_, item| !matches!(item, Item::Send { service: of, .. } if *of == service));
    }

    /// Starts a chain at `at`, with a list of its own or with whatever is newest then.
    pub(crate) fn fire(&mut self, service: usize, at: Duration, frozen: Option<Bytes>) {
        if self.services.contains(&service) {
            self.enqueue(at, Item::Send { service, frozen, again: false });
        }
    }

    fn enqueue(&mut self, at: Duration, item: Item) {
        self.order += 1;
        self.queue.insert((at, self.order), item);
    }

    /// As [`Schedule::step`](super::schedule::Schedule::step); the second value is a frozen list.
    pub(crate) fn step(&mut self, now: Duration, next_id: impl FnOnce() -> u64) -> (Step, Option<Bytes>) {
        loop {
            let Some(entry) = self.queue.first_entry() else { return (Step::Wait(None), None) };
            let at = entry.key().0;
            if at > now {
                return (Step::Wait(Some(at)), None);
            }
            match entry.remove() {
                Item::Send { service, frozen, again } => {
                    let id = next_id();
                    self.waiting.insert(id, (now, service));
                    self.enqueue(now + self.timing.ack_timeout, Item::Overdue { id });
                    return (Step::Send { service, id, again }, frozen);
                }
                Item::Overdue { id } => {
                    if let Some((_, service)) = self.waiting.remove(&id) {
                        let again = Item::Send { service, frozen: None, again: true };
                        self.enqueue(at + self.timing.retry_delay, again);
                    }
                }
            }
        }
    }

    /// As [`Schedule::overdue`](super::schedule::Schedule::overdue).
    pub(crate) fn overdue(&self, now: Duration) -> Duration {
        self.queue.first_key_value().map_or(Duration::ZERO, |((at, _), _)| now.saturating_sub(*at))
    }

    pub(crate) fn acked(&mut self, id: u64, ok: bool, now: Duration) -> Acked {
        let Some((_, service)) = self.waiting.remove(&id) else { return Acked::Unknown };
        if !ok {
            self.enqueue(now + self.timing.retry_delay, Item::Send { service, frozen: None, again: true });
        }
        Acked::Known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: PushTiming = PushTiming {
        ack_timeout: Duration::from_secs(5),
        retry_delay: Duration::from_secs(1),
        max_delay: Duration::from_secs(30),
        spacing: Duration::ZERO,
    };

    fn sends(chains: &mut Chains, until: u64) -> Vec<u64> {
        let mut next = 100;
        let mut at = Vec::new();
        for ms in 0..until {
            while let (Step::Send { .. }, _) = chains.step(Duration::from_millis(ms), || {
                next += 1;
                next
            }) {
                at.push(ms);
            }
        }
        at
    }

    #[test]
    fn an_unacknowledged_push_comes_every_six_seconds_for_ever() {
        let mut chains = Chains::new(TIMING);
        chains.add(1);
        chains.fire(1, Duration::ZERO, None);
        assert_eq!(sends(&mut chains, 25_000), [0, 6_000, 12_000, 18_000, 24_000]);
    }

    #[test]
    fn a_change_meanwhile_starts_a_second_chain() {
        let mut chains = Chains::new(TIMING);
        chains.add(1);
        chains.fire(1, Duration::ZERO, None);
        chains.fire(1, Duration::from_millis(2_000), None);
        assert_eq!(sends(&mut chains, 9_000), [0, 2_000, 6_000, 8_000]);
    }

    #[test]
    fn a_refusal_is_answered_after_a_second_and_an_acknowledgement_ends_the_chain() {
        let mut chains = Chains::new(TIMING);
        chains.add(1);
        chains.fire(1, Duration::ZERO, None);
        assert!(matches!(chains.step(Duration::ZERO, || 1), (Step::Send { id: 1, .. }, None)));
        assert_eq!(chains.acked(1, false, Duration::ZERO), Acked::Known);
        assert!(matches!(chains.step(Duration::from_secs(1), || 2), (Step::Send { id: 2, again: true, .. }, None)));
        assert_eq!(chains.acked(2, true, Duration::from_secs(1)), Acked::Known);
        assert_eq!(sends(&mut chains, 60_000), [0u64; 0]);
    }

    #[test]
    fn a_frozen_list_stays_the_old_one() {
        let mut chains = Chains::new(TIMING);
        chains.add(1);
        chains.fire(1, Duration::from_millis(10), Some(Bytes::from_static(b"old")));
        let (step, frozen) = chains.step(Duration::from_millis(10), || 1);
        assert!(matches!(step, Step::Send { service: 1, .. }));
        assert_eq!(frozen.as_deref(), Some(&b"old"[..]));
        chains.remove(1);
        assert!(matches!(chains.step(Duration::from_secs(60), || 2), (Step::Wait(None), None)));
    }
}
