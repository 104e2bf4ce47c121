//! Waiting on conditions, never for times.
#![expect(clippy::missing_panics_doc, reason = "to fail a test is what they are for")]

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// A condition that does not come true for this long will not come true. Generous: it is no figure that is tested.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How often a condition is looked at.
const PACE: Duration = Duration::from_millis(5);

/// Returns once `condition` holds.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let deadline = Instant::now() + PATIENCE;
        while !condition() {
            assert!(Instant::now() < deadline, "{caller}: never came true within {PATIENCE:?}: {what}");
            sleep(PACE).await;
        }
    }
}

/// Returns what `attempt` finds once it finds something.
pub async fn eventually<T>(what: &str, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = attempt().await {
            return found;
        }
        assert!(Instant::now() < deadline, "never came true within {PATIENCE:?}: {what}");
        sleep(PACE).await;
    }
}

/// The result of `future`, which must come in the end.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, future).await {
        Ok(result) => result,
        Err(_) => panic!("not within {PATIENCE:?}: {what}"),
    }
}

/// Watches that `condition` holds again and again while `during` runs.
pub async fn holds_while<T>(
    what: &str,
    mut condition: impl AsyncFnMut() -> bool,
    during: impl Future<Output = T>,
) -> T {
    let watch = async {
        loop {
            assert!(condition().await, "no longer true: {what}");
            sleep(PACE).await;
        }
    };
    tokio::select! {
        result = during => result,
        () = watch => unreachable!("it watches for ever"),
    }
}
