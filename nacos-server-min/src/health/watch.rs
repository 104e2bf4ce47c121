use std::sync::Arc;

use super::beats::Found;
use crate::context::Context;

/// Looks for instances that no longer beat, until dropped.
pub(crate) async fn watch_beats(context: Arc<Context>) {
    let (interval, look) = (context.beats.check_interval(), context.beats.look_interval());
    let (mut next, mut check_at) = (look, interval);
    loop {
        tokio::time::sleep_until(context.clock.at(next)).await;
        let now = context.clock.ticks();
        next = now + look;
        if !context.switches().health_check_enabled {
            continue;
        }
        let (since, late) = context.beats.look(now);
        if let Some(late) = late {
            tracing::warn!(?late, "the check for beats was held up: nobody is judged by the time before");
        }
        if now < check_at {
            continue;
        }
        check_at = now + interval;
        let mut found = Found::default();
        for part in context.beats.parts() {
            let Found { unhealthy, gone } = context.beats.check(&context.registry, part, since, now);
            context.counters.instances_unhealthy.add_many(unhealthy);
            context.counters.instances_expired.add_many(gone);
            found = Found { unhealthy: found.unhealthy + unhealthy, gone: found.gone + gone };
            // Requests come between.
            tokio::task::yield_now().await;
        }
        let Found { unhealthy, gone } = found;
        if unhealthy + gone > 0 {
            tracing::info!(unhealthy, gone, "instances have stopped beating");
        }
    }
}
