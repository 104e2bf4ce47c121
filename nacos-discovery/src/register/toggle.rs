use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::keeper::Command;
use super::{RegisterError, Registered, RegistrationState, Status};

/// How often the registry is asked whether a change has come into force.
const PACE: Duration = Duration::from_millis(100);
/// How long that may take; real registries show a change up to 0.6 s late.
const IN_FORCE: Duration = Duration::from_millis(1500);

impl Registered {
    /// Tells consumers to use this instance or to leave it, and waits until the registry says so too. Whatever an operator set
    /// for the instance stays as it is: only the enabled flag of the registration changes.
    ///
    /// Where an operator changed the instance, registries keep its enabled flag as well as the weight and the metadata that he
    /// meant. Then [`Status::Down`] takes the instance out of the registry, until [`Status::Up`] brings it back to the same
    /// settings; Nacos keeps those for 60 s without the instance.
    ///
    /// # Errors
    /// [`RegisterError::Overridden`] if an operator disabled the instance and it should be up: it will be once he enables it.
    /// Otherwise as [`Registered::update`].
    ///
    /// # Cancel safety
    /// As [`Registered::update`].
    pub async fn set_status(&self, status: Status) -> Result<(), RegisterError> {
        self.update(|registration| registration.instance.enabled = status == Status::Up).await?;
        if self.comes_into_force(status).await? {
            return Ok(());
        }
        match status {
            Status::Up => Err(RegisterError::Overridden { wanted: status }),
            Status::Down => Ok(self.command(|done| Command::Withhold { done }).await??),
        }
    }

    async fn comes_into_force(&self, status: Status) -> Result<bool, RegisterError> {
        let deadline = Instant::now() + IN_FORCE;
        loop {
            match self.status().await {
                Ok(Some(told)) if told == status => return Ok(true),
                Ok(None) => return Err(RegisterError::NotRegistered(self.state())),
                Err(error) if !error.is_retryable() || Instant::now() >= deadline => return Err(error),
                Ok(Some(_)) if Instant::now() >= deadline => return Ok(false),
                Ok(Some(_)) | Err(_) => sleep(PACE).await,
            }
        }
    }

    /// Asks the registry what it tells consumers; `None` if it does not have the instance. Registries do not list disabled
    /// instances, so one that is acknowledged and not listed is [`Status::Down`].
    ///
    /// # Errors
    /// [`RegisterError::Query`] if the registry does not answer.
    ///
    /// # Cancel safety
    /// Cancel safe: it only asks.
    pub async fn status(&self) -> Result<Option<Status>, RegisterError> {
        let Some(wanted) = self.registration().filter(|_| !self.state().is_over()) else { return Ok(None) };
        let listed = self.nacos().service(&wanted.service)?.query().await?;
        let key = wanted.instance.key();
        Ok(match listed.iter().find(|instance| key.is(instance)) {
            Some(instance) if instance.enabled => Some(Status::Up),
            Some(_) => Some(Status::Down),
            None => match self.state() {
                RegistrationState::Registered | RegistrationState::Withheld => Some(Status::Down),
                _ => None,
            },
        })
    }
}
