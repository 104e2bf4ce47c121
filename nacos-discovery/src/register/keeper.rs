use nacos_client::{ConfirmError, NamingService, Registration as Held};
use tokio::sync::{mpsc, oneshot, watch};

use super::{Record, RegisterError, Registration, RegistrationState};

/// Commands that may wait; each comes from a call that waits for its answer.
const INBOX: usize = 8;

/// What the keeper is asked to do.
pub(super) enum Command {
    /// Make it `wanted`, if nobody changed it since `version`.
    Change { version: u64, wanted: Registration, done: oneshot::Sender<Result<Changed, RegisterError>> },
    /// Take it back.
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
    held: Held,
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
        let keeper = Self { nacos, held, commands, record };
        // Ends when the registration is taken back, by a command or because all who could send one are gone, and when the
        // client is shut down.
        tokio::spawn(keeper.run());
        (sender, receiver)
    }

    async fn run(mut self) {
        loop {
            let seen = self.held.status();
            self.publish(seen.clone().into());
            let command = tokio::select! {
                command = self.commands.recv() => command,
                status = self.held.status_changed(&seen) => match status {
                    Ok(_) => continue,
                    Err(_) => return self.publish(RegistrationState::Deregistered),
                },
            };
            match command {
                Some(Command::Change { version, wanted, done }) => {
                    let result = self.change(version, wanted).await;
                    self.publish(self.held.status().into());
                    // Nobody waits any more: then nobody has to know.
                    drop(done.send(result));
                }
                Some(Command::Withdraw { done }) => {
                    let (held, record) = (self.held, self.record);
                    let result = held.withdraw().await;
                    record.send_modify(|record| record.state = RegistrationState::Deregistered);
                    drop(done.send(result));
                    return;
                }
                None => {
                    tracing::info!(service = %self.held.service(), "deregistering: its handle was dropped");
                    if let Err(error) = self.held.withdraw().await {
                        tracing::warn!(%error, "left without the registry's word");
                    }
                    return;
                }
            }
        }
    }

    async fn change(&mut self, version: u64, wanted: Registration) -> Result<Changed, RegisterError> {
        let (current, now) = {
            let record = self.record.borrow();
            (record.version, record.wanted.clone())
        };
        if current != version {
            return Ok(Changed::Overtaken);
        }
        if now.is_some_and(|now| now.is_same_place(&wanted)) {
            self.held.update(|_| wanted.instance.clone())?;
        } else {
            self.relocate(&wanted).await?;
        }
        self.record.send_modify(|record| {
            record.version += 1;
            record.wanted = Some(wanted);
        });
        Ok(Changed::Recorded)
    }

    /// First registered at the new place, then deregistered at the old one, so that the service is never without it.
    async fn relocate(&mut self, wanted: &Registration) -> Result<(), RegisterError> {
        let new = self.nacos.service(&wanted.service)?.register(wanted.instance.clone())?;
        match new.confirmed().await {
            Ok(()) => {}
            // Such a server holds one instance of a service for one client, and replaces it in one step.
            Err(ConfirmError::Unsupported { .. }) if self.held.service() == &wanted.service => {
                drop(new);
                return Ok(self.held.update(|_| wanted.instance.clone())?);
            }
            Err(error) => return Err(error.into()),
        }
        let old = std::mem::replace(&mut self.held, new);
        if let Err(error) = old.withdraw().await {
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

/// One line for every change of kind; failures in a row are one kind.
fn log(state: &RegistrationState, wanted: Option<&Registration>) {
    let Some(Registration { service, instance }) = wanted else { return };
    match state {
        RegistrationState::Registered => tracing::info!(%service, %instance, "registered"),
        RegistrationState::Pending => tracing::debug!(%service, %instance, "registration pending"),
        RegistrationState::Deregistered => tracing::info!(%service, %instance, "deregistered"),
        state => tracing::warn!(%service, %instance, %state, "not registered"),
    }
}
