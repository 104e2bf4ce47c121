//! What this process wants registered for one service, and how far each wish has come.

use std::sync::Arc;

use tokio::time::Instant;

use super::trouble::Trouble;
use crate::error::ServerRefusal;
use crate::model::{Instance, InstanceKey};

/// How far a registration has come.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegistrationStatus {
    /// Not acknowledged yet, and nothing went wrong so far: there is no connection, or the request is on its way.
    Pending,
    /// The server the client is connected to has it as it is wanted.
    Confirmed,
    /// The server refused it as it is; tried again after a change or 30 s, and what it denied to the user also after a new login.
    Refused(ServerRefusal),
    /// The server failed to take it; tried again with growing pauses of at most 5 s.
    Failing {
        /// Failed attempts in a row.
        attempts: u32,
        /// When the first of them failed.
        since: std::time::Instant,
        /// What the last one failed with, as text for people.
        last_error: String,
    },
    /// The server cannot do what it takes: persistent instances, or a second instance of one service.
    Unsupported {
        /// First server version that can.
        needs: &'static str,
    },
    /// It was withdrawn, or another registration of the same address and cluster replaced it.
    Withdrawn,
}

/// One instance that is wanted.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) instance: Arc<Instance>,
    /// Which registration it belongs to.
    pub(crate) owner: u64,
    /// Grows with every change within the service.
    pub(crate) version: u64,
    /// The order in which instances were first wished for.
    pub(crate) order: u64,
    /// The version that the current connection acknowledged.
    pub(crate) acked: Option<u64>,
    pub(crate) verdict: Verdict,
    failing: Option<Box<Failing>>,
}

#[derive(Debug)]
struct Failing {
    attempts: u32,
    since: Instant,
    last: Trouble,
}

/// What the server thinks of a wish as it is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing against it is known.
    Open,
    /// Among several of which at least one was refused: to be tried alone.
    Suspect,
    /// Refused; to be tried again at `until`.
    Refused { trouble: Trouble, until: Instant },
    /// The server of this connection cannot hold it.
    Unsupported { needs: &'static str },
}

impl Wish {
    /// What differs from the acknowledged set was refused or failed.
    pub(crate) fn failed(&mut self, trouble: Trouble, now: Instant) {
        match &mut self.failing {
            Some(failing) => {
                failing.attempts = failing.attempts.saturating_add(1);
                failing.last = trouble;
            }
            None => self.failing = Some(Box::new(Failing { attempts: 1, since: now, last: trouble })),
        }
    }

    pub(crate) fn acknowledged(&mut self, version: u64) {
        if self.version == version {
            self.acked = Some(version);
            self.verdict = Verdict::Open;
            self.failing = None;
        }
    }

    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acked == Some(self.version)
    }

    pub(crate) fn status(&self) -> RegistrationStatus {
        let refusal = match &self.verdict {
            Verdict::Refused { trouble, .. } => trouble.refusal(),
            Verdict::Open | Verdict::Suspect | Verdict::Unsupported { .. } => None,
        };
        if let Some(said) = refusal {
            return RegistrationStatus::Refused(said);
        }
        match (&self.verdict, &self.failing) {
            (Verdict::Refused { trouble: Trouble::Unsupported(needs), .. } | Verdict::Unsupported { needs }, _) => {
                RegistrationStatus::Unsupported { needs }
            }
            _ if self.is_acknowledged() => RegistrationStatus::Confirmed,
            (_, Some(failing)) => RegistrationStatus::Failing {
                attempts: failing.attempts,
                since: failing.since.into_std(),
                last_error: failing.last.to_string(),
            },
            _ => RegistrationStatus::Pending,
        }
    }

    /// Why there is no use in waiting for a confirmation.
    pub(crate) fn hopeless(&self) -> Option<Trouble> {
        match &self.verdict {
            Verdict::Refused { trouble, .. } => Some(trouble.clone()),
            Verdict::Unsupported { needs } => Some(Trouble::Unsupported(needs)),
            Verdict::Open | Verdict::Suspect => None,
        }
    }

    pub(crate) fn last_error(&self) -> Option<String> {
        self.failing.as_ref().map(|failing| failing.last.to_string())
    }
}

/// The wishes of one service, sorted by identity.
///
/// A sorted vector: most services have one instance, and a tree node would cost more than all the rest.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    list: Vec<Wish>,
    versions: u64,
}

impl Wishes {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Wish> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Wish> {
        self.list.iter_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn find(&self, key: &InstanceKey) -> Option<&Wish> {
        self.position(key).ok().and_then(|at| self.list.get(at))
    }

    /// The wish of this instance's identity.
    pub(crate) fn of(&self, instance: &Instance) -> Option<&Wish> {
        self.list.binary_search_by(|w| w.instance.cmp_key(instance)).ok().and_then(|at| self.list.get(at))
    }

    pub(crate) fn of_mut(&mut self, instance: &Instance) -> Option<&mut Wish> {
        self.list.binary_search_by(|w| w.instance.cmp_key(instance)).ok().and_then(|at| self.list.get_mut(at))
    }

    fn position(&self, key: &InstanceKey) -> Result<usize, usize> {
        self.list.binary_search_by(|w| w.instance.key_parts().cmp(&key.parts()))
    }

    /// Wants `instance`, in place of one of the same identity; returns the version.
    pub(crate) fn set(&mut self, instance: Arc<Instance>, owner: u64) -> u64 {
        self.versions += 1;
        let version = self.versions;
        let new = Wish { instance, owner, version, order: version, acked: None, verdict: Verdict::Open, failing: None };
        match self.list.binary_search_by(|w| w.instance.cmp_key(&new.instance)) {
            Ok(at) => {
                if let Some(wish) = self.list.get_mut(at) {
                    *wish = Wish { order: wish.order, ..new };
                }
            }
            Err(at) => {
                if self.list.is_empty() {
                    self.list.reserve_exact(1);
                }
                self.list.insert(at, new);
            }
        }
        version
    }

    /// Does not want the instance any more, if it is `owner`'s or nobody in particular asks. Returns it if it was wanted.
    pub(crate) fn remove(&mut self, key: &InstanceKey, owner: Option<u64>) -> Option<Arc<Instance>> {
        let at = self.position(key).ok()?;
        if owner.is_some_and(|owner| self.list.get(at).is_none_or(|wish| wish.owner != owner)) {
            return None;
        }
        Some(self.list.remove(at).instance)
    }

    pub(crate) fn clear(&mut self) {
        self.list = Vec::new();
    }

    /// A new connection: nothing is acknowledged, and what the last server could not do the next one may.
    pub(crate) fn forget_acknowledgements(&mut self) {
        for wish in &mut self.list {
            wish.acked = None;
            if matches!(wish.verdict, Verdict::Unsupported { .. } | Verdict::Suspect) {
                wish.verdict = Verdict::Open;
            }
        }
    }

    /// There is a token: what was denied, or not sent for want of one, is tried again now.
    pub(crate) fn logged_in(&mut self) {
        for wish in &mut self.list {
            if matches!(&wish.verdict, Verdict::Refused { trouble, .. } if trouble.awaits_login()) {
                wish.verdict = Verdict::Open;
            }
        }
    }

    /// When the first refused wish is to be tried again.
    pub(crate) fn retry_at(&self) -> Option<Instant> {
        let until = |wish: &Wish| match wish.verdict {
            Verdict::Refused { until, .. } => Some(until),
            _ => None,
        };
        self.list.iter().filter_map(until).min()
    }
}
