//! Keeps a kind of log line from flooding: one at once, then one per interval that says how many were left out.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const INTERVAL: Duration = Duration::from_secs(60);

/// One kind of line.
#[derive(Debug, Default)]
pub(crate) struct LogLimit(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: Option<Instant>,
    left_out: u64,
}

impl LogLimit {
    /// Whether to write the line now, and then how many were left out before it.
    pub(crate) fn pass(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.next.is_some_and(|next| now < next) {
            state.left_out += 1;
            return None;
        }
        state.next = Some(now + INTERVAL);
        Some(std::mem::take(&mut state.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t06_ten_minutes_of_failures_are_eleven_lines() {
        let (limit, begin) = (LogLimit::default(), Instant::now());
        let lines: Vec<u64> = (0..=6000).filter_map(|n| limit.pass(begin + Duration::from_millis(100) * n)).collect();
        assert_eq!((lines.len(), lines[0], lines[1]), (11, 0, 599));
    }
}
