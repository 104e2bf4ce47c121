use std::time::Duration;

use nacos_proto::grpc::Instance as WireInstance;

use super::error::OpError;
use super::instances::{IdRule, find, register_by};
use super::keys::{InstanceKey, ServiceKey};
use crate::context::Context;
use crate::health::{By, Heard};
use crate::registry::Kind;

/// What whoever beats is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BeatAnswer {
    /// False: the instance is not registered, and the beat did not say enough to register it.
    pub(crate) known: bool,
    /// Milliseconds to the next beat.
    pub(crate) interval: i64,
    /// The next beats may leave everything but the address out.
    pub(crate) light: bool,
}

/// Takes a sign of life. `full` is the instance as a full beat describes it, and of which kind; it is registered if it is not
/// known, and else counts for nothing but the sign of life. A beat that comes just after the deregistration is answered like any other and
/// has no effect.
pub(crate) fn beat(
    context: &Context,
    key: &ServiceKey,
    (ip, port): (&str, u16),
    full: Option<(Kind, WireInstance)>,
) -> Result<BeatAnswer, OpError> {
    context.counters.beats.add();
    let listen = || context.beats.beat(&context.registry, key.as_ref(), (ip, port), context.clock.ticks());
    let (known, own_interval) = match (listen(), full) {
        (Heard::Known { interval }, _) => (true, interval),
        (Heard::Buried, _) => {
            context.counters.beats_too_late.add();
            (true, None)
        }
        (Heard::Unknown, Some((Kind::Ephemeral, instance))) => {
            register_by(context, key, Kind::Ephemeral, instance, IdRule::Generated, By::Beat)?;
            let own = if let Heard::Known { interval } = listen() { interval } else { None };
            (true, own)
        }
        (Heard::Unknown, Some((kind, instance))) => {
            // Nobody waits for beats of a persistent instance; registering it again each time would push it each time.
            let row = InstanceKey::new(ip, port, instance.cluster_name.as_deref().unwrap_or_default());
            if find(context, key, &row).is_err() {
                register_by(context, key, kind, instance, IdRule::Generated, By::Beat)?;
            }
            (true, None)
        }
        (Heard::Unknown, None) => {
            context.counters.beats_unknown.add();
            (false, None)
        }
    };
    Ok(answer(context, known, own_interval))
}

fn answer(context: &Context, known: bool, own_interval: Option<i64>) -> BeatAnswer {
    let switches = context.switches();
    let interval = own_interval.unwrap_or(switches.client_beat_interval);
    BeatAnswer { known, interval, light: switches.light_beat_enabled }
}

/// The time between beats of instances that name none.
pub(super) fn usual_interval(context: &Context) -> Duration {
    Duration::from_millis(u64::try_from(context.switches().client_beat_interval).unwrap_or(0))
}
