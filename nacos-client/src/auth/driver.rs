//! Feeds the machine and does what it says: the one task that logs in.

use std::sync::Arc;

use futures_util::future::{BoxFuture, OptionFuture};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Credentials, CredentialsSource, LoginError, Token,
    logins::{Grant, Logins},
    machine::{Input, LogIn},
    standing::Shared,
};
use crate::{log_limit::LogLimit, wake};

/// How a login ended.
enum Outcome {
    Granted(Grant),
    Refused(LoginError, Credentials),
    Failed(LoginError),
    Unchanged,
}

/// The owner of all logins of a client. It ends when told to stop; a login under way is then abandoned.
pub(super) struct Driver {
    shared: Arc<Shared>,
    source: CredentialsSource,
    logins: Arc<Logins>,
    refused: Option<Credentials>,
    under_way: Option<BoxFuture<'static, Outcome>>,
    failed_log: LogLimit,
    /// Of the driver, also of one that never ran.
    _end: TellTheEnd,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>, source: CredentialsSource, logins: Arc<Logins>) -> Self {
        let end = TellTheEnd(Arc::clone(&shared));
        Self { shared, source, logins, refused: None, under_way: None, failed_log: LogLimit::default(), _end: end }
    }

    /// Runs until told to stop.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let shared = Arc::clone(&self.shared);
        self.step(Input::Start);
        loop {
            let wake = shared.wake_at();
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                Some(outcome) = OptionFuture::from(self.under_way.as_mut()) => self.ended(outcome),
                () = shared.told.notified() => {}
                () = wake::at(wake) => self.step(Input::Elapsed),
            }
        }
    }

    fn step(&mut self, input: Input) {
        if let Some(LogIn { anyway }) = self.shared.step(input) {
            let (source, logins) = (self.source.clone(), Arc::clone(&self.logins));
            let refused = self.refused.clone().filter(|_| !anyway);
            self.under_way = Some(Box::pin(log_in(source, logins, refused)));
        }
    }

    fn ended(&mut self, outcome: Outcome) {
        self.under_way = None;
        match outcome {
            Outcome::Granted(grant) => self.granted(grant),
            Outcome::Refused(error, credentials) => {
                self.refused = Some(credentials);
                self.failed(Input::Refused, error);
            }
            Outcome::Failed(error) => self.failed(Input::Failed, error),
            Outcome::Unchanged => self.step(Input::Unchanged),
        }
    }

    fn granted(&mut self, grant: Grant) {
        self.refused = None;
        self.step(Input::Granted(grant.life));
        let version = self.shared.version();
        let token = Token::new(version, &grant.token, grant.scheme);
        if version == 1 {
            tracing::info!(path = grant.path, life = ?grant.life, "logged in");
        } else {
            tracing::debug!(path = grant.path, life = ?grant.life, "logged in again");
        }
        self.shared.standing.send_modify(|standing| {
            (standing.token, standing.failure) = (token, None);
            (standing.since, standing.path) = (Instant::now(), grant.path);
        });
    }

    fn failed(&mut self, input: Input, error: LoginError) {
        match self.failed_log.pass(Instant::now()) {
            Some(left_out) => tracing::warn!(%error, lines_left_out = left_out, "not logged in, trying on"),
            None => tracing::debug!(%error, "not logged in"),
        }
        self.step(input);
        self.shared.failed(error);
    }
}

async fn log_in(source: CredentialsSource, logins: Arc<Logins>, refused: Option<Credentials>) -> Outcome {
    let credentials = match source.credentials().await {
        Ok(credentials) => credentials,
        Err(error) => return Outcome::Failed(error),
    };
    if refused.is_some_and(|refused| refused == credentials) {
        return Outcome::Unchanged;
    }
    match logins.log_in(&credentials).await {
        Ok(grant) => Outcome::Granted(grant),
        Err(error @ LoginError::Refused { .. }) => Outcome::Refused(error, credentials),
        Err(error) => Outcome::Failed(error),
    }
}

/// Lets everybody go who waits for a token, however the task ends.
struct TellTheEnd(Arc<Shared>);

impl Drop for TellTheEnd {
    fn drop(&mut self) {
        self.0.failed(LoginError::Closed);
    }
}
