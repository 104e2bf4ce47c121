use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::Error;

/// Nothing in an example takes so long.
const PATIENCE: Duration = Duration::from_secs(20);
const PACE: Duration = Duration::from_millis(2);

/// Returns once `condition` holds.
///
/// # Errors
///
/// If it does not within 20 s.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) -> Result<(), Error> {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        if Instant::now() > deadline {
            return Err(format!("it never came true that {what}").into());
        }
        sleep(PACE).await;
    }
    Ok(())
}
