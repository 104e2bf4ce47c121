use std::time::Duration;

use tokio::time::Instant;

/// Finds out whether a service is still used, by looking now and then: uses leave a mark, but no time.
#[derive(Debug)]
pub(super) struct Idle {
    limit: Duration,
    last_used: Instant,
    next: Instant,
}

/// How often it is looked within the limit.
const LOOKS: u32 = 4;

impl Idle {
    pub(super) fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, last_used: now, next: now + limit / LOOKS }
    }

    /// When to look.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// Whether it is not used any longer. `used` is asked only when it is time to look.
    pub(super) fn look(&mut self, used: impl FnOnce() -> bool, now: Instant) -> bool {
        if now < self.next {
            return false;
        }
        self.next = now + self.limit / LOOKS;
        if used() {
            self.last_used = now;
        }
        now.duration_since(self.last_used) >= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_idle_after_its_time_without_use() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut idle = Idle::new(Duration::from_secs(40), start);
        assert!(!idle.look(|| panic!("it is not time to look"), at(9)));
        assert!(!idle.look(|| true, at(10)));
        for second in [20, 30, 40] {
            assert!(!idle.look(|| false, at(second)), "{second}");
        }
        assert!(idle.look(|| false, at(50)));
        assert!(!idle.look(|| true, at(60)), "used after all");
    }
}
