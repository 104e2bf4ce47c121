use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{RegisterError, Registered, RegistrationState, Status};

/// How often the registry is asked whether a change has come into force; real ones show it up to 0.6 s late.
const PACE: Duration = Duration::from_millis(100);

impl Registered {
    /// Tells consumers to use this instance or to leave it, and waits until the registry says so too, at most for the client's deadline. Only the
    /// enabled flag of the registration changes; whatever an operator set for the instance stays as it is.
    ///
    /// # Errors
    /// [`RegisterError::Overridden`] if an operator's setting is in the way: the flag is registered all the same, and comes
    /// into force when that setting goes. Otherwise as [`Registered::update`].
    ///
    /// # Cancel safety
    /// As [`Registered::update`].
    pub async fn set_status(&self, status: Status) -> Result<(), RegisterError> {
        self.update(|registration| registration.instance.enabled = status == Status::Up).await?;
        let deadline = Instant::now() + self.patience();
        loop {
            match self.status().await {
                Ok(Some(told)) if told == status => return Ok(()),
                Ok(None) => return Err(RegisterError::NotRegistered(self.state())),
                Err(error) if !error.is_retryable() || Instant::now() >= deadline => return Err(error),
                Ok(Some(_)) if Instant::now() >= deadline => return Err(RegisterError::Overridden { wanted: status }),
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
            None if self.state() == RegistrationState::Registered => Some(Status::Down),
            None => None,
        })
    }
}
