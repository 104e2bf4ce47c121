//! Which server is tried next.

use std::time::Duration;

/// For how long a failure pushes a server to the end of the queue.
const RECENT: Duration = Duration::from_secs(30);

/// Goes round the list from a given start; servers that failed within the last 30 s come last, the longest ago first.
///
/// Times are measured from any fixed moment.
#[derive(Debug, Clone)]
pub(crate) struct Rotation {
    /// When each server failed last, unless it has worked since.
    failed: Vec<Option<Duration>>,
    next: usize,
}

impl Rotation {
    /// A rotation over `servers` (at least 1) servers that begins at `start`, taken round the list.
    pub(crate) fn new(servers: usize, start: usize) -> Self {
        let servers = servers.max(1);
        Self { failed: vec![None; servers], next: start % servers }
    }

    /// The server to try now; the one after it is next.
    pub(crate) fn advance(&mut self, now: Duration) -> usize {
        let servers = self.failed.len();
        let order = (0..servers).map(|step| (self.next + step) % servers);
        let best = order.min_by_key(|&server| self.recent_failure(server, now)).unwrap_or(0);
        self.next = (best + 1) % servers;
        best
    }

    /// All servers in the order to try them now: `first` and then round the list, those that failed recently last.
    pub(crate) fn order(&self, first: usize, now: Duration) -> Vec<usize> {
        let servers = self.failed.len();
        let mut order: Vec<usize> = (0..servers).map(|step| (first + step) % servers).collect();
        order.sort_by_key(|&server| self.recent_failure(server, now));
        order
    }

    /// Goes on after `server`, which is used although it was not its turn.
    pub(crate) fn jump(&mut self, server: usize) {
        self.next = (server + 1) % self.failed.len();
    }

    /// `server` did not work.
    pub(crate) fn failed(&mut self, server: usize, now: Duration) {
        if let Some(failed) = self.failed.get_mut(server) {
            *failed = Some(now);
        }
    }

    /// `server` works.
    pub(crate) fn worked(&mut self, server: usize) {
        if let Some(failed) = self.failed.get_mut(server) {
            *failed = None;
        }
    }

    fn recent_failure(&self, server: usize, now: Duration) -> Option<Duration> {
        let failed = self.failed.get(server).copied().flatten()?;
        (now.saturating_sub(failed) < RECENT).then_some(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn goes_round_from_the_start() {
        let mut rotation = Rotation::new(3, 7);
        let order: Vec<usize> = (0..5).map(|_| rotation.advance(at(0))).collect();
        assert_eq!(order, [1, 2, 0, 1, 2]);
    }

    #[test]
    fn recently_failed_servers_come_last_and_longest_ago_first() {
        let mut rotation = Rotation::new(3, 0);
        rotation.failed(0, at(2));
        rotation.failed(1, at(1));
        assert_eq!(rotation.advance(at(3)), 2);
        rotation.failed(2, at(3));
        assert_eq!(rotation.advance(at(3)), 1);
        rotation.failed(1, at(4));
        assert_eq!(rotation.advance(at(4)), 0);
    }

    #[test]
    fn a_failure_is_forgotten_by_success_or_time() {
        let mut rotation = Rotation::new(2, 0);
        rotation.failed(0, at(0));
        assert_eq!(rotation.advance(at(1)), 1);
        rotation.worked(0);
        assert_eq!(rotation.advance(at(1)), 0);
        rotation.failed(1, at(1));
        assert_eq!(rotation.advance(at(31)), 1);
    }

    #[test]
    fn an_order_begins_with_the_first_unless_it_failed_recently() {
        let mut rotation = Rotation::new(3, 0);
        assert_eq!(rotation.order(1, at(0)), [1, 2, 0]);
        rotation.failed(1, at(0));
        assert_eq!(rotation.order(1, at(1)), [2, 0, 1]);
        assert_eq!(rotation.order(1, at(30)), [1, 2, 0]);
    }

    #[test]
    fn a_jump_continues_behind_its_server() {
        let mut rotation = Rotation::new(3, 0);
        rotation.jump(1);
        assert_eq!(rotation.advance(at(0)), 2);
    }

    #[test]
    fn a_single_server_is_always_it() {
        let mut rotation = Rotation::new(1, 5);
        rotation.failed(0, at(0));
        assert_eq!(rotation.advance(at(0)), 0);
    }
}
