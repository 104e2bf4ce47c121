//! How a client stands with its servers, as those see it who wait for a token.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

use super::{
    LoginError, LoginStatus, Token,
    machine::{Input, LogIn, Machine, Outlook},
};

/// What is known at a moment.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    /// The newest token.
    pub(super) token: Option<Token>,
    /// Why the last login failed; nothing after a success.
    pub(super) failure: Option<LoginError>,
    /// Since when it is like that: the token is there, or logins fail.
    pub(super) since: Instant,
    /// The path that the token was had by.
    pub(super) path: &'static str,
}

/// Shared by the driver and by who uses tokens.
#[derive(Debug)]
pub(super) struct Shared {
    machine: Mutex<Machine>,
    pub(super) standing: watch::Sender<Standing>,
    /// Somebody told the machine something.
    pub(super) told: Notify,
}

impl Shared {
    pub(super) fn new(machine: Machine) -> Self {
        let standing = Standing { token: None, failure: None, since: Instant::now(), path: "" };
        Self { machine: Mutex::new(machine), standing: watch::Sender::new(standing), told: Notify::new() }
    }

    pub(super) fn step(&self, input: Input) -> Option<LogIn> {
        self.machine().step(Instant::now(), input)
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.machine().wake_at()
    }

    pub(super) fn version(&self) -> u64 {
        self.machine().version()
    }

    pub(super) fn rejected(&self, token: &Token) -> Outlook {
        let outlook = self.machine().rejected(Instant::now(), token.version());
        self.told.notify_one();
        outlook
    }

    pub(super) fn made_again(&self, token: &Token, denied: bool) {
        self.machine().made_again(token.version(), denied);
    }

    pub(super) fn failed(&self, error: LoginError) {
        self.standing.send_modify(|standing| {
            if standing.failure.replace(error).is_none() {
                standing.since = Instant::now();
            }
        });
    }

    pub(super) fn status(&self) -> LoginStatus {
        let attempts = self.machine().failures();
        let standing = self.standing.borrow();
        let since = standing.since.into_std();
        match (&standing.failure, &standing.token) {
            (Some(error), token) => {
                LoginStatus::Failing { since, attempts, error: error.clone(), has_token: token.is_some() }
            }
            (None, Some(_)) => LoginStatus::LoggedIn { since, path: standing.path },
            (None, None) => LoginStatus::Pending,
        }
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        // Every critical section leaves a whole value, even if it panics.
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
