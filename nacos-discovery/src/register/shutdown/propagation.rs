use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::traffic::Counts;
use super::{ShutdownLimits, Traffic};

/// The wait until consumers know that an instance has left, as a pure decision.
#[derive(Debug, Clone, Copy)]
struct Propagation {
    began: Instant,
    whole: Duration,
    quiet: Duration,
}

/// What the wait does next.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Over,
    /// Look again at this time, or when no request is under way any more.
    Look(Instant),
}

impl Propagation {
    /// Without `counts` nothing is known of the traffic, so the wait is whole.
    fn next(self, now: Instant, counts: Option<Counts>) -> Next {
        let end = self.began + self.whole;
        // A request that still arrives says that somebody does not know yet.
        let quiet_at = counts.map(|counts| self.began.max(counts.last_arrival.unwrap_or(self.began)) + self.quiet);
        let wake = match (counts, quiet_at) {
            (Some(counts), Some(quiet_at)) if now >= quiet_at && counts.under_way == 0 => now,
            (_, Some(quiet_at)) if quiet_at > now => end.min(quiet_at),
            _ => end,
        };
        if now >= wake { Next::Over } else { Next::Look(wake) }
    }
}

/// Waits until consumers know, as far as that can be told.
pub(super) async fn propagate(limits: ShutdownLimits, traffic: Option<&Traffic>) {
    let wait = Propagation { began: Instant::now(), whole: limits.propagation, quiet: limits.quiet };
    loop {
        let (counts, idle) = traffic.map(Traffic::look).unzip();
        let Next::Look(wake) = wait.next(Instant::now(), counts) else { return };
        tokio::select! {
            () = sleep_until(wake) => {}
            () = or_never(idle) => {}
        }
    }
}

async fn or_never(event: Option<impl Future<Output = ()>>) {
    match event {
        Some(event) => event.await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Duration = Duration::from_secs(10);
    const QUIET: Duration = Duration::from_secs(2);

    fn second(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_is_as_short_as_the_traffic_allows() {
        let t0 = Instant::now();
        let wait = Propagation { began: t0, whole: WHOLE, quiet: QUIET };
        let counts =
            |under_way, last: Option<u64>| Some(Counts { under_way, last_arrival: last.map(|last| t0 + second(last)) });
        assert_eq!(wait.next(t0, None), Next::Look(t0 + WHOLE), "nothing is known of the traffic");
        assert_eq!(wait.next(t0, counts(0, None)), Next::Look(t0 + QUIET));
        assert_eq!(wait.next(t0 + QUIET, counts(0, None)), Next::Over);
        assert_eq!(wait.next(t0 + QUIET, counts(1, None)), Next::Look(t0 + WHOLE), "one is under way");
        assert_eq!(wait.next(t0 + second(3), counts(0, Some(2))), Next::Look(t0 + second(4)), "one has just come");
        assert_eq!(wait.next(t0 + second(9), counts(1, Some(9))), Next::Look(t0 + WHOLE));
        assert_eq!(wait.next(t0 + WHOLE, counts(1, Some(9))), Next::Over);
    }

    #[tokio::test(start_paused = true)]
    async fn it_ends_with_the_last_request_and_at_its_limit() {
        let limits = ShutdownLimits { propagation: WHOLE, quiet: QUIET, ..ShutdownLimits::default() };
        let traffic = Traffic::new();
        for (lasts, expected) in [(0, 2), (5, 5), (60, 10)] {
            let begin = Instant::now();
            let request = traffic.arrived();
            let serve = async move {
                tokio::time::sleep(second(lasts)).await;
                drop(request);
            };
            let waited = async {
                propagate(limits, Some(&traffic)).await;
                begin.elapsed()
            };
            let (waited, ()) = tokio::join!(waited, serve);
            assert_eq!(waited.as_secs(), expected, "a request of {lasts} s");
        }
        let begin = Instant::now();
        propagate(limits, None).await;
        assert_eq!(begin.elapsed().as_secs(), 10);
    }
}
