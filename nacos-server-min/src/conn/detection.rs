use std::sync::Arc;

use super::liveness::Patience;
use crate::context::Context;

/// Looks for silent connections until dropped: probes them, evicts the ones that do not answer, and closes those that never
/// set up or no longer read.
pub(crate) async fn watch_silent_connections(context: Arc<Context>) {
    let settings = &context.settings;
    let patience = Patience { idle: settings.detection_idle, answer: settings.detection_timeout };
    let interval = settings.detection_interval;
    let mut next_scan = context.clock.ticks() + interval.min(std::time::Duration::from_secs(1));
    loop {
        tokio::time::sleep_until(context.clock.at(next_scan)).await;
        next_scan = context.clock.ticks() + interval;
        context.connections.for_each(|connection| {
            if connection.outbox().stalled() >= settings.stalled_timeout {
                return connection.give_up();
            }
            if connection.is_registered() {
                if let Some(deadline) = connection.check_liveness(patience) {
                    // A probe's time-out does not wait for the next regular scan.
                    next_scan = next_scan.min(deadline);
                }
            } else if connection.idle() >= settings.unregistered_timeout {
                connection.close.cancel();
            }
        });
    }
}
