//! The alarm clock of drivers whose machine may have nothing planned.

use tokio::time::{Instant, sleep_until};

/// Sleeps until `wake`; without one it never ends.
pub(crate) async fn at(wake: Option<Instant>) {
    match wake {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
