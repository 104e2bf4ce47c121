use nacos_client::{ConfirmError, NamingService, Registration as Held, RegistrationStatus, StartError};
use tokio::sync::{mpsc, oneshot, watch};

use super::{Record, RegisterError, Registration, RegistrationState};

/// Commands that may wait; each comes from a call that waits for its answer.
const INBOX: usize = 8;

/// What the keeper is asked to do.
pub(super) enum Command {
    /// Make it `wanted`, if nobody changed it since `version`.
    Change { version: u64, wanted: Registration, done: oneshot::Sender<Result<Changed, RegisterError>> },
    /// Take it out of the registry until it is wanted enabled again, unless it is already.
    Withhold { done: oneshot::Sender<Result<(), ConfirmError>> },
    /// Take it back for good.
    Withdraw { done: oneshot::Sender<Result<(), ConfirmError>> },
}

/// What became of a change.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// It is recorded.
    Recorded,
    /// Somebody was quicker: nothing is recorded.
    Overtaken,
}

/// Owns the registration: the one place where it is changed, moved and taken back.
pub(super) struct Keeper {
    nacos: NamingService,
    /// `None` while it is withheld.
    held: Option<Held>,
    commands: mpsc::Receiver<Command>,
    record: watch::Sender<Record>,
}

impl Keeper {
    /// Keeps `held`, which is `wanted`, until it is told otherwise or nobody can tell it any more.
    pub(super) fn spawn(
        nacos: NamingService,
        held: Held,
        wanted: Registration,
    ) -> (mpsc::Sender<Command>, watch::Receiver<Record>) {
        let (sender, commands) = mpsc::channel(INBOX);
        let state = RegistrationState::from(held.status());
        log(&state, Some(&wanted));
        let (record, receiver) = watch::channel(Record::new(state, Some(wanted)));
        let keeper = Self { nacos, held: Some(held), commands, record };
        // Ends when the registration is taken back, by a command or because all who could send one are gone, and when the
        // client is shut down.
        tokio::spawn(keeper.run());
        (sender, receiver)
    }

    async fn run(mut self) {
        loop {
            let seen = self.held.as_ref().map(Held::status);
            self.publish(seen.clone().map_or(RegistrationState::Withheld, Into::into));
            let command = tokio::select! {
                command = self.commands.recv() => command,
                changed = changed(self.held.as_ref(), seen) => match changed {
                    Ok(()) => continue,
                    Err(_) => return self.publish(RegistrationState::Deregistered),
                },
            };
            match command {
                Some(Command::Change { version, wanted, done }) => {
                    let result = self.change(version, wanted).await;
                    self.publish(self.state());
                    // Nobody waits any more: then nobody has to know.
                    drop(done.send(result));
                }
                Some(Command::Withhold { done }) => {
                    let result = self.withhold().await;
                    self.publish(self.state());
                    drop(done.send(result));
                }
                Some(Command::Withdraw { done }) => {
                    let result = withdraw(self.held.take()).await;
                    self.publish(RegistrationState::Deregistered);
                    drop(done.send(result));
                    return;
                }
                None => {
                    tracing::info!("deregistering: the handle of the registration was dropped");
                    if let Err(error) = withdraw(self.held.take()).await {
                        tracing::warn!(%error, "left without the registry's word");
                    }
                    return self.publish(RegistrationState::Deregistered);
                }
            }
        }
    }

    fn state(&self) -> RegistrationState {
        self.held.as_ref().map_or(RegistrationState::Withheld, |held| held.status().into())
    }

    async fn change(&mut self, version: u64, wanted: Registration) -> Result<Changed, RegisterError> {
        let (current, now) = {
            let record = self.record.borrow();
            (record.version, record.wanted.clone())
        };
        if current != version {
            return Ok(Changed::Overtaken);
        }
        match &self.held {
            None if !wanted.instance.enabled => {}
            None => self.held = Some(self.nacos.service(&wanted.service)?.register(wanted.instance.clone())?),
            Some(held) if now.is_some_and(|now| now.is_same_place(&wanted)) => {
                held.update(|_| wanted.instance.clone())?;
            }
            Some(_) => self.relocate(&wanted).await?,
        }
        self.record.send_modify(|record| {
            record.version += 1;
            record.wanted = Some(wanted);
        });
        Ok(Changed::Recorded)
    }

    async fn withhold(&mut self) -> Result<(), ConfirmError> {
        // Whoever asked wanted it down then; somebody may want it up since.
        if self.record.borrow().wanted.as_ref().is_some_and(|wanted| wanted.instance.enabled) {
            return Ok(());
        }
        withdraw(self.held.take()).await
    }

    /// First registered at the new place, then deregistered at the old one, so that the service is never without it.
    async fn relocate(&mut self, wanted: &Registration) -> Result<(), RegisterError> {
        let new = self.nacos.service(&wanted.service)?.register(wanted.instance.clone())?;
        match (new.confirmed().await, &self.held) {
            (Ok(()), _) => {}
            // Such a server holds one instance of a service for one client, and replaces it in one step.
            (Err(ConfirmError::Unsupported { .. }), Some(held)) if held.service() == &wanted.service => {
                drop(new);
                return Ok(held.update(|_| wanted.instance.clone())?);
            }
            (Err(error), _) => return Err(error.into()),
        }
        if let Err(error) = withdraw(self.held.replace(new)).await {
            tracing::warn!(%error, "moved, but the old place is left without the registry's word");
        }
        Ok(())
    }

    fn publish(&self, state: RegistrationState) {
        self.record.send_if_modified(|record| {
            if record.state == state {
                return false;
            }
            if record.state.name() != state.name() {
                log(&state, record.wanted.as_ref());
            }
            record.was_visible |= state == RegistrationState::Registered;
            record.state = state;
            true
        });
    }
}

/// Waits until the status of what is held is another one than `seen`.
async fn changed(held: Option<&Held>, seen: Option<RegistrationStatus>) -> Result<(), StartError> {
    match held.zip(seen) {
        Some((held, seen)) => held.status_changed(&seen).await.map(drop),
        None => std::future::pending().await,
    }
}

async fn withdraw(held: Option<Held>) -> Result<(), ConfirmError> {
    match held {
        Some(held) => held.withdraw().await,
        None => Ok(()),
    }
}

/// One line for every change of kind; failures in a row are one kind.
fn log(state: &RegistrationState, wanted: Option<&Registration>) {
    let Some(Registration { service, instance }) = wanted else { return };
    match state {
        RegistrationState::Registered => tracing::info!(%service, %instance, "registered"),
        RegistrationState::Pending => tracing::debug!(%service, %instance, "registration pending"),
        RegistrationState::Withheld => tracing::info!(%service, %instance, "out of the registry until it is up again"),
        RegistrationState::Deregistered => tracing::info!(%service, %instance, "deregistered"),
        RegistrationState::Replaced => {
            tracing::warn!(%service, %instance, "replaced by another registration of this client")
        }
        state => tracing::warn!(%service, %instance, %state, "not registered"),
    }
}
