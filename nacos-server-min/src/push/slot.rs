use std::time::Duration;

/// The times of the push engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PushTiming {
    /// Without an acknowledgement for so long, the list is sent again. Doubles with each failure.
    pub(crate) ack_timeout: Duration,
    /// After a negative acknowledgement, the list is sent again so much later. Doubles with each failure.
    pub(crate) retry_delay: Duration,
    /// Neither time grows beyond this; when one that reached it has passed as well, the connection is given up.
    pub(crate) max_delay: Duration,
    /// While a push is unacknowledged, a newer list follows so much later; doubles with each that is sent meanwhile.
    pub(crate) spacing: Duration,
}

/// A push that was sent and not yet acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flight {
    id: u64,
    sent: Duration,
    deadline: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The client has the newest list.
    Idle,
    /// A list waits to be sent, none is under way. Exits: sent → `Sent`.
    Queued { at: Duration },
    /// The newest list is under way. Exits: acknowledged → `Idle`; change → `SentNewer`; refused → `Queued`.
    Sent(Flight),
    /// A list is under way and a newer one waits. Exits: sent → `Sent`; acknowledged or refused → `Queued`.
    SentNewer { flight: Flight, at: Duration },
}

/// What a slot wants at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Nothing yet.
    Nothing,
    /// The newest list is to be sent.
    Send,
    /// The client has not acknowledged anything for too long.
    GiveUp,
}

/// Ids of replaced pushes that are remembered: an acknowledgement of one of them is a sign of life of a slow client.
const MAX_REPLACED: usize = 16;

/// The pushes of one service to one connection: at most one is pending, and it is always the newest list.
#[derive(Debug)]
pub(crate) struct Slot {
    state: State,
    failures: u32,
    replaced: Vec<u64>,
}

impl Slot {
    pub(crate) fn new() -> Self {
        Self { state: State::Idle, failures: 0, replaced: Vec::new() }
    }

    /// The list changed. `not_before` delays a first push.
    pub(crate) fn changed(&mut self, now: Duration, not_before: Duration, timing: &PushTiming) {
        let ready = now.max(not_before);
        self.state = match self.state {
            State::Idle => State::Queued { at: ready },
            State::Queued { at } => State::Queued { at: at.min(ready) },
            State::Sent(flight) => State::SentNewer { flight, at: ready.max(self.earliest(flight, timing)) },
            newer @ State::SentNewer { .. } => newer,
        };
    }

    /// When a list may follow that one. The more of them wait for a client, the fewer are added: what it would read only to
    /// throw it away keeps it from reading the newest.
    fn earliest(&self, flight: Flight, timing: &PushTiming) -> Duration {
        let waiting = u32::try_from(self.replaced.len()).unwrap_or(u32::MAX);
        let gap = timing.spacing.saturating_mul(1u32.checked_shl(waiting).unwrap_or(u32::MAX));
        flight.sent + gap.min(timing.ack_timeout.max(timing.spacing))
    }

    /// When [`Slot::due`] is next worth asking.
    pub(crate) fn wake(&self) -> Option<Duration> {
        match self.state {
            State::Idle => None,
            State::Queued { at } => Some(at),
            State::Sent(flight) => Some(flight.deadline),
            State::SentNewer { flight, at } => Some(at.min(flight.deadline)),
        }
    }

    pub(crate) fn due(&mut self, now: Duration, timing: &PushTiming) -> Due {
        match self.state {
            State::Queued { at } if at <= now => Due::Send,
            State::Sent(flight) | State::SentNewer { flight, .. } if flight.deadline <= now => {
                let exhausted = delay(timing.ack_timeout, self.failures, timing) >= timing.max_delay;
                self.failures += 1;
                if exhausted { Due::GiveUp } else { Due::Send }
            }
            State::SentNewer { at, .. } if at <= now => Due::Send,
            _ => Due::Nothing,
        }
    }

    /// The newest list left under `id`. Returns an id that needs no watching any more.
    pub(crate) fn sent(&mut self, id: u64, now: Duration, timing: &PushTiming) -> Option<u64> {
        let timeout = now + delay(timing.ack_timeout, self.failures, timing);
        let (deadline, replaced) = match self.state {
            State::Idle | State::Queued { .. } => (timeout, None),
            // A newer list does not give a silent client more time.
            State::Sent(flight) | State::SentNewer { flight, .. } if flight.deadline > now => {
                (flight.deadline, Some(flight.id))
            }
            State::Sent(flight) | State::SentNewer { flight, .. } => (timeout, Some(flight.id)),
        };
        self.state = State::Sent(Flight { id, sent: now, deadline });
        self.replaced.extend(replaced);
        (self.replaced.len() > MAX_REPLACED).then(|| self.replaced.remove(0))
    }

    /// An acknowledgement of `id`, which is or was this slot's. Returns `GiveUp` when it was one refusal too many.
    pub(crate) fn acked(&mut self, id: u64, ok: bool, now: Duration, timing: &PushTiming) -> Due {
        let (flight, newer) = match self.state {
            State::Sent(flight) => (flight, false),
            State::SentNewer { flight, .. } => (flight, true),
            State::Idle | State::Queued { .. } => return Due::Nothing,
        };
        match (flight.id == id, ok) {
            (true, true) => {
                self.failures = 0;
                self.replaced.clear();
                self.state = if newer { State::Queued { at: now } } else { State::Idle };
            }
            (true, false) => {
                let wait = delay(timing.retry_delay, self.failures, timing);
                if self.failures > 0 && delay(timing.retry_delay, self.failures - 1, timing) >= timing.max_delay {
                    return Due::GiveUp;
                }
                self.failures += 1;
                self.state = State::Queued { at: now + wait };
            }
            (false, true) => {
                // The client lags behind; it is not silent, and has read what was sent before.
                self.failures = 0;
                if let Some(read) = self.replaced.iter().position(|replaced| *replaced == id) {
                    self.replaced.drain(..=read);
                }
                let flight = Flight { deadline: now + timing.ack_timeout, ..flight };
                self.state = match self.state {
                    State::SentNewer { at, .. } => {
                        State::SentNewer { flight, at: at.min(self.earliest(flight, timing)).max(now) }
                    }
                    _ => State::Sent(flight),
                };
            }
            (false, false) => {}
        }
        Due::Nothing
    }

    /// All ids whose acknowledgements would mean something to this slot.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        let pending = match self.state {
            State::Sent(flight) | State::SentNewer { flight, .. } => Some(flight.id),
            State::Idle | State::Queued { .. } => None,
        };
        pending.into_iter().chain(self.replaced.iter().copied())
    }
}

fn delay(first: Duration, failures: u32, timing: &PushTiming) -> Duration {
    first.saturating_mul(1u32.checked_shl(failures).unwrap_or(u32::MAX)).min(timing.max_delay)
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

    /// A slot whose list 1 left at 0.
    fn sent_at_zero() -> Slot {
        let mut slot = Slot::new();
        slot.changed(ms(0), ms(0), &TIMING);
        assert_eq!(slot.due(ms(0), &TIMING), Due::Send);
        slot.sent(1, ms(0), &TIMING);
        slot
    }

    #[test]
    fn the_further_a_client_lags_behind_the_less_it_is_sent() {
        let mut slot = sent_at_zero();
        let mut sent = vec![0];
        for now in 1..4_000 {
            slot.changed(ms(now), ms(now), &TIMING);
            if slot.due(ms(now), &TIMING) == Due::Send {
                slot.sent(sent.len() as u64 + 1, ms(now), &TIMING);
                sent.push(now);
            }
        }
        assert_eq!(sent, [0, 50, 150, 350, 750, 1_550, 3_150]);
        // It reads on: what it has read does not count any more.
        slot.changed(ms(4_000), ms(4_000), &TIMING);
        assert_eq!(slot.wake(), Some(ms(5_000)), "its time runs out first");
        slot.acked(6, true, ms(4_000), &TIMING);
        assert_eq!(slot.wake(), Some(ms(4_000)));
        assert_eq!(slot.ids().collect::<Vec<_>>(), [7]);
        // Whoever has read all is sent the newest at once.
        slot.acked(7, true, ms(4_001), &TIMING);
        assert_eq!(slot.due(ms(4_001), &TIMING), Due::Send);
    }

    #[test]
    fn an_idle_slot_sends_at_once_and_rests_when_acknowledged() {
        let mut slot = sent_at_zero();
        assert_eq!(slot.acked(1, true, ms(3), &TIMING), Due::Nothing);
        assert_eq!(slot.wake(), None);
        slot.changed(ms(10), ms(0), &TIMING);
        assert_eq!(slot.wake(), Some(ms(10)));
    }

    #[test]
    fn changes_under_way_are_merged_and_spaced() {
        let mut slot = sent_at_zero();
        for at in [1, 2, 3] {
            slot.changed(ms(at), ms(0), &TIMING);
        }
        assert_eq!(slot.due(ms(49), &TIMING), Due::Nothing);
        assert_eq!(slot.due(ms(50), &TIMING), Due::Send);
        slot.sent(2, ms(50), &TIMING);
        assert_eq!(slot.due(ms(200), &TIMING), Due::Nothing, "three changes are one push");
    }

    #[test]
    fn an_acknowledgement_releases_the_newer_list_at_once() {
        let mut slot = sent_at_zero();
        slot.changed(ms(1), ms(0), &TIMING);
        slot.acked(1, true, ms(2), &TIMING);
        assert_eq!(slot.due(ms(2), &TIMING), Due::Send);
    }

    #[test]
    fn an_old_acknowledgement_does_not_count_as_delivery() {
        let mut slot = sent_at_zero();
        slot.changed(ms(1), ms(0), &TIMING);
        slot.sent(2, ms(50), &TIMING);
        slot.acked(1, true, ms(60), &TIMING);
        assert_eq!(slot.due(ms(5_059), &TIMING), Due::Nothing, "but it is a sign of life");
        assert_eq!(slot.due(ms(5_060), &TIMING), Due::Send);
    }

    #[test]
    fn silence_doubles_the_wait_and_ends_the_connection() {
        let mut slot = sent_at_zero();
        let mut sends = Vec::new();
        let mut id = 1;
        let end = loop {
            let now = slot.wake().expect("a sent list has a deadline");
            match slot.due(now, &TIMING) {
                Due::Send => {
                    id += 1;
                    slot.sent(id, now, &TIMING);
                    sends.push(now.as_secs());
                }
                Due::GiveUp => break now.as_secs(),
                Due::Nothing => panic!("woken for nothing at {now:?}"),
            }
        };
        assert_eq!(sends, [5, 15, 35]);
        assert_eq!(end, 65);
    }

    #[test]
    fn changes_do_not_give_a_silent_client_more_time() {
        let mut slot = sent_at_zero();
        let (mut id, mut now) = (1, ms(0));
        let end = loop {
            now += ms(10);
            slot.changed(now, ms(0), &TIMING);
            match slot.due(now, &TIMING) {
                Due::Send => {
                    id += 1;
                    slot.sent(id, now, &TIMING);
                }
                Due::GiveUp => break now,
                Due::Nothing => {}
            }
        };
        assert!((ms(65_000)..ms(66_000)).contains(&end), "{end:?}");
        assert!(slot.ids().count() <= MAX_REPLACED + 1);
    }

    #[test]
    fn refusals_double_the_wait_and_end_the_connection() {
        let mut slot = sent_at_zero();
        let (mut id, mut now, mut waits) = (1, ms(0), Vec::new());
        while slot.acked(id, false, now, &TIMING) == Due::Nothing {
            let at = slot.wake().expect("a refused list is sent again");
            waits.push((at - now).as_secs());
            now = at;
            assert_eq!(slot.due(now, &TIMING), Due::Send);
            id += 1;
            slot.sent(id, now, &TIMING);
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30]);
    }

    #[test]
    fn a_first_push_waits_for_its_answer() {
        let mut slot = Slot::new();
        slot.changed(ms(0), ms(1_000), &TIMING);
        assert_eq!(slot.due(ms(999), &TIMING), Due::Nothing);
        slot.changed(ms(3), ms(0), &TIMING);
        assert_eq!(slot.due(ms(3), &TIMING), Due::Send, "a change does not wait");
    }
}
