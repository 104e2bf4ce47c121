//! What the layers cost where client and server share a machine and answer everything at once: on the loopback interface.

use std::future::poll_fn;
use std::time::Instant;

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Empty};
use nacos_discovery::adapters::hyper::{HyperBalanced, HyperClient, HyperSettings};
use nacos_discovery::{Balance, BalanceLayer};
use tokio::task::JoinSet;
use tower_layer::Layer;
use tower_service::Service;

use super::balance_layer::{empty, known};
use super::balance_matrix::Matrix;
use super::machine::cpu_seconds_of;
use super::process::{Process, Role};
use super::report::{median, percentile};
use super::{Failure, Scale};

const IN_FLIGHT: usize = 64;
/// Of an answer, in bytes.
const ANSWER: usize = 32;
/// So few calls that the machine hardly changes while each contender has its turn: some 20 ms of them.
const SLICE: usize = 40 * IN_FLIGHT;
const COLUMNS: [&str; 6] = ["/s", "times the rate alone", "lower quartile", "upper quartile", "µs", "added µs"];

/// Requests per second: the client alone and below the layers, in turns.
pub(crate) async fn run(scale: Scale) -> Result<Matrix, Failure> {
    let rounds = scale.of(120, 5);
    let title = format!(
        "Small requests on loopback, {IN_FLIGHT} in flight, medians of {rounds} rounds of {SLICE} each; rates beside \
         those of the same round, processor time of client and server for each request"
    );
    let mut matrix = Matrix::new(title, COLUMNS);
    let server = Process::start_idle(Role::IdleHttp, ANSWER)?;
    let contenders = Contenders::new(&server, &known([server.http().port()]).await?)?;
    let mut seen: [Vec<Slice>; NAMES.len()] = Default::default();
    for round in 0..=rounds {
        // There and back, so that a machine that becomes slower favours nobody.
        let there_and_back = (0..NAMES.len()).chain((0..NAMES.len()).rev());
        for which in there_and_back {
            let slice = contenders.slice(which, &server).await?;
            // The first round opens the connections.
            if round > 0 {
                seen[which].push(slice);
            }
        }
    }
    let alone = seen[0].clone();
    for ((name, target), slices) in NAMES.into_iter().zip(seen) {
        let mut rates: Vec<f64> = slices.iter().map(|slice| slice.rate).collect();
        let mut shares: Vec<f64> =
            pairs(&slices).zip(pairs(&alone)).map(|(own, alone)| own.rate / alone.rate).collect();
        let mut times: Vec<f64> = slices.iter().map(|slice| slice.processor).collect();
        let added = pairs(&slices).zip(pairs(&alone)).map(|(own, alone)| own.processor - alone.processor);
        let mut added: Vec<f64> = added.collect();
        let (low, high) = (percentile(&mut shares, 25), percentile(&mut shares, 75));
        let figures = [median(&mut rates), median(&mut shares), low, high, median(&mut times), median(&mut added)];
        matrix.push(name, figures, target);
    }
    Ok(matrix)
}

/// Each with its target; the first one is what the others are compared with.
const NAMES: [(&str, &str); 5] = [
    ("hyper-util's client alone", "–"),
    ("the same once more, which shows what chance does", "–"),
    ("`BalanceLayer`", "≥ 0.98 times the rate alone"),
    ("`BalanceLayer` with `writing_host`", "≥ 0.98 times the rate alone"),
    ("`RetryNextLayer` on `BalanceLayer` (`Discovery::http`)", "–"),
];

struct Contenders {
    alone: HyperClient<Empty<Bytes>>,
    again: HyperClient<Empty<Bytes>>,
    balanced: Balance<HyperClient<Empty<Bytes>>>,
    writing: Balance<HyperClient<Empty<Bytes>>>,
    repeating: HyperBalanced<Empty<Bytes>>,
    /// Names the server.
    direct: Uri,
    /// Names the service.
    named: Uri,
}

impl Contenders {
    fn new(server: &Process, layer: &BalanceLayer) -> Result<Self, Failure> {
        let settings = HyperSettings::default();
        Ok(Self {
            alone: settings.build(),
            again: settings.build(),
            balanced: layer.layer(settings.build()),
            writing: layer.clone().writing_host().layer(settings.build()),
            repeating: HyperBalanced::new(&settings, layer),
            direct: format!("http://{}/v1/orders/7", server.http()).parse()?,
            named: "lb://orders/v1/orders/7".parse()?,
        })
    }

    async fn slice(&self, which: usize, server: &Process) -> Result<Slice, Failure> {
        let processor = || cpu_seconds_of(std::process::id()) + server.cpu_seconds();
        let (start, before) = (Instant::now(), processor());
        match which {
            0 => all(&self.alone, &self.direct, once).await?,
            1 => all(&self.again, &self.direct, once).await?,
            2 => all(&self.balanced, &self.named, once).await?,
            3 => all(&self.writing, &self.named, once).await?,
            _ => all(&self.repeating, &self.named, repeated).await?,
        }
        let rate = SLICE as f64 / start.elapsed().as_secs_f64();
        Ok(Slice { rate, processor: (processor() - before) * 1e6 / SLICE as f64 })
    }
}

/// A short time of one contender.
#[derive(Debug, Clone, Copy)]
struct Slice {
    /// Requests per second.
    rate: f64,
    /// Microseconds for each request.
    processor: f64,
}

/// The turns there and back of each round as one.
fn pairs(slices: &[Slice]) -> impl Iterator<Item = Slice> + '_ {
    slices.chunks_exact(2).map(|pair| Slice {
        rate: 2.0 / (1.0 / pair[0].rate + 1.0 / pair[1].rate),
        processor: (pair[0].processor + pair[1].processor) / 2.0,
    })
}

async fn all<C, F>(client: &C, uri: &Uri, call: fn(C, Uri) -> F) -> Result<(), Failure>
where
    C: Clone + Send + 'static,
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut callers: JoinSet<Result<(), Failure>> = JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (client, uri) = (client.clone(), uri.clone());
        callers.spawn(async move {
            for _ in 0..SLICE / IN_FLIGHT {
                call(client.clone(), uri.clone()).await?;
            }
            Ok(())
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    Ok(())
}

async fn once<S, B>(mut client: S, uri: Uri) -> Result<(), Failure>
where
    S: Service<Request<Empty<Bytes>>, Response = Response<B>>,
    S::Error: Into<Failure>,
    B: http_body::Body<Error: Into<Failure>>,
{
    poll_fn(|cx| client.poll_ready(cx)).await.map_err(Into::into)?;
    checked(client.call(empty(uri)).await.map_err(Into::into)?).await
}

async fn repeated(client: HyperBalanced<Empty<Bytes>>, uri: Uri) -> Result<(), Failure> {
    checked(client.request(empty(uri)).await?).await
}

async fn checked<B>(answer: Response<B>) -> Result<(), Failure>
where
    B: http_body::Body<Error: Into<Failure>>,
{
    let body = answer.into_body().collect().await.map_err(Into::into)?.to_bytes();
    if body.len() == ANSWER { Ok(()) } else { Err("another answer".into()) }
}
