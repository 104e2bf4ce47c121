use std::time::Duration;

/// How long silence is tolerated, and how long a probe may stay unanswered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) idle: Duration,
    pub(crate) answer: Duration,
}

/// Whether the peer of a registered connection is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Liveness {
    /// Exits: silence → `Probed`.
    Heard { last: Duration },
    /// A probe is out. Exits: acknowledgement, or other activity → `Heard`; time-out → evicted.
    Probed { id: u64, sent: Duration },
}

/// What the watch has to do about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Nothing,
    Probe,
    Evict,
}

impl Liveness {
    pub(crate) fn heard(&mut self, now: Duration) {
        *self = Self::Heard { last: now };
    }

    pub(crate) fn probed(&mut self, id: u64, now: Duration) {
        *self = Self::Probed { id, sent: now };
    }

    pub(crate) fn is_probe(&self, id: u64) -> bool {
        matches!(self, Self::Probed { id: probe, .. } if *probe == id)
    }

    pub(crate) fn verdict(&self, now: Duration, patience: Patience) -> Verdict {
        match *self {
            Self::Heard { last } if now.saturating_sub(last) >= patience.idle => Verdict::Probe,
            Self::Probed { sent, .. } if now.saturating_sub(sent) >= patience.answer => Verdict::Evict,
            Self::Heard { .. } | Self::Probed { .. } => Verdict::Nothing,
        }
    }

    /// When an unanswered probe ends the registration.
    pub(crate) fn deadline(&self, patience: Patience) -> Option<Duration> {
        match *self {
            Self::Heard { .. } => None,
            Self::Probed { sent, .. } => Some(sent + patience.answer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { idle: Duration::from_secs(20), answer: Duration::from_secs(5) };

    fn s(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn silence_is_probed_and_an_unanswered_probe_evicts() {
        let mut liveness = Liveness::Heard { last: s(0) };
        assert_eq!(liveness.verdict(s(19), PATIENCE), Verdict::Nothing);
        assert_eq!(liveness.verdict(s(20), PATIENCE), Verdict::Probe);
        liveness.probed(7, s(20));
        assert_eq!(liveness.verdict(s(24), PATIENCE), Verdict::Nothing);
        assert_eq!(liveness.deadline(PATIENCE), Some(s(25)));
        assert_eq!(liveness.verdict(s(25), PATIENCE), Verdict::Evict);
    }

    #[test]
    fn an_acknowledged_probe_is_life() {
        let mut liveness = Liveness::Heard { last: s(0) };
        liveness.probed(7, s(20));
        assert!(liveness.is_probe(7) && !liveness.is_probe(8));
        liveness.heard(s(21));
        assert_eq!(liveness.verdict(s(40), PATIENCE), Verdict::Nothing);
        assert_eq!(liveness.verdict(s(41), PATIENCE), Verdict::Probe);
    }
}
