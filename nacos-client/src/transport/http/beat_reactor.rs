//! When each instance beats next: a pure schedule, without clock or network.
//!
//! ```text
//!            add              due, a place is free          landed: taken, restored or failed
//!   nothing ─────▶ Resting ───────────────────────▶ Flying ───────────────────────────────────▶ Resting
//!                     │ remove                         │ remove: no other beat follows, and
//!                     ▼                                ▼ who removed it waits for this one
//!                  nothing                           Leaving ── landed ─▶ nothing
//! ```
//!
//! The next beat leaves one period after the last one *left*, so a slow answer does not stretch the rhythm; a beat never overtakes the one before it.
//! Whatever happens to a beat, the schedule goes on: it ends by [`BeatReactor::remove`] alone.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::model::{Instance, InstanceKey, ServiceKey};

/// The period of an instance that says nothing, and of a server that says nothing.
const PERIOD: Duration = Duration::from_secs(5);
/// Periods outside of this range are taken for mistakes: servers scan every 5 s, and who beats less often than once a minute gains nothing.
const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(60);
const PERIOD_METADATA: &str = "preserved.heart.beat.interval";

/// Names a schedule; never used again for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct BeatId(u64);

/// Which instance beats.
pub(super) type BeatKey = (ServiceKey, InstanceKey);

/// What a beat says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Everything about the instance.
    Full,
    /// Its identity only.
    Light,
}

/// A beat that is to leave now.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Departure {
    pub(super) id: BeatId,
    pub(super) key: ServiceKey,
    pub(super) instance: Arc<Instance>,
    pub(super) form: Form,
    pub(super) period: Duration,
    /// How late it leaves, if by more than a period.
    pub(super) late: Option<Late>,
}

/// Two reasons to be late: the process did not get to run, or earlier beats were not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Late {
    /// Since it was due.
    pub(super) delay: Duration,
    /// The part of it that passed before this was noticed: the fault of a starved runtime, not of a slow server.
    pub(super) starved: Duration,
}

/// How a beat ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Landing {
    /// The server knows the instance.
    Taken {
        /// Milliseconds to the next beat, as the server wishes; 0 or less says nothing.
        interval_ms: i64,
        /// It takes light beats.
        light: bool,
    },
    /// The server did not know the instance, which was registered again.
    Restored,
    /// Anything else.
    Failed,
}

#[derive(Debug)]
struct Entry {
    key: BeatKey,
    instance: Arc<Instance>,
    period: Duration,
    form: Form,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Resting {
        due: Instant,
    },
    /// Due; noticed at this moment, and waiting for a place among the beats under way.
    Ready {
        due: Instant,
        noticed: Instant,
    },
    Flying {
        left: Instant,
    },
}

/// The schedule of all instances of one epoch.
#[derive(Debug, Default)]
pub(super) struct BeatReactor {
    entries: HashMap<BeatId, Entry>,
    index: HashMap<BeatKey, BeatId>,
    due: BinaryHeap<Reverse<(Instant, BeatId)>>,
    ready: VecDeque<BeatId>,
    /// Removed with a beat under way.
    leaving: HashSet<BeatId>,
    ids: u64,
}

impl BeatReactor {
    /// `instance` was registered at `now`, which counts as a beat. `share` from 0 to 1 spreads first beats over the period.
    ///
    /// An instance that beats already keeps its rhythm and says the new content from its next beat on.
    pub(super) fn add(&mut self, key: &ServiceKey, instance: Arc<Instance>, share: f64, now: Instant) {
        let period = wished_period(&instance);
        let key = (key.clone(), instance.key());
        if let Some(entry) = self.known(&key) {
            (entry.instance, entry.form) = (instance, Form::Full);
            return;
        }
        self.ids += 1;
        let id = BeatId(self.ids);
        let due = now + period.mul_f64(share.clamp(0.0, 1.0));
        let state = State::Resting { due };
        self.index.insert(key.clone(), id);
        self.entries.insert(id, Entry { key, instance, period, form: Form::Full, state });
        self.due.push(Reverse((due, id)));
    }

    /// The instance is being registered with this content, which is what a server that forgot it is told from now on. Returns what it was
    /// told before; `None` if the instance does not beat.
    pub(super) fn replace(&mut self, key: &BeatKey, instance: Arc<Instance>) -> Option<Arc<Instance>> {
        self.known(key).map(|entry| std::mem::replace(&mut entry.instance, instance))
    }

    /// What a server is to be told that forgot the instance; `None` once it was removed.
    pub(super) fn content(&self, id: BeatId) -> Option<Arc<Instance>> {
        self.entries.get(&id).map(|entry| Arc::clone(&entry.instance))
    }

    fn known(&mut self, key: &BeatKey) -> Option<&mut Entry> {
        self.index.get(key).and_then(|id| self.entries.get_mut(id))
    }

    /// No beat of the instance leaves any more. The one under way, if any: wait for it while [`BeatReactor::is_leaving`].
    pub(super) fn remove(&mut self, key: &BeatKey) -> Option<BeatId> {
        let id = self.index.remove(key)?;
        let entry = self.entries.remove(&id)?;
        if !matches!(entry.state, State::Flying { .. }) {
            return None;
        }
        self.leaving.insert(id);
        Some(id)
    }

    /// Whether a removed schedule still has a beat under way.
    pub(super) fn is_leaving(&self, id: BeatId) -> bool {
        self.leaving.contains(&id)
    }

    /// The next beat to send at `now`, if one is noticed. It must be reported with [`BeatReactor::landed`].
    pub(super) fn next(&mut self, now: Instant) -> Option<Departure> {
        loop {
            let id = self.ready.pop_front()?;
            // One that was removed meanwhile.
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            let State::Ready { due, noticed } = entry.state else { continue };
            entry.state = State::Flying { left: now };
            let delay = now.saturating_duration_since(due);
            let starved = noticed.saturating_duration_since(due);
            return Some(Departure {
                id,
                key: entry.key.0.clone(),
                instance: Arc::clone(&entry.instance),
                form: entry.form,
                period: entry.period,
                late: (delay > entry.period).then_some(Late { delay, starved }),
            });
        }
    }

    /// Notices at `now` which beats are due, whether or not they can leave yet.
    pub(super) fn notice(&mut self, now: Instant) {
        while let Some(&Reverse((due, id))) = self.due.peek() {
            if due > now {
                return;
            }
            self.due.pop();
            if let Some(entry) = self.entries.get_mut(&id)
                && entry.state == (State::Resting { due })
            {
                entry.state = State::Ready { due, noticed: now };
                self.ready.push_back(id);
            }
        }
    }

    /// A beat ended.
    pub(super) fn landed(&mut self, id: BeatId, landing: Landing, now: Instant) {
        if self.leaving.remove(&id) {
            return;
        }
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let State::Flying { left } = entry.state else { return };
        match landing {
            Landing::Taken { interval_ms, light } => {
                entry.form = if light { Form::Light } else { Form::Full };
                entry.period = period_of(interval_ms).unwrap_or_else(|| wished_period(&entry.instance));
            }
            // Whoever answers next may not know the instance: it is told everything.
            Landing::Restored | Landing::Failed => entry.form = Form::Full,
        }
        // After an answer that took longer than the period the next beat is due now, not late.
        let due = (left + entry.period).max(now);
        entry.state = State::Resting { due };
        self.due.push(Reverse((due, id)));
    }

    /// When the next beat is due.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.due.peek().map(|Reverse((due, _))| *due)
    }

    /// How many instances beat.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Ends every schedule; returns what was beating.
    pub(super) fn clear(&mut self) -> Vec<(ServiceKey, Arc<Instance>)> {
        self.index.clear();
        self.due.clear();
        self.ready.clear();
        self.entries.drain().map(|(_, entry)| (entry.key.0, entry.instance)).collect()
    }
}

/// The period that the instance's metadata asks for; only digits count, as on the servers.
fn wished_period(instance: &Instance) -> Duration {
    let text = instance.metadata.get(PERIOD_METADATA).map_or("", String::as_str);
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    // So many digits that they are no number any more: very long.
    let wished = digits.then(|| text.parse().unwrap_or(i64::MAX));
    wished.and_then(period_of).unwrap_or(PERIOD)
}

fn period_of(ms: i64) -> Option<Duration> {
    let ms = u64::try_from(ms).ok().filter(|ms| *ms > 0)?;
    Some(Duration::from_millis(ms).clamp(SHORTEST, LONGEST))
}

#[cfg(test)]
mod tests;
