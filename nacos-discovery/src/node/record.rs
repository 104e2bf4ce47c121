use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::load::Load;
use super::{Endpoint, Outcome};
use crate::eject::{Ejector, Seat};

/// What an instance is taken for of which nothing is known, where nothing is known of the others either: in seconds.
const UNKNOWN_LATENCY: f32 = 1e-3;

/// What this process knows of one instance from its own calls. One per identity (address and cluster) within a service: it
/// survives every list that changes anything else of the instance.
#[derive(Debug)]
pub(crate) struct Node {
    load: Load,
    seat: Seat,
    ejector: Arc<Ejector>,
}

impl Node {
    /// Of an instance seen for the first time at `now`, which is taken for as fast as `seed`: the median of the others.
    pub(crate) fn new(now: Instant, seed: Option<Duration>, ejector: Arc<Ejector>) -> Self {
        let load = Load::new(seed, now, ejector.pace());
        Self { load, seat: Seat::new(now, &ejector), ejector }
    }

    /// A call begins, if the instance takes one: the generation that it belongs to.
    #[inline]
    pub(crate) fn begin(&self, endpoint: &Endpoint) -> Option<u16> {
        let gate = self.seat.gate();
        let generation = if gate.is_open() { gate.generation } else { self.ejector.admit(endpoint, Instant::now())? };
        self.load.begin();
        Some(generation)
    }

    /// A call of this generation has ended.
    #[inline]
    pub(crate) fn end(&self, endpoint: &Endpoint, generation: u16, outcome: &Outcome, now: Instant) {
        self.load.end();
        let gate = self.seat.gate();
        // What began before an ejection says nothing of the time after it.
        if gate.generation == generation {
            self.load.observe(outcome, now, self.ejector.pace());
            self.ejector.ended(endpoint, gate, outcome, now);
        }
    }

    /// A call of this generation was given up. It says nothing, so the clock is read only where it was a probe.
    pub(crate) fn cancel(&self, endpoint: &Endpoint, generation: u16) {
        self.load.end();
        let gate = self.seat.gate();
        if gate.generation == generation && gate.is_probing() {
            self.ejector.ended(endpoint, gate, &Outcome::Cancelled, Instant::now());
        }
    }

    /// A call of this generation got a good answer, whose rest may take as long as it likes. That is all a probe is for.
    #[inline]
    pub(crate) fn answered(&self, endpoint: &Endpoint, generation: u16) {
        let gate = self.seat.gate();
        if gate.generation == generation && gate.is_probing() {
            self.ejector.answered(endpoint, gate, Instant::now());
        }
    }

    /// Whether a request may go there at this time of the ejector.
    pub(crate) fn is_usable(&self, at: u64) -> bool {
        self.seat.gate().is_passable(at)
    }

    /// Calls that have not ended.
    pub(crate) fn in_flight(&self) -> u32 {
        self.load.in_flight()
    }

    /// How long it takes to answer, if anything is known of it or the others.
    pub(crate) fn latency(&self) -> Option<Duration> {
        self.load.latency(self.ejector.pace()).map(Duration::from_secs_f32)
    }

    /// Nanoseconds until it would have answered one more call after those that it has: above 0.
    pub(crate) fn cost(&self) -> f64 {
        let latency = self.load.latency(self.ejector.pace()).unwrap_or(UNKNOWN_LATENCY);
        f64::from(latency) * 1e9 * (f64::from(self.in_flight()) + 1.0)
    }

    pub(crate) const fn load(&self) -> &Load {
        &self.load
    }

    pub(crate) const fn seat(&self) -> &Seat {
        &self.seat
    }
}
