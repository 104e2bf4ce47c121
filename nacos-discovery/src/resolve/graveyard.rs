use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use nacos_client::InstanceKey;
use tokio::time::Instant;

use crate::node::Node;

/// For how long an instance that is listed again is still the one that it was.
const GRACE: Duration = Duration::from_secs(60);
/// How many are kept at least, if so many left.
const ROOM: usize = 1_024;

/// What is known of instances that left the list, for the case that they come back: a registry that restarts, a process that
/// reconnects. Bounded in time and number.
#[derive(Debug, Default)]
pub(super) struct Graveyard {
    buried: HashMap<InstanceKey, Buried>,
}

#[derive(Debug)]
struct Buried {
    node: Arc<Node>,
    since: Instant,
}

impl Graveyard {
    /// The node of an instance that left less than the grace ago.
    pub(super) fn find(&self, key: &InstanceKey, now: Instant) -> Option<&Arc<Node>> {
        let buried = self.buried.get(key)?;
        (now.duration_since(buried.since) < GRACE).then_some(&buried.node)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.buried.is_empty()
    }

    pub(super) fn forget(&mut self, key: &InstanceKey) {
        self.buried.remove(key);
    }

    /// Takes those who left in, and lets go whom it has had for too long. `listed` is how many are listed: as many may leave
    /// at once and come back.
    pub(super) fn bury(&mut self, gone: impl Iterator<Item = (InstanceKey, Arc<Node>)>, listed: usize, now: Instant) {
        self.buried.retain(|_, buried| now.duration_since(buried.since) < GRACE);
        self.buried.extend(gone.map(|(key, node)| (key, Buried { node, since: now })));
        let room = listed.max(ROOM);
        if self.buried.len() > room {
            let mut times: Vec<Instant> = self.buried.values().map(|buried| buried.since).collect();
            let (_, oldest_kept, _) = times.select_nth_unstable_by(room - 1, |a, b| b.cmp(a));
            let oldest_kept = *oldest_kept;
            self.buried.retain(|_, buried| buried.since > oldest_kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServiceSettings;
    use crate::eject::{EjectionSender, Ejector};
    use nacos_client::Instance;

    fn key(port: u16) -> InstanceKey {
        Instance::new(("10.0.0.1", port)).key()
    }

    fn gone(ports: impl IntoIterator<Item = u16>, now: Instant) -> Vec<(InstanceKey, Arc<Node>)> {
        let ejector = Arc::new(Ejector::new(&ServiceSettings::default(), EjectionSender::new(), now, 1));
        ports.into_iter().map(|port| (key(port), Arc::new(Node::new(now, None, Arc::clone(&ejector))))).collect()
    }

    #[test]
    fn who_left_is_known_for_a_minute() {
        let now = Instant::now();
        let mut graveyard = Graveyard::default();
        graveyard.bury(gone([1], now).into_iter(), 1, now);
        assert!(graveyard.find(&key(1), now + GRACE - Duration::from_millis(1)).is_some());
        assert!(graveyard.find(&key(1), now + GRACE).is_none() && graveyard.find(&key(2), now).is_none());
        graveyard.bury(std::iter::empty(), 1, now + GRACE);
        assert!(graveyard.is_empty());
    }

    #[test]
    fn many_who_left_do_not_grow_without_bound() {
        let start = Instant::now();
        let mut graveyard = Graveyard::default();
        for second in 0..10u16 {
            let now = start + Duration::from_secs(u64::from(second));
            graveyard.bury(gone(second * 1_000..(second + 1) * 1_000, now).into_iter(), 0, now);
            assert!(graveyard.buried.len() <= ROOM.max(1_000));
        }
        assert!(graveyard.find(&key(9_999), start + Duration::from_secs(9)).is_some(), "the newest are kept");
    }
}
