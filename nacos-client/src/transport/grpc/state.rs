//! The life of a client's connections as a pure state machine: no sockets, no clock, no runtime.
//!
//! ```text
//!            Start            Up                    Down(live)
//!   Idle ───────────▶ Dialing ───────────▶ Live ───────────────▶ Backoff ── Elapsed ─▶ Dialing
//!                        │ Down(dialing)    │ ▲                     ▲
//!                        └──────────────────┼─┼─────────────────────┘
//!                                  ResetAsked │ Up: the old one retires, closed by its handover or after 5 s
//!                                           ▼ │
//!                                 MoveBackoff ── Elapsed ─▶ Moving (the old one serves on) ── Down(dialing) ─▶ MoveBackoff
//!   any ── Close ─▶ Closed
//! ```
//!
//! Every dial but the very first waits before it, so no sequence of events makes a loop without pause.
//! Time is a duration since any fixed moment.

use std::time::Duration;

use crate::{
    servers::Rotation,
    transport::{
        Epoch,
        backoff::{Cap, delay},
    },
};

/// A connection that held this long proves its server well: the back-off starts afresh after it.
const STABLE: Duration = Duration::from_secs(5);
/// How long an old connection may serve beside the one that replaces it.
pub(super) const HANDOVER_LIMIT: Duration = Duration::from_secs(5);

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The client begins to work.
    Start,
    /// A dialed connection finished its set-up.
    Up(Epoch),
    /// A connection ended, or an attempt failed.
    Down(Epoch),
    /// An attempt failed because nobody listens there.
    Refused(Epoch),
    /// The server of a live connection asks the client to move, to the given server of the list or anywhere.
    ResetAsked(Epoch, Option<usize>),
    /// The moment named by [`Machine::wake_at`] may have come.
    Elapsed,
    /// The client ends.
    Close,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Begin an attempt to connect.
    Dial {
        /// The number of the connection, should it succeed.
        epoch: Epoch,
        /// Index of the server in the list.
        server: usize,
        /// The connection it is to replace, which still serves.
        replaces: Option<Epoch>,
    },
    /// End this connection: it has been replaced.
    Retire(Epoch),
    /// End everything.
    CloseAll,
}

/// What a machine is doing, seen from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Idle,
    /// No connection serves; the server of this index is tried.
    Dialing(usize),
    /// A connection serves.
    Serving,
    /// No connection serves, none is being made.
    Waiting,
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Serving {
    epoch: Epoch,
    server: usize,
    since: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attempt {
    epoch: Epoch,
    server: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    /// Up → Live; Down → Backoff.
    Dialing(Attempt),
    /// Down → Backoff; `ResetAsked` → `MoveBackoff`.
    Live(Serving),
    /// Elapsed → Moving; Down → Backoff, not longer than the wait already begun.
    MoveBackoff {
        old: Serving,
        until: Duration,
    },
    /// Up → Live, retiring the old one; Down of the attempt → `MoveBackoff`; Down of the old one → Dialing.
    Moving {
        old: Serving,
        attempt: Attempt,
    },
    /// Elapsed → Dialing.
    Backoff {
        until: Duration,
    },
    Closed,
}

/// The machine. One driver feeds it and does what it says.
#[derive(Debug)]
pub(super) struct Machine {
    state: State,
    rotation: Rotation,
    rng: fastrand::Rng,
    /// Failures since a connection last held for [`STABLE`].
    failures: u32,
    epochs: u64,
    /// The server a reset named; tried once.
    advised: Option<usize>,
    /// A replaced connection that has not ended yet, and when it must.
    retiring: Option<(Epoch, Duration)>,
}

impl Machine {
    /// A machine for a list of `servers` (at least 1) servers; `rng` decides the start and the jitter.
    pub(super) fn new(servers: usize, mut rng: fastrand::Rng) -> Self {
        let rotation = Rotation::new(servers, rng.usize(..servers.max(1)));
        Self { state: State::Idle, rotation, rng, failures: 0, epochs: 0, advised: None, retiring: None }
    }

    /// Takes one input at the time `now` and returns what is to be done, in order.
    pub(super) fn step(&mut self, now: Duration, input: Input) -> Vec<Action> {
        match input {
            Input::Start if self.state == State::Idle => vec![self.dial(now, None)],
            Input::Start => Vec::new(),
            Input::Up(epoch) => self.up(now, epoch),
            Input::Down(epoch) => self.down(now, epoch, Cap::Usual),
            Input::Refused(epoch) => self.down(now, epoch, Cap::Refused),
            Input::ResetAsked(epoch, target) => self.reset_asked(now, epoch, target),
            Input::Elapsed => self.elapsed(now),
            Input::Close if self.state == State::Closed => Vec::new(),
            Input::Close => {
                self.state = State::Closed;
                self.retiring = None;
                vec![Action::CloseAll]
            }
        }
    }

    /// When to send the next [`Input::Elapsed`].
    pub(super) fn wake_at(&self) -> Option<Duration> {
        let retry = match self.state {
            State::Backoff { until } | State::MoveBackoff { until, .. } => Some(until),
            State::Idle | State::Dialing(_) | State::Live(_) | State::Moving { .. } | State::Closed => None,
        };
        let retire = self.retiring.map(|(_, until)| until);
        retry.into_iter().chain(retire).min()
    }

    /// Failures since a connection last held.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// What it is doing, seen from outside.
    pub(super) fn activity(&self) -> Activity {
        match self.state {
            State::Idle => Activity::Idle,
            State::Dialing(attempt) => Activity::Dialing(attempt.server),
            State::Live(_) | State::MoveBackoff { .. } | State::Moving { .. } => Activity::Serving,
            State::Backoff { .. } => Activity::Waiting,
            State::Closed => Activity::Closed,
        }
    }

    fn dial(&mut self, now: Duration, old: Option<Serving>) -> Action {
        let server = match self.advised.take() {
            Some(server) => {
                self.rotation.jump(server);
                server
            }
            None => self.rotation.advance(now),
        };
        self.epochs += 1;
        let attempt = Attempt { epoch: Epoch(self.epochs), server };
        self.state = match old {
            Some(old) => State::Moving { old, attempt },
            None => State::Dialing(attempt),
        };
        Action::Dial { epoch: attempt.epoch, server, replaces: old.map(|old| old.epoch) }
    }

    fn up(&mut self, now: Duration, epoch: Epoch) -> Vec<Action> {
        match self.state {
            State::Dialing(attempt) if attempt.epoch == epoch => {
                self.live(now, attempt);
                Vec::new()
            }
            State::Moving { old, attempt } if attempt.epoch == epoch => {
                self.live(now, attempt);
                let forced = self.retiring.replace((old.epoch, now + HANDOVER_LIMIT));
                forced.map(|(older, _)| Action::Retire(older)).into_iter().collect()
            }
            _ => Vec::new(), // late news of an attempt that was given up
        }
    }

    fn live(&mut self, now: Duration, attempt: Attempt) {
        self.rotation.worked(attempt.server);
        self.state = State::Live(Serving { epoch: attempt.epoch, server: attempt.server, since: now });
    }

    fn down(&mut self, now: Duration, epoch: Epoch, cap: Cap) -> Vec<Action> {
        if self.retiring.is_some_and(|(retiring, _)| retiring == epoch) {
            self.retiring = None;
            return Vec::new();
        }
        match self.state {
            State::Dialing(attempt) if attempt.epoch == epoch => {
                let until = self.failed(now, attempt.server, cap);
                self.state = State::Backoff { until };
            }
            State::Live(serving) if serving.epoch == epoch => {
                let until = self.lost(now, serving);
                self.state = State::Backoff { until };
            }
            State::MoveBackoff { old, until } if old.epoch == epoch => {
                let retry = self.lost(now, old);
                self.state = State::Backoff { until: until.min(retry) };
            }
            State::Moving { old, attempt } if attempt.epoch == epoch => {
                let until = self.failed(now, attempt.server, cap);
                self.state = State::MoveBackoff { old, until };
            }
            State::Moving { old, attempt } if old.epoch == epoch => {
                self.rotation.failed(old.server, now);
                self.state = State::Dialing(attempt);
            }
            _ => {} // a connection of the past
        }
        Vec::new()
    }

    fn failed(&mut self, now: Duration, server: usize, cap: Cap) -> Duration {
        self.rotation.failed(server, now);
        let wait = delay(self.failures, cap, &mut self.rng);
        self.failures = self.failures.saturating_add(1);
        now + wait
    }

    fn lost(&mut self, now: Duration, serving: Serving) -> Duration {
        if now.saturating_sub(serving.since) >= STABLE {
            self.failures = 0;
        }
        self.failed(now, serving.server, Cap::Usual)
    }

    fn reset_asked(&mut self, now: Duration, epoch: Epoch, target: Option<usize>) -> Vec<Action> {
        let State::Live(old) = self.state else {
            return Vec::new(); // moving already, or nothing to move from
        };
        if old.epoch != epoch {
            return Vec::new();
        }
        if now.saturating_sub(old.since) >= STABLE {
            self.failures = 0;
        }
        self.advised = target;
        // The server that wants to be rid of us is the last one to go to.
        let until = self.failed(now, old.server, Cap::Usual);
        self.state = State::MoveBackoff { old, until };
        Vec::new()
    }

    fn elapsed(&mut self, now: Duration) -> Vec<Action> {
        let mut actions = Vec::new();
        if let Some((old, until)) = self.retiring
            && now >= until
        {
            self.retiring = None;
            actions.push(Action::Retire(old));
        }
        match self.state {
            State::Backoff { until } if now >= until => actions.push(self.dial(now, None)),
            State::MoveBackoff { old, until } if now >= until => actions.push(self.dial(now, Some(old))),
            _ => {}
        }
        actions
    }
}

#[cfg(test)]
mod tests;
