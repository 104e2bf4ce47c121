//! The epochs of an HTTP client as a pure state machine: no sockets, no clock.
//!
//! HTTP knows no connection that could end. An epoch is a span in which some server answers:
//!
//! ```text
//!            Start              Found             no server for 2 s, nobody listens
//!   Idle ─────────▶ Seeking ───────────▶ Serving ──────────────────────────▶ Pausing ── Elapsed ─▶ Seeking
//!                      │ NotFound           │ ▲ Heard                           ▲
//!                      └────────────────────┼─┼─────────────────────────────────┘
//!                            Failing, silence ▼ │
//!                                          Serving, in doubt: a server is sought every 500 ms
//!   any ── Close ─▶ Closed
//! ```

use std::time::Duration;

use tokio::time::Instant;

use super::pulse::Heard;
use crate::transport::{
    Epoch,
    backoff::{Cap, delay},
};

/// For how long no server may answer before the epoch ends: hiccups pass, the restart of a server does not. Where nobody
/// listens the server has ended, and may be back within less, knowing nobody: that ends the epoch at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// The wait between two looks for a server while in doubt.
const LOOK: Duration = Duration::from_millis(500);
/// An epoch that held this long proves its servers well: the back-off starts afresh after it.
const STABLE: Duration = Duration::from_secs(5);

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The client begins to work.
    Start,
    /// A server was found.
    Found,
    /// None was. `refused`: nobody listens anywhere, so that asking again costs nothing.
    NotFound { refused: bool },
    /// What exchanges have told.
    Told(Heard),
    /// The moment named by [`Life::wake_at`] may have come.
    Elapsed,
    /// The client ends.
    Close,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Ask the servers, one after the other, whether they serve.
    Seek,
    /// An epoch begins, with the server that was found.
    Begin(Epoch),
    /// The epoch ends, because no server answers.
    End(Epoch),
}

/// What it is doing, seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Idle,
    Seeking,
    Serving,
    Waiting,
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Seeking,
    Serving(Serving),
    Pausing { until: Instant },
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Serving {
    epoch: Epoch,
    since: Instant,
    heard: Instant,
    failing: Option<Instant>,
    /// Servers are being asked.
    seeking: bool,
    /// When to ask them next.
    look_at: Instant,
}

/// The machine. One driver feeds it and does what it says.
#[derive(Debug)]
pub(super) struct Life {
    state: State,
    /// Silence after which a server is asked.
    idle: Duration,
    failures: u32,
    epochs: u64,
    rng: fastrand::Rng,
}

impl Life {
    pub(super) fn new(idle: Duration, rng: fastrand::Rng) -> Self {
        Self { state: State::Idle, idle, failures: 0, epochs: 0, rng }
    }

    /// Takes one input at the time `now` and returns what is to be done.
    pub(super) fn step(&mut self, now: Instant, input: Input) -> Option<Action> {
        match (self.state, input) {
            (_, Input::Close) => {
                self.state = State::Closed;
                None
            }
            (State::Idle, Input::Start) => Some(self.seek()),
            (State::Pausing { until }, Input::Elapsed) if now >= until => Some(self.seek()),
            (State::Seeking, Input::Found) => Some(self.begin(now)),
            (State::Seeking, Input::NotFound { refused }) => {
                self.pause(now, refused);
                None
            }
            (State::Serving(serving), input) => self.serve(serving, now, input),
            _ => None,
        }
    }

    /// When to send the next [`Input::Elapsed`].
    pub(super) fn wake_at(&self) -> Option<Instant> {
        match self.state {
            State::Pausing { until } => Some(until),
            State::Serving(serving) if !serving.seeking => Some(serving.look_at),
            State::Serving(_) | State::Idle | State::Seeking | State::Closed => None,
        }
    }

    /// Failures to find a server since an epoch last held.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// What it is doing, seen from outside.
    pub(super) fn activity(&self) -> Activity {
        match self.state {
            State::Idle => Activity::Idle,
            State::Seeking => Activity::Seeking,
            State::Serving(_) => Activity::Serving,
            State::Pausing { .. } => Activity::Waiting,
            State::Closed => Activity::Closed,
        }
    }

    fn seek(&mut self) -> Action {
        self.state = State::Seeking;
        Action::Seek
    }

    fn begin(&mut self, now: Instant) -> Action {
        self.epochs += 1;
        let epoch = Epoch(self.epochs);
        let look_at = now + self.idle;
        self.state = State::Serving(Serving { epoch, since: now, heard: now, failing: None, seeking: false, look_at });
        Action::Begin(epoch)
    }

    fn pause(&mut self, now: Instant, refused: bool) {
        let cap = if refused { Cap::Refused } else { Cap::Usual };
        let wait = delay(self.failures, cap, &mut self.rng);
        self.failures = self.failures.saturating_add(1);
        self.state = State::Pausing { until: now + wait };
    }

    fn serve(&mut self, mut serving: Serving, now: Instant, input: Input) -> Option<Action> {
        let mut action = None;
        match input {
            Input::Told(told) => {
                serving.heard = told.last.map_or(serving.heard, |last| last.max(serving.heard));
                serving.failing = told.failing.filter(|since| *since >= serving.since);
                self.plan_look(&mut serving, now);
            }
            Input::Found => {
                (serving.seeking, serving.heard, serving.failing) = (false, now, None);
                self.plan_look(&mut serving, now);
            }
            Input::NotFound { refused } => {
                serving.seeking = false;
                let since = *serving.failing.get_or_insert(now);
                if refused || now.saturating_duration_since(since) >= PATIENCE {
                    if now.saturating_duration_since(serving.since) >= STABLE {
                        self.failures = 0;
                    }
                    self.pause(now, refused);
                    return Some(Action::End(serving.epoch));
                }
                serving.look_at = now + LOOK;
            }
            Input::Elapsed if !serving.seeking && now >= serving.look_at => {
                serving.seeking = true;
                action = Some(Action::Seek);
            }
            Input::Elapsed | Input::Start | Input::Close => {}
        }
        self.state = State::Serving(serving);
        action
    }

    /// In doubt at once, else after a silence.
    fn plan_look(&self, serving: &mut Serving, now: Instant) {
        serving.look_at = match serving.failing {
            Some(_) => serving.look_at.min(now),
            None => serving.heard + self.idle,
        };
    }
}

#[cfg(test)]
mod tests;
