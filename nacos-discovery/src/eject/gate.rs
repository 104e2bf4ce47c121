use std::sync::atomic::{AtomicU64, Ordering};

const KIND: u32 = 46;
const GENERATION: u32 = 48;
const TIME: u64 = (1 << KIND) - 1;

/// What a pick and the end of a call need to know of an instance's [`super::breaker::Breaker`], in one word, so that they read it
/// without a lock. A mirror: written only together with the breaker, under the lock of the [`super::Ejector`].
#[derive(Debug, Default)]
pub(super) struct GateCell {
    word: AtomicU64,
}

/// One reading of a [`GateCell`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gate {
    /// Rises with every ejection, so that calls that began before it can be told from those after it. It starts anew after
    /// 65 536 ejections, when no call of that age is left.
    pub(crate) generation: u16,
    pub(crate) way: Way,
}

/// Who is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Everyone, and there is no failure that a success would have to take back.
    Clear,
    /// Everyone; the next success takes failures back.
    Troubled,
    /// Nobody before this many milliseconds of the ejector's clock, then one.
    Ejected { until: u64 },
    /// Nobody: the one that was let through has not ended. From this time on it counts as lost.
    Probing { overdue: u64 },
}

impl GateCell {
    pub(super) fn read(&self) -> Gate {
        let word = self.word.load(Ordering::Acquire);
        let way = match (word >> KIND) & 3 {
            0 => Way::Clear,
            1 => Way::Troubled,
            2 => Way::Ejected { until: word & TIME },
            _ => Way::Probing { overdue: word & TIME },
        };
        Gate { generation: (word >> GENERATION) as u16, way }
    }

    pub(super) fn write(&self, gate: Gate) {
        let (kind, time) = match gate.way {
            Way::Clear => (0, 0),
            Way::Troubled => (1, 0),
            Way::Ejected { until } => (2, until.min(TIME)),
            Way::Probing { overdue } => (3, overdue.min(TIME)),
        };
        self.word.store(u64::from(gate.generation) << GENERATION | kind << KIND | time, Ordering::Release);
    }
}

impl Gate {
    pub(crate) const fn is_open(self) -> bool {
        matches!(self.way, Way::Clear | Way::Troubled)
    }

    pub(crate) const fn is_probing(self) -> bool {
        matches!(self.way, Way::Probing { .. })
    }

    /// Whether a request may be let through at this time: it is open, or a probe is due, or the last one is overdue.
    pub(crate) const fn is_passable(self, at: u64) -> bool {
        match self.way {
            Way::Clear | Way::Troubled => true,
            Way::Ejected { until: from } | Way::Probing { overdue: from } => from <= at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let cell = GateCell::default();
        assert_eq!(cell.read(), Gate { generation: 0, way: Way::Clear });
        for generation in [0, 1, u16::MAX] {
            let timed = |time| [Way::Ejected { until: time }, Way::Probing { overdue: time }];
            for way in [Way::Clear, Way::Troubled].into_iter().chain(timed(0)).chain(timed(TIME)) {
                let gate = Gate { generation, way };
                cell.write(gate);
                assert_eq!(cell.read(), gate);
            }
        }
    }
}
