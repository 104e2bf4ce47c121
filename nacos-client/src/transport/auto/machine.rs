//! Which protocol serves, as a pure state machine: no sockets, no clock.
//!
//! ```text
//!            Start              Up(Grpc)
//!   Idle ─────────▶ Deciding ───────────────────────────────▶ Grpc ── Down(Grpc) ─▶ Deciding
//!                      │ HTTP is up, and gRPC is not there       ▲ Released
//!                      ▼ or has had its time                     │
//!                    Http ── Elapsed ─▶ Looking ── Up(Grpc) ─▶ Moving ── Down(Grpc) ─▶ Deciding
//!                      │ ▲                 │
//!             Down(Http) └──── not there ──┘
//!                      ▼
//!                   Deciding
//! ```
//!
//! gRPC is tried first and HTTP a moment later, so a client of a server that has both does nothing over HTTP.

use std::time::Duration;

use tokio::time::Instant;

/// What gRPC may take before HTTP serves, if that answers. Below the deadline of a call, so that the first one still
/// has time to be made.
const LIMIT: Duration = Duration::from_millis(2_500);
/// How much later HTTP is tried if gRPC neither connects nor fails.
const HEAD_START: Duration = Duration::from_millis(300);
/// When gRPC is looked for after HTTP was chosen, ± 20 %: a server that starts may answer over HTTP seconds before it does over
/// gRPC, also one that has just taken the place of a 1.x server.
const FIRST_LOOKS: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(5), Duration::from_secs(10), Duration::from_secs(30)];
/// How often it is looked for from then on, ± 20 %: a 1.x server may be replaced by a later one.
const LOOK: Duration = Duration::from_secs(60);
/// How long HTTP may serve beside the gRPC connection that replaces it.
const HANDOVER: Duration = Duration::from_secs(5);

/// One of the two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Grpc,
    Http,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// The client begins to work.
    Start,
    /// A connection of this protocol is made; for HTTP, a server has answered.
    Up(Side),
    /// The newest connection of this protocol ended.
    Down(Side),
    /// So many attempts of gRPC have failed since it was opened.
    GrpcFailed(u32),
    /// Everything has moved to the gRPC connection.
    Released,
    /// The moment named by [`Machine::wake_at`] may have come.
    Elapsed,
    /// The client ends.
    Close,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Begin to connect.
    Open(Side),
    /// End everything of this protocol; what is registered over it is taken back.
    Close(Side),
    /// The same without taking anything back: it is going to be registered again at once.
    Abandon(Side),
    /// The newest connection of this protocol serves from now on.
    Serve(Side),
    /// The gRPC connection serves from now on, and HTTP beside it until everything has moved.
    Move,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Deciding(Deciding),
    Grpc,
    Http { looks: Looks, look_at: Instant },
    Looking { looks: Looks, until: Instant },
    Moving { until: Instant },
    Closed,
}

/// How often gRPC was looked for since HTTP was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Looks {
    chosen: Instant,
    done: usize,
}

/// gRPC is being tried, and HTTP too unless it is still to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Deciding {
    /// When HTTP is opened; `None` = it is.
    open_at: Option<Instant>,
    http_up: bool,
    /// From when on HTTP may serve.
    until: Instant,
    /// gRPC is known to be there: a few failures of it, as while a server restarts, say nothing.
    had_grpc: bool,
    began: Instant,
    /// Failed attempts of gRPC.
    failed: u32,
    /// As many say that no server has gRPC.
    enough: u32,
}

/// The machine. One relay feeds it and does what it says.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    state: State,
    servers: u32,
    rng: fastrand::Rng,
}

impl Machine {
    /// A machine for a list of `servers` servers.
    pub(super) fn new(servers: usize, rng: fastrand::Rng) -> Self {
        Self { state: State::Idle, servers: u32::try_from(servers).unwrap_or(u32::MAX), rng }
    }

    /// Takes one input at the time `now` and returns what is to be done, in order.
    pub(super) fn step(&mut self, now: Instant, input: Input) -> Vec<Action> {
        match (self.state, input) {
            (_, Input::Close) => {
                self.state = State::Closed;
                Vec::new()
            }
            (State::Idle, Input::Start) => {
                self.decide(now, false, Some(now + HEAD_START));
                vec![Action::Open(Side::Grpc)]
            }
            (State::Deciding(deciding), input) => self.deciding(deciding, now, input),
            (State::Grpc, Input::Down(Side::Grpc)) => {
                self.decide(now, true, Some(now + HEAD_START));
                Vec::new()
            }
            (State::Http { .. }, Input::Down(Side::Http)) => {
                self.decide(now, false, None);
                vec![Action::Open(Side::Grpc)]
            }
            (State::Http { looks, look_at }, Input::Elapsed) if now >= look_at => {
                let looks = Looks { done: looks.done + 1, ..looks };
                self.state = State::Looking { looks, until: now + LIMIT };
                vec![Action::Open(Side::Grpc)]
            }
            (State::Looking { .. }, input) => self.looking(now, input),
            (State::Moving { .. }, input) => self.moving(now, input),
            _ => Vec::new(),
        }
    }

    /// When to send the next [`Input::Elapsed`].
    pub(super) fn wake_at(&self) -> Option<Instant> {
        match self.state {
            State::Deciding(deciding) => deciding.open_at.or_else(|| deciding.http_up.then_some(deciding.until)),
            State::Http { look_at, .. } => Some(look_at),
            State::Looking { until, .. } | State::Moving { until } => Some(until),
            State::Idle | State::Grpc | State::Closed => None,
        }
    }

    /// The protocol that serves; the newer one while everything moves.
    pub(super) fn serving(&self) -> Option<Side> {
        match self.state {
            State::Grpc | State::Moving { .. } => Some(Side::Grpc),
            State::Http { .. } | State::Looking { .. } => Some(Side::Http),
            State::Idle | State::Deciding(_) | State::Closed => None,
        }
    }

    fn decide(&mut self, now: Instant, had_grpc: bool, open_at: Option<Instant>) {
        let enough = self.servers;
        let until = now + LIMIT;
        let deciding = Deciding { open_at, http_up: false, until, had_grpc, began: now, failed: 0, enough };
        self.state = State::Deciding(deciding);
    }

    fn deciding(&mut self, mut deciding: Deciding, now: Instant, input: Input) -> Vec<Action> {
        let mut actions = Vec::new();
        match input {
            Input::Up(Side::Grpc) => {
                self.state = State::Grpc;
                actions.push(Action::Serve(Side::Grpc));
                if deciding.open_at.is_none() {
                    actions.push(Action::Close(Side::Http));
                }
                return actions;
            }
            Input::Up(Side::Http) => {
                deciding.http_up = true;
                if now >= deciding.began + LIMIT {
                    // Servers were down, and what gRPC came to meanwhile says nothing of those that are up now.
                    deciding.until = now + LIMIT;
                    deciding.enough = deciding.failed.saturating_add(self.servers);
                }
            }
            Input::Down(Side::Http) => deciding.http_up = false,
            // Each server was tried once.
            Input::GrpcFailed(failures) => {
                deciding.failed = failures;
                if failures > 0 && !deciding.had_grpc {
                    deciding.open_at = deciding.open_at.map(|at| at.min(now));
                }
                if failures >= deciding.enough && !deciding.had_grpc {
                    deciding.until = deciding.until.min(now);
                }
            }
            Input::Elapsed => {}
            Input::Down(Side::Grpc) | Input::Start | Input::Released | Input::Close => {}
        }
        if deciding.open_at.is_some_and(|at| now >= at.min(deciding.until)) {
            deciding.open_at = None;
            actions.push(Action::Open(Side::Http));
        }
        if deciding.http_up && now >= deciding.until {
            self.wait_for_grpc(Looks { chosen: now, done: 0 }, now);
            actions.extend([Action::Serve(Side::Http), Action::Close(Side::Grpc)]);
        } else {
            self.state = State::Deciding(deciding);
        }
        actions
    }

    fn looking(&mut self, now: Instant, input: Input) -> Vec<Action> {
        let State::Looking { looks, until } = self.state else { return Vec::new() };
        match input {
            Input::Up(Side::Grpc) => {
                self.state = State::Moving { until: now + HANDOVER };
                vec![Action::Move]
            }
            Input::Down(Side::Http) => {
                self.decide(now, false, None);
                Vec::new()
            }
            Input::GrpcFailed(failures) if failures >= self.servers => self.not_there(looks, now),
            Input::Elapsed if now >= until => self.not_there(looks, now),
            _ => Vec::new(),
        }
    }

    fn not_there(&mut self, looks: Looks, now: Instant) -> Vec<Action> {
        self.wait_for_grpc(looks, now);
        vec![Action::Close(Side::Grpc)]
    }

    fn moving(&mut self, now: Instant, input: Input) -> Vec<Action> {
        let State::Moving { until } = self.state else { return Vec::new() };
        match input {
            Input::Released | Input::Down(Side::Http) => self.moved(),
            Input::Elapsed if now >= until => self.moved(),
            // What has moved is lost, and what has not may be on either side: all of it is registered again.
            Input::Down(Side::Grpc) => {
                self.decide(now, true, None);
                if let State::Deciding(deciding) = &mut self.state {
                    deciding.until = now;
                }
                vec![Action::Abandon(Side::Http), Action::Open(Side::Http)]
            }
            _ => Vec::new(),
        }
    }

    fn moved(&mut self) -> Vec<Action> {
        self.state = State::Grpc;
        vec![Action::Close(Side::Http)]
    }

    /// Lets HTTP serve until it is time to look again.
    fn wait_for_grpc(&mut self, looks: Looks, now: Instant) {
        let jitter = 0.8 + 0.4 * self.rng.f64();
        let first = FIRST_LOOKS.get(looks.done).map(|after| looks.chosen + after.mul_f64(jitter));
        let look_at = first.unwrap_or_else(|| now + LOOK.mul_f64(jitter));
        self.state = State::Http { looks, look_at: look_at.max(now) };
    }
}

#[cfg(test)]
mod tests;
