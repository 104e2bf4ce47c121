use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::pace::{Answer, Pace, PaceRules};

/// An instance: the number of its client, and where its service stands in memory.
pub(super) type Key = (u64, usize);

struct Entry {
    pace: Pace,
    /// Its place in `queue`.
    at: Duration,
    /// It was asked, and its answer is waited for.
    asked: bool,
}

/// Whom to ask when.
#[derive(Default)]
pub(super) struct Plan {
    entries: HashMap<Key, Entry>,
    queue: BTreeSet<(Duration, Key)>,
}

impl Plan {
    /// These are all instances there are now. New ones are asked at once, and again after the pause that `first` gives.
    pub(super) fn sync(&mut self, keys: &HashMap<Key, impl Sized>, now: Duration, mut first: impl FnMut() -> Duration) {
        self.entries.retain(|key, entry| {
            let stays = keys.contains_key(key);
            if !stays {
                self.queue.remove(&(entry.at, *key));
            }
            stays
        });
        for key in keys.keys() {
            self.entries.entry(*key).or_insert_with(|| {
                self.queue.insert((now, *key));
                Entry { pace: Pace::new(first()), at: now, asked: false }
            });
        }
    }

    /// The next one to ask, if one is due. It comes up again after its pause, whether it has answered by then or not.
    pub(super) fn due(&mut self, now: Duration) -> Option<Key> {
        while let Some((at, key)) = self.queue.first().copied().filter(|(at, _)| *at <= now) {
            self.queue.remove(&(at, key));
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            entry.at = now + entry.pace.pause;
            self.queue.insert((entry.at, key));
            if !std::mem::replace(&mut entry.asked, true) {
                return Some(key);
            }
        }
        None
    }

    /// When somebody is next due.
    pub(super) fn next(&self) -> Option<Duration> {
        self.queue.first().map(|(at, _)| *at)
    }

    /// An answer, or `None` if the instance was not asked after all. A verdict is whether it is healthy.
    pub(super) fn answered(&mut self, key: Key, answer: Option<Answer>, rules: &PaceRules) -> Option<bool> {
        let entry = self.entries.get_mut(&key)?;
        entry.asked = false;
        match answer {
            Some(answer) => entry.pace.answered(answer, rules),
            None => {
                // Whoever decides otherwise should not have to wait.
                entry.pace.pause = rules.min;
                None
            }
        }
    }

    /// As [`Pace::anew`].
    pub(super) fn anew(&mut self, key: Key) {
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.pace.anew();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: PaceRules =
        PaceRules { min: Duration::from_millis(1_000), max: Duration::from_millis(5_000), factor: 0.75, times: 2 };
    const A: Key = (1, 1);
    const B: Key = (2, 1);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn plan(keys: &[Key], now: Duration) -> Plan {
        let mut plan = Plan::default();
        sync(&mut plan, keys, now);
        plan
    }

    fn sync(plan: &mut Plan, keys: &[Key], now: Duration) {
        plan.sync(&keys.iter().map(|key| (*key, ())).collect(), now, || ms(2_000));
    }

    #[test]
    fn a_new_one_is_asked_at_once_and_then_after_its_pause() {
        let mut plan = plan(&[A], ms(7));
        assert_eq!((plan.due(ms(7)), plan.due(ms(7)), plan.next()), (Some(A), None, Some(ms(2_007))));
        assert_eq!(plan.answered(A, Some(Answer::Good { took: ms(0) }), &RULES), None);
        assert_eq!(plan.due(ms(2_006)), None, "an answer changes the pause after the next question");
        assert_eq!((plan.due(ms(2_007)), plan.next()), (Some(A), Some(ms(3_507))));
        assert_eq!(plan.answered(A, Some(Answer::Good { took: ms(1) }), &RULES), Some(true));
    }

    #[test]
    fn nobody_is_asked_twice_at_a_time() {
        let mut plan = plan(&[A], ms(0));
        assert_eq!(plan.due(ms(0)), Some(A));
        assert_eq!((plan.due(ms(2_000)), plan.due(ms(4_000))), (None, None), "it has not answered yet");
        assert_eq!(plan.answered(A, None, &RULES), None);
        assert_eq!(
            (plan.due(ms(6_000)), plan.next()),
            (Some(A), Some(ms(7_000))),
            "who was not asked comes up again soon"
        );
    }

    #[test]
    fn who_is_gone_is_not_asked_and_its_late_answer_is_nothing() {
        let mut plan = plan(&[A, B], ms(0));
        assert_eq!((plan.due(ms(0)), plan.due(ms(0))), (Some(A), Some(B)));
        sync(&mut plan, &[B], ms(1));
        assert_eq!(plan.answered(A, Some(Answer::Refused), &RULES), None);
        assert_eq!(plan.answered(B, Some(Answer::Refused), &RULES), Some(false));
        assert_eq!((plan.due(ms(2_000)), plan.due(ms(2_000))), (Some(B), None));
        sync(&mut plan, &[], ms(2_001));
        assert_eq!((plan.next(), plan.entries.len()), (None, 0));
    }

    #[test]
    fn after_a_verdict_answers_are_counted_anew() {
        let mut plan = plan(&[A], ms(0));
        let good = Some(Answer::Good { took: ms(1) });
        assert_eq!([plan.answered(A, good, &RULES), plan.answered(A, good, &RULES)], [None, Some(true)]);
        plan.anew(A);
        assert_eq!(plan.answered(A, good, &RULES), None);
    }
}
