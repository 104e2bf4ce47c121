//! Simulated instances that everybody who chooses among them is measured with, and what happened to them.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tokio::time::sleep;

/// How an instance behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Answers after this time.
    Answers(Duration),
    /// Fails after this time.
    Fails(Duration),
    /// Does not listen.
    Refuses,
}

/// Somebody who chooses an instance for each call.
pub(crate) trait Client: Send + Sync {
    /// One call. Whether it ended well is all that its caller sees.
    fn call(&self) -> BoxFuture<'static, bool>;

    /// The instance of this number is there from now on, too.
    fn add(&self, number: usize) -> BoxFuture<'static, Result<(), super::Failure>>;
}

/// The instances, whose numbers begin with 0.
#[derive(Debug)]
pub(crate) struct Fleet {
    behaviours: Vec<Behaviour>,
    started: OnceLock<Instant>,
    requests: Mutex<Vec<(Duration, usize)>>,
}

impl Fleet {
    pub(crate) fn new(behaviours: Vec<Behaviour>) -> Arc<Self> {
        Arc::new(Self { behaviours, started: OnceLock::new(), requests: Mutex::default() })
    }

    pub(crate) fn behaviour(&self, number: usize) -> Behaviour {
        self.behaviours[number]
    }

    pub(crate) fn len(&self) -> usize {
        self.behaviours.len()
    }

    /// From now on time is counted: whoever chooses is ready.
    pub(crate) fn begin(&self) {
        self.started.get_or_init(Instant::now);
    }

    /// Since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.get().map(Instant::elapsed).unwrap_or_default()
    }

    /// A request arrives at an instance.
    pub(crate) async fn serve(&self, number: usize) -> Result<(), io::Error> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push((self.elapsed(), number));
        match self.behaviours[number] {
            Behaviour::Answers(latency) => {
                sleep(latency).await;
                Ok(())
            }
            Behaviour::Fails(latency) => {
                sleep(latency).await;
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Behaviour::Refuses => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }

    /// The part of the requests between two moments that went to an instance, in percent.
    pub(crate) fn share(&self, number: usize, from: Duration, to: Duration) -> f64 {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let within = || requests.iter().filter(|(at, _)| (from..to).contains(at));
        100.0 * within().filter(|(_, to)| *to == number).count() as f64 / within().count() as f64
    }
}
