use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use tokio::time::Instant;

use super::*;
use crate::node::Node;

/// What an instance makes of a call that comes at a time after the start: how long it takes, and how it ends.
type Behaviour = Box<dyn Fn(u16, Duration) -> (Duration, Outcome)>;

/// Requests that come by chance at a given rate, and instances that take time, on the paused clock.
pub(super) struct Simulation {
    pub(super) service: Service,
    pub(super) behaviour: Behaviour,
    /// Attempts per request, each of another instance.
    pub(super) attempts: usize,
    begin: Instant,
    rng: fastrand::Rng,
    ends: BinaryHeap<Reverse<(Instant, u64)>>,
    calls: HashMap<u64, Call>,
    count: u64,
    seen: Seen,
}

struct Call {
    picked: Picked,
    outcome: Outcome,
    tried: Vec<Arc<Node>>,
}

/// What happened in a span of time.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    pub(super) picks: BTreeMap<u16, usize>,
    /// Requests whose last attempt failed.
    pub(super) errors: usize,
}

impl Seen {
    pub(super) fn share(&self, port: u16) -> f64 {
        let all: usize = self.picks.values().sum();
        *self.picks.get(&port).unwrap_or(&0) as f64 / all as f64
    }
}

impl Simulation {
    pub(super) fn new(service: Service, behaviour: impl Fn(u16, Duration) -> (Duration, Outcome) + 'static) -> Self {
        Self {
            service,
            behaviour: Box::new(behaviour),
            attempts: 1,
            begin: Instant::now(),
            rng: fastrand::Rng::with_seed(11),
            ends: BinaryHeap::new(),
            calls: HashMap::new(),
            count: 0,
            seen: Seen::default(),
        }
    }

    /// Lets requests come for so many seconds.
    pub(super) async fn run(&mut self, seconds: f64, per_second: f64) -> Seen {
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let mut arrival = Instant::now();
        loop {
            // Intervals of a Poisson process.
            arrival += Duration::from_secs_f64(-(1.0 - self.rng.f64()).ln() / per_second);
            if arrival >= end {
                break;
            }
            self.pass_until(arrival).await;
            self.send(vec![]);
        }
        self.pass_until(end).await;
        std::mem::take(&mut self.seen)
    }

    /// Lets every call end.
    pub(super) async fn drain(&mut self) {
        while let Some(Reverse((at, _))) = self.ends.peek().copied() {
            self.pass_until(at).await;
        }
    }

    async fn pass_until(&mut self, until: Instant) {
        while let Some(Reverse((at, id))) = self.ends.peek().copied().filter(|Reverse((at, _))| *at <= until) {
            self.ends.pop();
            wait_until(at).await;
            let call = self.calls.remove(&id).expect("what ends has begun");
            self.end(call);
        }
        wait_until(until).await;
    }

    fn send(&mut self, tried: Vec<Arc<Node>>) {
        let mut cx = PickContext::new().seeded(&mut self.service.rng).without(&tried);
        let Ok(picked) = self.service.endpoints.pick(&mut cx) else {
            self.seen.errors += 1;
            return;
        };
        let port = picked.instance().port();
        *self.seen.picks.entry(port).or_default() += 1;
        let (takes, outcome) = (self.behaviour)(port, self.begin.elapsed());
        self.count += 1;
        self.ends.push(Reverse((Instant::now() + takes, self.count)));
        self.calls.insert(self.count, Call { picked, outcome, tried });
    }

    fn end(&mut self, call: Call) {
        let Call { picked, outcome, mut tried } = call;
        let failed = !matches!(outcome, Outcome::Success { .. });
        tried.push(Arc::clone(picked.endpoint().node()));
        picked.finish(outcome);
        if failed && tried.len() < self.attempts {
            self.send(tried);
        } else if failed {
            self.seen.errors += 1;
        }
    }
}

async fn wait_until(at: Instant) {
    let now = Instant::now();
    if at > now {
        advance(at - now).await;
    }
}

/// Answers after so many milliseconds.
pub(super) fn answers(milliseconds: u64) -> (Duration, Outcome) {
    let latency = Duration::from_millis(milliseconds);
    (latency, Outcome::Success { latency })
}
