//! Persistent instances: the registry keeps them, so they are registered until the first acknowledgement and never again.

use std::sync::Arc;

use tokio::time::Instant;

use super::backoff::Backoff;
use super::slot::REFUSED_RETRY;
use super::trouble::Trouble;
use super::wishes::RegistrationStatus;
use crate::model::{Instance, InstanceKey, ServiceKey};
use crate::transport::Call;

/// The persistent instances of one service that this process has something to do with.
#[derive(Debug, Default)]
pub(crate) struct PersistentWishes {
    list: Vec<PersistentWish>,
    versions: u64,
    /// Which wish, in which version, a call is on its way for.
    flight: Option<(InstanceKey, u64)>,
}

#[derive(Debug)]
struct PersistentWish {
    instance: Arc<Instance>,
    owner: u64,
    version: u64,
    stage: Stage,
    backoff: Backoff,
    failing: Option<(u32, Instant, Trouble)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Register,
    Registered,
    Deregister,
}

impl PersistentWishes {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many are not acknowledged yet.
    pub(crate) fn backlog(&self) -> usize {
        self.list.iter().filter(|w| w.stage != Stage::Registered).count()
    }

    fn find(&self, key: &InstanceKey) -> Option<&PersistentWish> {
        self.list.iter().find(|w| key.is(&w.instance))
    }

    /// Wants `instance` registered.
    pub(crate) fn register(&mut self, instance: Arc<Instance>, owner: u64) {
        self.put(instance, owner, Stage::Register);
    }

    /// Wants `instance` deregistered, whoever registered it.
    pub(crate) fn deregister(&mut self, instance: Arc<Instance>, owner: u64) {
        self.put(instance, owner, Stage::Deregister);
    }

    fn put(&mut self, instance: Arc<Instance>, owner: u64, stage: Stage) {
        self.versions += 1;
        self.list.retain(|w| w.instance.key_parts() != instance.key_parts());
        let (version, backoff) = (self.versions, Backoff::default());
        self.list.push(PersistentWish { instance, owner, version, stage, backoff, failing: None });
    }

    /// The owner lets go of its wish: what is not acknowledged yet is not tried any more, what is stays registered.
    pub(crate) fn release(&mut self, key: &InstanceKey, owner: u64) {
        self.list.retain(|w| !key.is(&w.instance) || w.owner != owner || w.stage == Stage::Deregister);
    }

    /// The instance as `owner` last wanted it.
    pub(crate) fn owned(&self, key: &InstanceKey, owner: u64) -> Option<&Arc<Instance>> {
        self.find(key).filter(|w| w.owner == owner && w.stage != Stage::Deregister).map(|w| &w.instance)
    }

    pub(crate) fn status(&self, key: &InstanceKey, owner: u64) -> Option<RegistrationStatus> {
        let wish = self.find(key).filter(|w| w.owner == owner && w.stage != Stage::Deregister)?;
        Some(match (wish.stage, &wish.failing) {
            (Stage::Registered, _) => RegistrationStatus::Confirmed,
            (_, Some((_, _, Trouble::Unsupported(needs)))) => RegistrationStatus::Unsupported { needs },
            (_, Some((attempts, since, last))) => match last.refusal() {
                Some(said) => RegistrationStatus::Refused(said),
                None => RegistrationStatus::Failing {
                    attempts: *attempts,
                    since: since.into_std(),
                    last_error: last.to_string(),
                },
            },
            (_, None) => RegistrationStatus::Pending,
        })
    }

    /// What the last attempt failed with.
    pub(crate) fn trouble(&self, key: &InstanceKey) -> Option<Trouble> {
        self.find(key).and_then(|w| w.failing.as_ref()).map(|(_, _, trouble)| trouble.clone())
    }

    /// Whether a deregistration of this instance is still to be acknowledged.
    pub(crate) fn is_leaving(&self, key: &InstanceKey) -> bool {
        self.find(key).is_some_and(|w| w.stage == Stage::Deregister)
    }

    /// The next call, to be reported with `acknowledged`, `failed` or `interrupted`.
    pub(crate) fn next(&mut self, key: &ServiceKey, now: Instant) -> Option<Call> {
        let due = |w: &&PersistentWish| w.stage != Stage::Registered && !w.backoff.is_waiting(now);
        let wish = self.list.iter().find(due)?;
        self.flight = Some((wish.instance.key(), wish.version));
        let (key, instance) = (key.clone(), Arc::clone(&wish.instance));
        Some(match wish.stage {
            Stage::Deregister => Call::DeregisterPersistent { key, instance },
            Stage::Register | Stage::Registered => Call::RegisterPersistent { key, instance },
        })
    }

    pub(crate) fn acknowledged(&mut self) {
        if let Some(at) = self.flown() {
            if self.list.get(at).is_some_and(|w| w.stage == Stage::Deregister) {
                self.list.remove(at);
            } else if let Some(wish) = self.list.get_mut(at) {
                wish.stage = Stage::Registered;
                wish.failing = None;
            }
        }
    }

    pub(crate) fn failed(&mut self, trouble: Trouble, now: Instant) {
        let Some(wish) = self.flown().and_then(|at| self.list.get_mut(at)) else { return };
        if trouble.is_final() {
            wish.backoff.wait_until(now + REFUSED_RETRY);
        } else {
            wish.backoff.next(now);
        }
        let (attempts, since) = wish.failing.as_ref().map_or((0, now), |(attempts, since, _)| (*attempts, *since));
        wish.failing = Some((attempts.saturating_add(1), since, trouble));
    }

    /// There is a token: what was denied, or not sent for want of one, is tried again now.
    pub(crate) fn logged_in(&mut self) {
        for wish in &mut self.list {
            if wish.failing.as_ref().is_some_and(|(_, _, trouble)| trouble.awaits_login()) {
                wish.backoff.clear();
            }
        }
    }

    /// The connection ended under a call: whether it was done is unknown, so it will be tried again.
    pub(crate) fn interrupted(&mut self) {
        self.flight = None;
    }

    /// The wish that the call under way was for, unless it changed meanwhile.
    fn flown(&mut self) -> Option<usize> {
        let (key, version) = self.flight.take()?;
        self.list.iter().position(|w| key.is(&w.instance) && w.version == version)
    }

    /// When a failed one is to be tried again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        self.list.iter().filter(|w| w.stage != Stage::Registered).filter_map(|w| w.backoff.until()).min()
    }
}
