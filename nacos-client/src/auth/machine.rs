//! When to log in, as a pure state machine: no sockets, no clock, no token.
//!
//! ```text
//!          Start                  Granted                  Elapsed, at 70–80 % of the token's life
//!   Idle ─────────▶ LoggingIn ──────────────▶ Holding ─────────────────────────────▶ LoggingIn
//!                      │  ▲                      │ rejected                              ▲
//!      Refused, Failed │  │ Elapsed              ▼                                      │
//!                      └▶ Retrying              Due ── Elapsed, 1 s after the last login ─┘
//! ```
//!
//! A token, once there, is used until there is a newer one, whatever becomes of logins: whether a call was denied because of the token
//! or because of what it asked for cannot be seen.

use std::time::Duration;

use tokio::time::Instant;

/// Two logins are at least this far apart if calls that are denied ask for them.
const DISTANCE: Duration = Duration::from_secs(1);
/// The longest distance, where logins did not help: well below the time after which an instance without beats is taken for
/// unhealthy, as it may be a call that is never allowed that asks, and then the token becomes worthless for all.
const LONGEST_DISTANCE: Duration = Duration::from_secs(8);
/// The longest wait after a failure.
const LONGEST: Duration = Duration::from_secs(30);
/// How often a callback is asked for other credentials than those that were refused.
const ASK: Duration = Duration::from_secs(1);
/// The first wait for servers that cannot be reached while there is no token at all, and the longest: nobody can do anything until then.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_FIRST_WAIT: Duration = Duration::from_secs(1);
/// The life of a token of which the server says nothing, or nothing of use.
pub(super) const UNKNOWN_LIFE: Duration = Duration::from_secs(60);
const LONGEST_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);
/// The share of its life after which a token is replaced; up to an eighth of that earlier, at random.
const REFRESH: f64 = 0.8;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The client begins to work.
    Start,
    /// A login succeeded; what is left of the token's life, if the server said so.
    Granted(Option<Duration>),
    /// Servers refuse these credentials.
    Refused,
    /// No server could be reached, or there are no credentials.
    Failed,
    /// The credentials are those that were refused: nothing was asked.
    Unchanged,
    /// The moment named by [`Machine::wake_at`] may have come.
    Elapsed,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogIn {
    /// Also with the credentials that were refused last.
    pub(super) anyway: bool,
}

/// What whose token was rejected may expect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outlook {
    /// A newer token is there, or there will be the end of a login soon.
    Soon,
    /// The last logins were of no use, and the next is not due yet.
    Later,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// `anyway_at`: these are refused credentials unless others come, and when they are tried all the same.
    LoggingIn {
        began: Instant,
        anyway_at: Option<Instant>,
    },
    Holding {
        since: Instant,
        refresh_at: Instant,
    },
    Due {
        at: Instant,
    },
    Retrying {
        trouble: Trouble,
        /// When the last login began.
        tried: Instant,
        at: Instant,
        anyway_at: Instant,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    Refused,
    Failed,
}

/// The machine. One driver feeds it and does what it says.
#[derive(Debug)]
pub(super) struct Machine {
    state: State,
    /// Number of the newest token; 0 for none.
    version: u64,
    /// Failures since the last success.
    failures: u32,
    /// Logins in a row that did not help those who were denied.
    vain: u32,
    /// The newest of them.
    last_vain: u64,
    /// Credentials may change by themselves.
    rotates: bool,
    rng: fastrand::Rng,
}

impl Machine {
    pub(super) fn new(rotates: bool, rng: fastrand::Rng) -> Self {
        Self { state: State::Idle, version: 0, failures: 0, vain: 0, last_vain: 0, rotates, rng }
    }

    /// Takes one input at the time `now` and returns what is to be done.
    pub(super) fn step(&mut self, now: Instant, input: Input) -> Option<LogIn> {
        match (self.state, input) {
            (State::Idle, Input::Start) => Some(self.log_in(now, None)),
            (State::LoggingIn { began, anyway_at }, input) => {
                self.ended(now, began, anyway_at, input);
                None
            }
            (State::Holding { refresh_at: at, .. } | State::Due { at }, Input::Elapsed) if now >= at => {
                Some(self.log_in(now, None))
            }
            (State::Retrying { at, anyway_at, .. }, Input::Elapsed) if now >= at => {
                Some(self.log_in(now, Some(anyway_at).filter(|at| now < *at)))
            }
            _ => None,
        }
    }

    /// A call was denied with token number `version`.
    pub(super) fn rejected(&mut self, now: Instant, version: u64) -> Outlook {
        if version < self.version {
            return Outlook::Soon;
        }
        match &mut self.state {
            State::Holding { since, .. } => {
                let distance = DISTANCE.saturating_mul(1 << self.vain.min(5)).min(LONGEST_DISTANCE);
                let at = now.max(*since + distance);
                if at.duration_since(now) > DISTANCE {
                    return Outlook::Later;
                }
                self.state = State::Due { at };
            }
            // A token that was good while servers were away is not any more: there is reason to ask again sooner.
            State::Retrying { trouble: Trouble::Failed, tried, at, anyway_at } => {
                *at = (*at).min(now.max(*tried + DISTANCE));
                *anyway_at = *at;
            }
            State::Idle | State::LoggingIn { .. } | State::Due { .. } | State::Retrying { .. } => {}
        }
        Outlook::Soon
    }

    /// A call that had been denied was made once more with token number `version`; whether it was denied again.
    pub(super) fn made_again(&mut self, version: u64, denied: bool) {
        if !denied {
            self.vain = 0;
        } else if version == self.version && self.last_vain != version {
            self.last_vain = version;
            self.vain = (self.vain + 1).min(5);
        }
    }

    /// When to send the next [`Input::Elapsed`].
    pub(super) const fn wake_at(&self) -> Option<Instant> {
        match self.state {
            State::Idle | State::LoggingIn { .. } => None,
            State::Holding { refresh_at: at, .. } | State::Due { at } | State::Retrying { at, .. } => Some(at),
        }
    }

    /// Number of the newest token; 0 for none.
    pub(super) const fn version(&self) -> u64 {
        self.version
    }

    /// Failed logins since the last success.
    pub(super) const fn failures(&self) -> u32 {
        self.failures
    }

    fn log_in(&mut self, now: Instant, anyway_at: Option<Instant>) -> LogIn {
        self.state = State::LoggingIn { began: now, anyway_at };
        LogIn { anyway: anyway_at.is_none() }
    }

    fn ended(&mut self, now: Instant, began: Instant, anyway_at: Option<Instant>, input: Input) {
        match input {
            Input::Granted(life) => {
                self.version += 1;
                self.failures = 0;
                let life = life.filter(|life| !life.is_zero()).unwrap_or(UNKNOWN_LIFE).min(LONGEST_LIFE);
                let share = REFRESH * (1.0 - self.rng.f64() / 8.0);
                self.state = State::Holding { since: now, refresh_at: now + life.mul_f64(share) };
            }
            Input::Refused => {
                let anyway_at = now + self.wait(Trouble::Refused);
                self.retry(Trouble::Refused, began, now, anyway_at);
            }
            Input::Failed => {
                let at = now + self.wait(Trouble::Failed);
                self.state = State::Retrying { trouble: Trouble::Failed, tried: began, at, anyway_at: at };
            }
            Input::Unchanged => self.retry(Trouble::Refused, began, now, anyway_at.unwrap_or(now)),
            Input::Start | Input::Elapsed => {}
        }
    }

    fn retry(&mut self, trouble: Trouble, tried: Instant, now: Instant, anyway_at: Instant) {
        let at = if self.rotates { anyway_at.min(now + ASK) } else { anyway_at };
        self.state = State::Retrying { trouble, tried, at, anyway_at };
    }

    /// The wait after one more failure.
    fn wait(&mut self, trouble: Trouble) -> Duration {
        let doubled = 1 << self.failures.min(10);
        self.failures = self.failures.saturating_add(1);
        match trouble {
            Trouble::Failed if self.version == 0 => FIRST_WAIT.saturating_mul(doubled).min(LONGEST_FIRST_WAIT),
            Trouble::Refused | Trouble::Failed => DISTANCE.saturating_mul(doubled).min(LONGEST),
        }
    }
}

#[cfg(test)]
mod tests;
