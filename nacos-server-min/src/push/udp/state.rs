use std::net::SocketAddr;
use std::time::Duration;

use super::packet::Packet;
use super::subscribers::UdpTiming;

/// What one subscriber has been sent of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// It has the newest list, as far as anybody knows.
    Idle,
    /// A list waits to be sent. Exits: taken → `Flying`.
    Queued { at: Duration },
    /// The newest list is under way. Exits: acknowledged → `Idle`; change → `FlyingNewer`; silence, twice → the subscriber is dropped.
    Flying(Flight),
    /// A list is under way and a newer one waits. Exits: taken → `Flying`; acknowledged → `Queued`.
    FlyingNewer { flight: Flight, at: Duration },
}

/// A packet on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flight {
    /// `None` until the list has been read.
    pub(super) packet: Option<Packet>,
    pub(super) taken: Duration,
    pub(super) deadline: Duration,
    /// It has been sent twice.
    pub(super) again: bool,
}

impl Flight {
    pub(super) fn new(now: Duration, timing: &UdpTiming) -> Self {
        Self { packet: None, taken: now, deadline: now + timing.ack_timeout, again: false }
    }
}

/// What a subscriber wants at a moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    Nothing,
    /// The newest list.
    Newest,
    /// The packet under way, once more.
    Again,
    /// It has been silent for too long.
    GiveUp,
}

impl State {
    pub(super) fn changed(self, at: Duration, timing: &UdpTiming) -> Self {
        match self {
            Self::Idle => Self::Queued { at },
            Self::Queued { at: planned } => Self::Queued { at: planned.min(at) },
            Self::Flying(flight) => {
                let at = at.max(flight.taken + timing.spacing);
                Self::FlyingNewer { flight, at }
            }
            newer @ Self::FlyingNewer { .. } => newer,
        }
    }

    /// When [`State::due`] is next worth asking.
    pub(super) fn wake(&self) -> Option<Duration> {
        match self {
            Self::Idle => None,
            Self::Queued { at } => Some(*at),
            Self::Flying(flight) => Some(flight.deadline),
            Self::FlyingNewer { flight, at } => Some(flight.deadline.min(*at)),
        }
    }

    pub(super) fn due(&self, now: Duration) -> Due {
        match self {
            Self::Queued { at } | Self::FlyingNewer { at, .. } if *at <= now => Due::Newest,
            Self::Flying(flight) | Self::FlyingNewer { flight, .. } if flight.deadline <= now => {
                if flight.again {
                    Due::GiveUp
                } else {
                    Due::Again
                }
            }
            _ => Due::Nothing,
        }
    }

    pub(super) fn flight(&self) -> Option<&Flight> {
        match self {
            Self::Flying(flight) | Self::FlyingNewer { flight, .. } => Some(flight),
            Self::Idle | Self::Queued { .. } => None,
        }
    }

    pub(super) fn flight_mut(&mut self) -> Option<&mut Flight> {
        match self {
            Self::Flying(flight) | Self::FlyingNewer { flight, .. } => Some(flight),
            Self::Idle | Self::Queued { .. } => None,
        }
    }

    /// What was under way has arrived, or is not waited for.
    pub(super) fn landed(self, now: Duration) -> Self {
        match self {
            Self::Flying(_) => Self::Idle,
            Self::FlyingNewer { at, .. } => Self::Queued { at: at.min(now) },
            other => other,
        }
    }
}

/// What an acknowledgement names: the packet's number, and the address it came to.
pub(super) type AckKey = (SocketAddr, i64);
