//! Waiting for a condition that others bring about, bounded in time and by the end of the client.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::core::Core;
use crate::error::StartError;

/// Why a wait ended without its condition.
#[derive(Debug)]
pub(crate) enum Ended {
    Deadline,
    Start(StartError),
}

impl Ended {
    /// For waits without a deadline.
    pub(crate) fn start(self) -> StartError {
        match self {
            Self::Start(error) => error,
            Self::Deadline => StartError::Closed,
        }
    }
}

/// Waits until `test` gives something. It is asked at once, and again whenever `changed` rings.
pub(crate) async fn wait_for<T>(
    core: &Core,
    changed: &Notify,
    deadline: Option<Duration>,
    mut test: impl FnMut() -> Option<T>,
) -> Result<T, Ended> {
    // Timers need a runtime, and a missing one would be a panic.
    if Handle::try_current().is_err() {
        return Err(Ended::Start(StartError::NoRuntime));
    }
    let until_met = async {
        loop {
            let rung = changed.notified();
            tokio::pin!(rung);
            rung.as_mut().enable();
            if let Some(met) = test() {
                return Ok(met);
            }
            if core.is_closed() {
                return Err(Ended::Start(StartError::Closed));
            }
            rung.await;
        }
    };
    match deadline {
        None => until_met.await,
        Some(deadline) => tokio::time::timeout(deadline, until_met).await.unwrap_or(Err(Ended::Deadline)),
    }
}
