use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::grace::Grace;
use super::pulse::{Beating, Pulse, PulseState, Verdict, exempts, judge, sane};
use crate::registry::{BeatTimes, Instance, KeyRef, Kind, Registry, Service, WriteError};

const SHARDS: usize = 64;
/// Pauses are looked for more often than the silent: an instance may ask for times of a few seconds.
const LOOK: Duration = Duration::from_secs(1);

/// How beats are taken; see [`crate::Settings`] for the defaults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BeatRules {
    pub(crate) check_interval: Duration,
    /// Whether the silent are removed at last, not only unhealthy.
    pub(crate) removes: bool,
    /// As the recorded server does it: times that are no numbers expire at once, and a late beat raises the dead.
    pub(crate) as_recorded: bool,
}

/// How an instance comes to be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    Registration,
    /// A beat that says everything, of an instance that was not known.
    Beat,
}

/// What a beat came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The instance lives. It is to beat every so many milliseconds, if its metadata say so.
    Known {
        interval: Option<i64>,
    },
    /// The instance has just been deregistered.
    Buried,
    Unknown,
}

/// What a check did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) unhealthy: usize,
    pub(crate) gone: usize,
}

/// When every ephemeral instance without a connection was last heard of.
#[derive(Debug)]
pub(crate) struct Beats {
    rules: BeatRules,
    hasher: RandomState,
    shards: Box<[Mutex<HashTable<Pulse>>]>,
    grace: Mutex<Grace>,
}

impl Beats {
    pub(crate) fn new(rules: BeatRules) -> Self {
        Self {
            rules,
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            grace: Mutex::new(Grace::new(rules.check_interval.min(LOOK))),
        }
    }

    pub(crate) fn check_interval(&self) -> Duration {
        self.rules.check_interval
    }

    /// Time between two calls of [`Beats::look`].
    pub(crate) fn look_interval(&self) -> Duration {
        self.rules.check_interval.min(LOOK)
    }

    /// Publishes the instance, which counts as a beat. A beat neither changes what is registered nor what was just deregistered.
    pub(crate) fn register(
        &self,
        registry: &Registry,
        key: KeyRef<'_>,
        instance: Instance,
        by: By,
        now: Duration,
    ) -> Result<(), WriteError> {
        let (ip, port) = (instance.host.to_string(), instance.port);
        let hash = self.hash(key, &ip, port);
        let (healthy, interval) = (instance.healthy, BeatTimes::own_interval(&instance));
        // Held meanwhile, so that neither a check nor a deregistration comes between the record and its pulse.
        let mut shard = self.shard(hash);
        if by == By::Beat && shard.find(hash, |pulse| pulse.is(key, &ip, port)).is_some_and(|pulse| pulse.holds(now)) {
            return Ok(());
        }
        let client = registry.publish_internal(key, Kind::Ephemeral, instance)?;
        let Some(service) = registry.find(key) else { return Ok(()) };
        let state = PulseState::Beating(Beating { client, last: now, healthy, interval });
        let pulse = Pulse { service, ip: ip.as_str().into(), port, state };
        let rehash = |pulse: &Pulse| self.hash(pulse.service.key(), &pulse.ip, pulse.port);
        match shard.entry(hash, |pulse| pulse.is(key, &ip, port), rehash) {
            Entry::Occupied(mut known) => *known.get_mut() = pulse,
            Entry::Vacant(vacant) => drop(vacant.insert(pulse)),
        }
        Ok(())
    }

    /// Withdraws what is registered for the address; for one beat interval, late beats of it count as nothing.
    pub(crate) fn deregister(
        &self,
        registry: &Registry,
        key: KeyRef<'_>,
        (ip, port): (&str, u16),
        default_interval: Duration,
        now: Duration,
    ) {
        let hash = self.hash(key, ip, port);
        let mut shard = self.shard(hash);
        registry.withdraw_internal(key, Kind::Ephemeral, Some(ip), port, seconds(now));
        let Ok(mut entry) = shard.find_entry(hash, |pulse| pulse.is(key, ip, port)) else { return };
        if self.rules.as_recorded {
            drop(entry.remove());
        } else if let PulseState::Beating(Beating { interval, .. }) = entry.get().state {
            let own = interval.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
            let until = now.saturating_add(own.unwrap_or(default_interval));
            entry.get_mut().state = PulseState::Buried { until };
        }
    }

    /// Takes a sign of life.
    pub(crate) fn beat(&self, registry: &Registry, key: KeyRef<'_>, (ip, port): (&str, u16), now: Duration) -> Heard {
        let hash = self.hash(key, ip, port);
        let mut shard = self.shard(hash);
        let Some(pulse) = shard.find_mut(hash, |pulse| pulse.is(key, ip, port)) else { return Heard::Unknown };
        match &mut pulse.state {
            PulseState::Buried { until } => {
                if now < *until {
                    Heard::Buried
                } else {
                    Heard::Unknown
                }
            }
            PulseState::Beating(beating) => {
                beating.last = now;
                if !beating.healthy {
                    beating.healthy = true;
                    registry.set_health_of(&beating.client, &pulse.service, true);
                    tracing::debug!(service = %pulse.service.key(), ip, port, "instance beats again");
                }
                Heard::Known { interval: beating.interval }
            }
        }
    }

    /// Whether the process was held up. Returns since when silence counts, and by how much this look is too late, if it is.
    pub(crate) fn look(&self, now: Duration) -> (Duration, Option<Duration>) {
        self.grace.lock().unwrap_or_else(PoisonError::into_inner).look(now)
    }

    /// A check goes through all of these.
    pub(crate) fn parts(&self) -> std::ops::Range<usize> {
        0..self.shards.len()
    }

    /// Marks and removes, in one part, what has been silent for too long.
    pub(crate) fn check(&self, registry: &Registry, part: usize, since: Duration, now: Duration) -> Found {
        let mut found = Found::default();
        let Some(shard) = self.shards.get(part) else { return found };
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        shard.retain(|pulse| {
            let beating = match &mut pulse.state {
                PulseState::Buried { until } => return now < *until,
                PulseState::Beating(beating) => beating,
            };
            let Some(verdict) = self.look_at(registry, &pulse.service, beating, since, now) else { return false };
            match verdict {
                Verdict::Alive => true,
                Verdict::Unhealthy => {
                    registry.set_health_of(&beating.client, &pulse.service, false);
                    beating.healthy = false;
                    found.unhealthy += 1;
                    tracing::debug!(
                        service = %pulse.service.key(), ip = %pulse.ip, port = pulse.port,
                        "instance is unhealthy: no beat in time"
                    );
                    true
                }
                Verdict::Gone => {
                    let (key, ip) = (pulse.service.key(), Some(&*pulse.ip));
                    registry.withdraw_internal(key, Kind::Ephemeral, ip, pulse.port, seconds(now));
                    found.gone += 1;
                    tracing::debug!(
                        service = %pulse.service.key(), ip = %pulse.ip, port = pulse.port,
                        "instance is removed: no beat for long"
                    );
                    false
                }
            }
        });
        found
    }

    /// Brings what is remembered of the instance up to date and judges its silence. `None`: there is nothing to watch.
    fn look_at(
        &self,
        registry: &Registry,
        service: &Service,
        beating: &mut Beating,
        since: Duration,
        now: Duration,
    ) -> Option<Verdict> {
        let shown = registry.shown_of(&beating.client, service)?;
        let instance = &*shown.instance;
        beating.healthy = instance.healthy;
        beating.interval = BeatTimes::own_interval(instance);
        let by_service =
            || shown.service.as_deref().is_some_and(|said| exempts(|key| said.entries.get(key).map(String::as_str)));
        if exempts(|key| instance.metadata(key)) || by_service() {
            return Some(Verdict::Alive);
        }
        let times =
            if self.rules.as_recorded { BeatTimes::as_recorded(instance) } else { sane(BeatTimes::of(instance)) };
        Some(judge(now.saturating_sub(beating.last.max(since)), times, beating.healthy, self.rules.removes))
    }

    fn hash(&self, key: KeyRef<'_>, ip: &str, port: u16) -> u64 {
        self.hasher.hash_one((key, ip, port))
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, HashTable<Pulse>> {
        // The table itself uses the lowest and the highest bits.
        let at = (hash >> 32) as usize % self.shards.len();
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }
}

impl Pulse {
    /// Whether a beat finds the instance here, or its grave.
    fn holds(&self, now: Duration) -> bool {
        match self.state {
            PulseState::Beating(_) => true,
            PulseState::Buried { until } => now < until,
        }
    }
}

/// The seconds of the server's own clock.
fn seconds(now: Duration) -> u32 {
    u32::try_from(now.as_secs()).unwrap_or(u32::MAX)
}
