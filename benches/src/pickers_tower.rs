//! `p2c::Balance` of tower over simulated instances, behind a buffer, as several callers share it.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream, stream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tower::ServiceExt;
use tower::balance::p2c;
use tower::buffer::Buffer;
use tower::discover::Change;
use tower::load::{CompleteOnResponse, Load, PeakEwma, PendingRequests};
use tower_service::Service;

use super::Failure;
use super::pickers_fleet::{Client, Fleet};

/// Calls that wait for the balancer at most; tonic takes as many.
const WAITING: usize = 1_024;
/// What linkerd and the demo of tower decay latencies by.
const DECAY: Duration = Duration::from_secs(10);

/// How it is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setup {
    PeakEwma {
        /// What a new instance is taken for.
        default_rtt: Duration,
    },
    PendingRequests,
}

impl Setup {
    /// With the first so many instances.
    pub(crate) fn client(self, fleet: Arc<Fleet>, count: usize) -> Box<dyn Client> {
        match self {
            Self::PeakEwma { default_rtt } => {
                let decay = DECAY.as_nanos() as f64;
                let load = move |service| PeakEwma::new(service, default_rtt, decay, CompleteOnResponse::default());
                Tower::begin(fleet, count, load)
            }
            Self::PendingRequests => {
                Tower::begin(fleet, count, |service| PendingRequests::new(service, CompleteOnResponse::default()))
            }
        }
    }
}

struct Tower<F> {
    balance: Buffer<(), F>,
    added: UnboundedSender<usize>,
}

impl Tower<()> {
    fn begin<S>(fleet: Arc<Fleet>, count: usize, load: impl Fn(Simulated) -> S + Send + 'static) -> Box<dyn Client>
    where
        S: Service<(), Response = (), Future: Send, Error = io::Error> + Load<Metric: std::fmt::Debug> + Send + 'static,
    {
        let (added, receiver) = unbounded_channel();
        for number in 0..count {
            // The receiver is here.
            let _ = added.send(number);
        }
        let make = move |number| load(Simulated { fleet: Arc::clone(&fleet), number });
        let balance = p2c::Balance::new(Box::pin(changes(receiver, make)));
        Box::new(Tower { balance: Buffer::new(balance, WAITING), added })
    }
}

fn changes<S>(
    added: UnboundedReceiver<usize>,
    make: impl Fn(usize) -> S,
) -> impl Stream<Item = Result<Change<usize, S>, Infallible>> {
    stream::unfold((added, make), |(mut added, make)| async move {
        let number = added.recv().await?;
        Some((Ok(Change::Insert(number, make(number))), (added, make)))
    })
}

impl<F, E> Client for Tower<F>
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Into<Failure> + Send + 'static,
{
    fn call(&self) -> BoxFuture<'static, bool> {
        self.balance.clone().oneshot(()).map(|answer| answer.is_ok()).boxed()
    }

    fn add(&self, number: usize) -> BoxFuture<'static, Result<(), Failure>> {
        let sent = self.added.send(number).map_err(|_| "the balancer has ended".into());
        std::future::ready(sent).boxed()
    }
}

/// One instance.
#[derive(Debug, Clone)]
struct Simulated {
    fleet: Arc<Fleet>,
    number: usize,
}

impl Service<()> for Simulated {
    type Response = ();
    type Error = io::Error;
    type Future = BoxFuture<'static, Result<(), io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        let Self { fleet, number } = self.clone();
        async move { fleet.serve(number).await }.boxed()
    }
}
