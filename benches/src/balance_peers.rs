//! Who sends how many requests where, while one instance fails, joins, is slow, or does not listen.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::balance_matrix::Matrix;
use super::pickers_fleet::{Behaviour, Client, Fleet};
use super::pickers_ours::Policy;
use super::{Failure, Scale, pickers_nacos_sdk, pickers_ours, pickers_tonic, pickers_tower};

/// Between two calls of each contender.
const BETWEEN: Duration = Duration::from_millis(1);
/// The number of the instance that is not like the others.
const ODD: usize = 3;
const FAIR: f64 = 25.0;

/// Who chooses.
#[derive(Debug, Clone, Copy)]
enum Contender {
    Ours(pickers_ours::Setup),
    Tower(pickers_tower::Setup),
    Tonic,
    NacosSdk,
}

/// What one contender did in one situation.
struct Course {
    fleet: Arc<Fleet>,
    /// When each call ended, and whether it failed.
    calls: Vec<(Duration, bool)>,
}

/// A situation.
#[derive(Debug, Clone, Copy)]
struct Situation {
    others: Behaviour,
    odd: Behaviour,
    /// When the odd one joins; it is there from the beginning if `None`.
    joins: Option<Duration>,
    length: Duration,
}

/// One table with all situations and all contenders.
pub(crate) async fn run(scale: Scale) -> Result<Matrix, Failure> {
    let columns = [
        "(a) share, 1st s",
        "(a) share, after 5 s",
        "(a) failed calls",
        "(b) of fair share, 3 – 5 s",
        "(b) … 28 – 30 s",
        "(c) share, after 5 s",
        "(d) failed calls, 1st s",
        "(d) … in all",
    ];
    let title = "Four instances, 1 000 calls/s, in percent: (a) one fails in 1 ms beside three that answer in 10 ms, \
        (b) one joins three warm ones of 5 ms, (c) one takes 100 ms beside three of 10 ms, (d) one refuses connections";
    let mut matrix = Matrix::new(title, columns);
    let contenders = contenders(scale);
    let ms = Duration::from_millis;
    let seconds = |full: u64| scale.of(Duration::from_secs(full), ms(full * 100));
    let answers = |latency| Behaviour::Answers(ms(latency));
    let still = Situation { others: answers(10), odd: answers(10), joins: None, length: seconds(8) };
    let failing = all(&contenders, Situation { odd: Behaviour::Fails(ms(1)), ..still }).await?;
    // Moving averages that begin with a second and forget within ten are down to 5 ms after a minute only.
    let joining = Situation { others: answers(5), odd: answers(5), joins: Some(seconds(60)), length: seconds(91) };
    let joining = all(&contenders, joining).await?;
    let slow = all(&contenders, Situation { odd: answers(100), ..still }).await?;
    let refusing = all(&contenders, Situation { odd: Behaviour::Refuses, ..still }).await?;
    for (at, (name, _, target)) in contenders.into_iter().enumerate() {
        let share = |courses: &[Course], from, to| courses[at].fleet.share(ODD, seconds(from), seconds(to));
        let figures = [
            share(&failing, 0, 1),
            share(&failing, 5, 8),
            failing[at].failed(seconds(8)),
            100.0 * share(&joining, 63, 65) / FAIR,
            100.0 * share(&joining, 88, 90) / FAIR,
            share(&slow, 5, 8),
            refusing[at].failed(seconds(1)),
            refusing[at].failed(seconds(8)),
        ];
        matrix.push(name, figures, target);
    }
    Ok(matrix)
}

fn contenders(scale: Scale) -> Vec<(String, Contender, &'static str)> {
    let mut all = Vec::new();
    for (policy, name) in [
        (Policy::WeightedRandom, "`WeightedRandom`"),
        (Policy::LeastRequest, "`LeastRequest`"),
        (Policy::PeakEwma, "`PeakEwma`"),
    ] {
        for (ejects, repeats, how, target) in [
            (true, true, "with ejection, failed calls repeated", "a < 10, b ≥ 80"),
            (true, false, "with ejection", "a < 10, b ≥ 80"),
            (false, false, "without ejection", "b ≥ 80"),
        ] {
            let setup = pickers_ours::Setup { policy, ejects, repeats };
            let unheld = (policy, ejects) == (Policy::PeakEwma, false);
            let target = if unheld { "a < 25, b ≥ 80" } else { target };
            all.push((format!("{name} {how}"), Contender::Ours(setup), target));
        }
    }
    if scale.peer {
        for (name, default_rtt) in [("1 s", 1_000), ("30 ms", 30)] {
            let setup = pickers_tower::Setup::PeakEwma { default_rtt: Duration::from_millis(default_rtt) };
            let name = format!("tower 0.5.3 `p2c::Balance`, `PeakEwma` that takes new ones for {name}");
            all.push((name, Contender::Tower(setup), "–"));
        }
        let pending = Contender::Tower(pickers_tower::Setup::PendingRequests);
        all.push(("tower 0.5.3 `p2c::Balance`, `PendingRequests`".to_owned(), pending, "–"));
        all.push(("tonic 0.14.9 `balance_channel`, real servers".to_owned(), Contender::Tonic, "–"));
        all.push(("nacos-sdk 0.8.3 `select_one_healthy_instance`".to_owned(), Contender::NacosSdk, "–"));
    }
    all
}

/// Every contender at the same time, each with instances of its own.
async fn all(contenders: &[(String, Contender, &str)], situation: Situation) -> Result<Vec<Course>, Failure> {
    let mut running = Vec::new();
    for (_, contender, _) in contenders {
        running.push(tokio::spawn(course(*contender, situation)));
    }
    let mut courses = Vec::new();
    for course in running {
        courses.push(course.await??);
    }
    Ok(courses)
}

async fn course(contender: Contender, situation: Situation) -> Result<Course, Failure> {
    let mut behaviours = vec![situation.others; ODD];
    behaviours.push(situation.odd);
    let fleet = Fleet::new(behaviours);
    let count = if situation.joins.is_some() { ODD } else { ODD + 1 };
    let client = contender.client(Arc::clone(&fleet), count).await?;
    fleet.begin();
    let calls = drive(&*client, &fleet, situation).await?;
    Ok(Course { fleet, calls })
}

/// Calls at fixed intervals, however long the ones before take.
async fn drive(
    client: &dyn Client,
    fleet: &Arc<Fleet>,
    situation: Situation,
) -> Result<Vec<(Duration, bool)>, Failure> {
    let start = tokio::time::Instant::now();
    let mut ticks = interval(BETWEEN);
    // Calls that a busy machine was too late for are left out: at once they would be a load of another kind.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut calls = JoinSet::new();
    let mut joins = situation.joins;
    while start.elapsed() < situation.length {
        ticks.tick().await;
        if joins.is_some_and(|at| at <= start.elapsed()) {
            joins = None;
            client.add(ODD).await?;
        }
        let (call, fleet) = (client.call(), Arc::clone(fleet));
        calls.spawn(async move {
            let ended_well = call.await;
            (fleet.elapsed(), !ended_well)
        });
    }
    Ok(calls.join_all().await)
}

impl Contender {
    async fn client(self, fleet: Arc<Fleet>, count: usize) -> Result<Box<dyn Client>, Failure> {
        match self {
            Self::Ours(setup) => setup.client(fleet, count).await,
            Self::Tower(setup) => Ok(setup.client(fleet, count)),
            Self::Tonic => pickers_tonic::client(fleet, count).await,
            Self::NacosSdk => pickers_nacos_sdk::client(fleet, count).await,
        }
    }
}

impl Course {
    /// The part of the calls that ended until then and failed, in percent.
    fn failed(&self, until: Duration) -> f64 {
        let ended = || self.calls.iter().filter(|(at, _)| *at < until);
        100.0 * ended().filter(|(_, failed)| *failed).count() as f64 / ended().count() as f64
    }
}
