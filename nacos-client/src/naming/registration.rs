//! The handle of one registered instance.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::client::Client;
use super::registrations::Records;
use super::trouble::Trouble;
use super::validate;
use super::wait::{Ended, wait_for};
use super::wishes::RegistrationStatus;
use crate::error::{ConfirmError, InvalidArgument, RegisterError, StartError, describe};
use crate::model::{Instance, InstanceKey, ServiceKey};

/// One instance that this process wants registered.
///
/// The wish is recorded when this is made; the client then makes every server it connects to agree with it, whatever
/// fails in between. Dropping the handle withdraws an ephemeral instance. A persistent one that was acknowledged stays
/// registered until it is withdrawn explicitly: the registry keeps it, not the client.
#[derive(Debug)]
#[must_use = "dropping a registration withdraws it; `keep` leaves it in place until the shutdown"]
pub struct Registration {
    client: Arc<Client>,
    records: Arc<Records>,
    owner: u64,
    ephemeral: bool,
    key: Mutex<InstanceKey>,
    armed: bool,
}

impl Registration {
    /// Records the wish for a validated instance.
    pub(crate) fn new(client: &Arc<Client>, service: &ServiceKey, instance: Instance) -> Self {
        let registrations = &client.core.registrations;
        let owner = registrations.new_owner();
        let (key, ephemeral) = (Mutex::new(instance.key()), instance.ephemeral);
        let instance = Arc::new(instance);
        let (records, ()) = registrations.change(service, |redo| {
            if ephemeral {
                redo.wishes.set(instance, owner);
            } else {
                redo.persistent.register(instance, owner);
            }
        });
        records.changed().notify_waiters();
        client.core.queue.records(&records);
        Self { client: Arc::clone(client), records, owner, ephemeral, key, armed: true }
    }

    fn key(&self) -> InstanceKey {
        self.key.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &ServiceKey {
        self.records.key()
    }

    /// The instance as it is wanted now; `None` once it was withdrawn or replaced.
    #[must_use]
    pub fn instance(&self) -> Option<Arc<Instance>> {
        let key = self.key();
        let state = self.records.lock();
        if self.ephemeral {
            state.redo.wishes.find(&key).filter(|w| w.owner == self.owner).map(|w| Arc::clone(&w.instance))
        } else {
            state.redo.persistent.owned(&key, self.owner).cloned()
        }
    }

    /// How far it has come.
    #[must_use]
    pub fn status(&self) -> RegistrationStatus {
        let key = self.key();
        let state = self.records.lock();
        let status = if self.ephemeral {
            state.redo.wishes.find(&key).filter(|w| w.owner == self.owner).map(super::wishes::Wish::status)
        } else {
            state.redo.persistent.status(&key, self.owner)
        };
        status.unwrap_or(RegistrationStatus::Withdrawn)
    }

    /// Waits until the status is another one than `seen`, and returns it.
    ///
    /// # Errors
    /// [`StartError::Closed`] when the client is shut down.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing is lost.
    pub async fn status_changed(&self, seen: &RegistrationStatus) -> Result<RegistrationStatus, StartError> {
        let other = || Some(self.status()).filter(|status| status != seen);
        wait_for(&self.client.core, self.records.changed(), None, other).await.map_err(Ended::start)
    }

    /// Waits until the server has acknowledged the instance as it is wanted, at most for the configured deadline.
    ///
    /// # Errors
    /// [`ConfirmError`]; the wish stays whatever it is, and waiting again is possible.
    ///
    /// # Cancel safety
    /// Cancel safe: it only waits.
    pub async fn confirmed(&self) -> Result<(), ConfirmError> {
        self.confirmed_within(self.client.core.config.timeouts.request).await
    }

    /// Like [`Registration::confirmed`], with a deadline of its own.
    ///
    /// # Errors
    /// As [`Registration::confirmed`].
    ///
    /// # Cancel safety
    /// Cancel safe: it only waits.
    pub async fn confirmed_within(&self, deadline: Duration) -> Result<(), ConfirmError> {
        let result = wait_for(&self.client.core, self.records.changed(), Some(deadline), || self.verdict()).await;
        match result {
            Ok(verdict) => verdict,
            Err(Ended::Deadline) => {
                Err(ConfirmError::Deadline { waited: deadline, last_error: self.last_error(deadline) })
            }
            Err(Ended::Start(error)) => Err(error.into()),
        }
    }

    fn verdict(&self) -> Option<Result<(), ConfirmError>> {
        if self.client.core.is_closed() {
            // The shutdown withdraws everything, but that is not what this caller must know.
            return Some(Err(StartError::Closed.into()));
        }
        match self.status() {
            RegistrationStatus::Confirmed => Some(Ok(())),
            RegistrationStatus::Withdrawn => Some(Err(ConfirmError::Withdrawn)),
            RegistrationStatus::Pending | RegistrationStatus::Failing { .. } => None,
            RegistrationStatus::Refused(_) | RegistrationStatus::Unsupported { .. } => self.hopeless().map(Err),
        }
    }

    fn hopeless(&self) -> Option<ConfirmError> {
        let key = self.key();
        let state = self.records.lock();
        let trouble = if self.ephemeral {
            state.redo.wishes.find(&key).and_then(super::wishes::Wish::hopeless)
        } else {
            state.redo.persistent.trouble(&key)
        };
        trouble.and_then(|trouble| trouble.confirm_error())
    }

    /// What keeps it from being acknowledged, after a wait of this length.
    fn last_error(&self, waited: Duration) -> Option<String> {
        let key = self.key();
        let state = self.records.lock();
        let own = if self.ephemeral {
            state.redo.wishes.find(&key).and_then(super::wishes::Wish::last_error)
        } else {
            state.redo.persistent.trouble(&key).map(|trouble| trouble.to_string())
        };
        let own = own.or_else(|| self.client.core.auth.lack(waited).map(|error| error.to_string()));
        own.or_else(|| self.client.transport.status().borrow().last_error.as_ref().map(|error| describe(error)))
    }

    /// Changes the instance, which is validated first and then registered anew; a refusal of the old one is forgotten.
    /// The address and the cluster may change too, but an ephemeral instance does not become persistent, nor the other way
    /// round: that takes another registration. Of two changes at the same time one may be lost.
    ///
    /// # Errors
    /// If the new instance is invalid, or there is nothing to change any more; then nothing changes.
    pub fn update(&self, change: impl FnOnce(Instance) -> Instance) -> Result<(), RegisterError> {
        self.client.start()?;
        let current = self.instance().ok_or(RegisterError::Withdrawn)?;
        let new = change(Instance::clone(&current));
        if new.ephemeral != self.ephemeral {
            // One handle stands for one kind: the other kind needs another request and another life.
            return Err(InvalidArgument::new("ephemeral", "cannot change, register another instance").into());
        }
        validate::instance(&self.client.core.config, &new)?;
        let mut key = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        let (old_key, new_key) = (key.clone(), new.key());
        let (ephemeral, owner) = (self.ephemeral, self.owner);
        let (records, done) = self.client.core.registrations.change(self.service(), |redo| {
            if ephemeral {
                if redo.wishes.find(&old_key).is_none_or(|w| w.owner != owner) {
                    return false;
                }
                if old_key != new_key {
                    redo.wishes.remove(&old_key, Some(owner));
                }
                redo.wishes.set(Arc::new(new), owner);
            } else {
                if redo.persistent.owned(&old_key, owner).is_none() {
                    return false;
                }
                if old_key != new_key {
                    redo.persistent.deregister(current, owner);
                }
                redo.persistent.register(Arc::new(new), owner);
            }
            true
        });
        *key = new_key;
        drop(key);
        records.changed().notify_waiters();
        self.client.core.queue.records(&records);
        if done { Ok(()) } else { Err(RegisterError::Withdrawn) }
    }

    /// Leaves the instance registered until the shutdown, without a handle.
    pub fn keep(mut self) {
        self.armed = false;
    }

    /// Leaves the instance registered without a handle and waits for the acknowledgement.
    pub(crate) fn kept(mut self) -> impl Future<Output = Result<(), ConfirmError>> + Send {
        self.armed = false;
        async move { self.confirmed().await }
    }

    /// Takes the wish back, at once and for good, and waits until the server has no trace of the instance, at most for
    /// the configured deadline.
    ///
    /// # Errors
    /// [`ConfirmError::Deadline`] if the server did not acknowledge in time, [`ConfirmError::Refused`] or
    /// [`ConfirmError::Denied`] if it said no; the client goes on trying, and the instance does not come back in any case.
    ///
    /// # Cancel safety
    /// Dropping the future ends the waiting; the instance is withdrawn from its first poll on, and by the drop otherwise.
    pub async fn withdraw(mut self) -> Result<(), ConfirmError> {
        let key = self.key();
        let instance = self.instance();
        self.armed = false;
        self.take_back(true);
        let Some(instance) = instance else { return Ok(()) };
        wait_gone(&self.client, &self.records, &instance, &key).await
    }

    fn take_back(&self, explicitly: bool) {
        let (key, owner, ephemeral) = (self.key(), self.owner, self.ephemeral);
        let (records, ()) = self.client.core.registrations.change(self.service(), |redo| {
            if ephemeral {
                redo.wishes.remove(&key, Some(owner));
            } else if explicitly {
                if let Some(instance) = redo.persistent.owned(&key, owner).cloned() {
                    redo.persistent.deregister(instance, owner);
                }
            } else {
                redo.persistent.release(&key, owner);
            }
        });
        records.changed().notify_waiters();
        self.client.core.queue.records(&records);
    }
}

/// Waits until the current connection holds nothing of `instance` any more, or the deadline.
pub(crate) async fn wait_gone(
    client: &Client,
    records: &Records,
    instance: &Instance,
    key: &InstanceKey,
) -> Result<(), ConfirmError> {
    let gone = || {
        let mut state = records.lock();
        if instance.ephemeral {
            // What another connection held went with it.
            client.core.with_link(|link| state.redo.observe(link));
            if !state.redo.may_be_held(instance) {
                return Some(Ok(()));
            }
            return state.redo.trouble().and_then(Trouble::confirm_error).map(Err);
        }
        if !state.redo.persistent.is_leaving(key) {
            return Some(Ok(()));
        }
        state.redo.persistent.trouble(key).and_then(|trouble| trouble.confirm_error()).map(Err)
    };
    let deadline = client.core.config.timeouts.request;
    match wait_for(&client.core, records.changed(), Some(deadline), gone).await {
        Ok(result) => result,
        Err(Ended::Start(error)) => Err(error.into()),
        Err(Ended::Deadline) => {
            let said = records.lock().redo.trouble().map(ToString::to_string);
            let of_link = || client.transport.status().borrow().last_error.as_ref().map(|error| describe(error));
            Err(ConfirmError::Deadline { waited: deadline, last_error: said.or_else(of_link) })
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.armed {
            self.take_back(false);
        }
    }
}
