//! What calls see of the login.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::{
    CredentialsSource, LoginError, LoginStatus, Token,
    driver::Driver,
    logins::Logins,
    machine::{Machine, Outlook},
    standing::{Shared, Standing},
};
use crate::{
    config::ClientConfig,
    transport::{StartError, Tasks},
};

/// The login of one client, shared by all who make calls for it. When the last of them is dropped, its task ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Auth(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    source: CredentialsSource,
    logins: Arc<Logins>,
    tasks: Tasks,
    /// Longest wait for a token.
    patience: Duration,
}

/// The share of the time for a call that it waits for a token: one silent server is told of by its name, and the call still ends as one that had
/// no token.
const PATIENCE: f64 = 5.0 / 6.0;

impl Auth {
    /// The login of a client with these settings. Does nothing yet.
    pub(crate) fn new(config: &ClientConfig) -> Self {
        Self(config.credentials.clone().map(|source| {
            let machine = Machine::new(source.rotates(), fastrand::Rng::new());
            let (shared, logins) = (Arc::new(Shared::new(machine)), Arc::new(Logins::new(config)));
            let patience = config.timeouts.request.mul_f64(PATIENCE);
            Arc::new(Inner { shared, source, logins, tasks: Tasks::new(), patience })
        }))
    }

    /// The same by other means than TCP.
    #[cfg(test)]
    pub(crate) fn over(config: &ClientConfig, connector: Arc<dyn crate::servers::Connector>) -> Self {
        Self(Self::new(config).0.map(|inner| {
            let logins = Arc::new(Logins::new(config).over(connector));
            let (shared, source, patience) = (Arc::clone(&inner.shared), inner.source.clone(), inner.patience);
            Arc::new(Inner { shared, source, logins, tasks: Tasks::new(), patience })
        }))
    }

    /// Whether nobody logs in.
    pub(crate) const fn is_off(&self) -> bool {
        self.0.is_none()
    }

    /// Begins to log in, on the tokio runtime of the caller. A second start changes nothing.
    ///
    /// # Errors
    ///
    /// Outside a runtime, or after the close.
    pub(crate) fn start(&self) -> Result<(), StartError> {
        let Some(inner) = &self.0 else { return Ok(()) };
        inner.tasks.begin(|_| {
            let (shared, source) = (Arc::clone(&inner.shared), inner.source.clone());
            Driver::new(shared, source, Arc::clone(&inner.logins)).run(inner.tasks.stop().clone())
        })
    }

    /// Ends the task and waits for it, at most `deadline`; resolves to whether it ended by itself.
    pub(crate) fn close(&self, deadline: Duration) -> BoxFuture<'static, bool> {
        let end = self.0.as_ref().and_then(|inner| inner.tasks.end(deadline));
        end.unwrap_or_else(|| Box::pin(async { true }))
    }

    /// The token for a call: none if nobody logs in. Waits for the end of the first login, but not as long as a call may take.
    ///
    /// # Errors
    ///
    /// There is no token, and the last login failed or has not ended.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with timers, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only waits.
    pub(crate) async fn pass(&self) -> Result<Option<Token>, LoginError> {
        let Some(inner) = &self.0 else { return Ok(None) };
        if let Some(token) = &inner.shared.standing.borrow().token {
            return Ok(Some(token.clone()));
        }
        inner.newer_than(0, Failures::All, inner.shared.standing.subscribe()).await.map(Some)
    }

    /// The token in place of `token`, with which a call was denied; `None` if no login is due, as the last ones did not help.
    ///
    /// # Errors
    ///
    /// The login failed, or did not end soon enough.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with timers, if it has to wait.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it only waits.
    pub(crate) async fn renewed(&self, token: &Token) -> Result<Option<Token>, LoginError> {
        let Some(inner) = &self.0 else { return Ok(None) };
        // Before the machine is told, so that no end of a login is missed.
        let standing = inner.shared.standing.subscribe();
        match inner.shared.rejected(token) {
            Outlook::Later => Ok(None),
            Outlook::Soon => inner.newer_than(token.version(), Failures::New, standing).await.map(Some),
        }
    }

    /// A call that was denied was made once more, with `token`; whether it was denied again.
    pub(crate) fn made_again(&self, token: &Token, denied: bool) {
        if let Some(inner) = &self.0 {
            inner.shared.made_again(token, denied);
        }
    }

    /// Why nothing could be asked for `waited`, if it is for want of a token.
    pub(crate) fn lack(&self, waited: Duration) -> Option<LoginError> {
        let standing = self.0.as_ref()?.shared.standing.borrow();
        match (&standing.token, &standing.failure) {
            (Some(_), _) => None,
            (None, Some(failure)) => Some(failure.clone()),
            (None, None) => Some(LoginError::Unfinished { waited }),
        }
    }

    /// Whether this client is logged in.
    pub(crate) fn status(&self) -> LoginStatus {
        self.0.as_ref().map_or(LoginStatus::Off, |inner| inner.shared.status())
    }

    /// Wakes at every end of a login; `None` if nobody logs in.
    pub(crate) fn watch(&self) -> Option<LoginWatch> {
        let inner = self.0.as_ref()?;
        Some(LoginWatch { standing: inner.shared.standing.subscribe(), seen: 0 })
    }
}

impl Inner {
    /// Waits for a token that is newer than `version`.
    async fn newer_than(
        &self,
        version: u64,
        failures: Failures,
        standing: watch::Receiver<Standing>,
    ) -> Result<Token, LoginError> {
        match tokio::time::timeout(self.patience, newer_than(version, failures, standing)).await {
            Ok(result) => result,
            Err(_) => {
                let failure = self.shared.standing.borrow().failure.clone();
                Err(failure.unwrap_or(LoginError::Unfinished { waited: self.patience }))
            }
        }
    }
}

/// Which failures of logins end a wait for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failures {
    /// Also the last one.
    All,
    /// Those that are still to come, and what no waiting cures.
    New,
}

async fn newer_than(
    version: u64,
    mut failures: Failures,
    mut standing: watch::Receiver<Standing>,
) -> Result<Token, LoginError> {
    loop {
        {
            let now = standing.borrow_and_update();
            if let Some(token) = now.token.as_ref().filter(|token| token.version() > version) {
                return Ok(token.clone());
            }
            let counts = |error: &&LoginError| failures == Failures::All || !error.is_retryable();
            if let Some(error) = now.failure.as_ref().filter(counts) {
                return Err(error.clone());
            }
        }
        if standing.changed().await.is_err() {
            return Err(LoginError::Closed);
        }
        failures = Failures::All;
    }
}

/// Tells of new tokens.
#[derive(Debug)]
pub(crate) struct LoginWatch {
    standing: watch::Receiver<Standing>,
    seen: u64,
}

impl LoginWatch {
    /// Waits for a token that is newer than the last one told of; never resolves after the client's end.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing is lost.
    pub(crate) async fn logged_in(&mut self) {
        loop {
            let version = self.standing.borrow_and_update().token.as_ref().map_or(0, Token::version);
            if version > self.seen {
                self.seen = version;
                return;
            }
            if self.standing.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
