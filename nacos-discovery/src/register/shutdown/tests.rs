use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::sequence::{Leaving, Sequence};
use super::{ShutdownLimits, ShutdownPlan, Step, StepOutcome, Traffic};

/// A diary of what happened at which second.
#[derive(Clone)]
struct Diary {
    begin: Instant,
    lines: Arc<Mutex<Vec<(u64, &'static str)>>>,
}

impl Diary {
    fn new() -> Self {
        Self { begin: Instant::now(), lines: Arc::default() }
    }

    fn note(&self, what: &'static str) {
        self.lines.lock().unwrap().push((self.begin.elapsed().as_secs(), what));
    }

    fn lines(&self) -> Vec<(u64, &'static str)> {
        self.lines.lock().unwrap().clone()
    }

    /// Takes a second, and is noted when it begins.
    fn hook(&self, what: &'static str) -> impl FnOnce() -> BoxFuture<'static, ()> + Send + 'static {
        let diary = self.clone();
        move || {
            Box::pin(async move {
                diary.note(what);
                sleep(Duration::from_secs(1)).await;
            })
        }
    }
}

/// A registry that needs this long to deregister.
struct Registry {
    diary: Diary,
    deregisters_in: Duration,
    visible: bool,
}

impl Leaving for Registry {
    fn deregister(&self) -> BoxFuture<'_, StepOutcome> {
        Box::pin(async {
            self.diary.note("deregister");
            sleep(self.deregisters_in).await;
            StepOutcome::Done
        })
    }

    fn is_visible(&self) -> bool {
        self.visible
    }

    fn close(&self, _limit: Duration) -> BoxFuture<'_, StepOutcome> {
        self.diary.note("close");
        Box::pin(async { StepOutcome::Done })
    }
}

fn sequence(plan: ShutdownPlan, diary: &Diary, deregisters_in: u64, visible: bool) -> Arc<Sequence> {
    let registry = Registry { diary: diary.clone(), deregisters_in: Duration::from_secs(deregisters_in), visible };
    Arc::new(Sequence::new(plan, Arc::new(registry), Handle::current()))
}

fn full_plan(diary: &Diary) -> ShutdownPlan {
    ShutdownPlan::new()
        .traffic(Traffic::new())
        .after_drain(diary.hook("after"))
        .drain(diary.hook("drain"))
        .before_deregistration(diary.hook("before"))
}

#[tokio::test(start_paused = true)]
async fn b13_first_out_of_the_registry_then_the_wait_then_the_drain_then_the_end() {
    let diary = Diary::new();
    let report = sequence(full_plan(&diary), &diary, 1, true).run().await;
    let expected = [(0, "before"), (1, "deregister"), (4, "drain"), (5, "after"), (6, "close")];
    assert_eq!(diary.lines(), expected, "two quiet seconds between the deregistration and the drain");
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.took().as_secs(), 6);
}

#[tokio::test(start_paused = true)]
async fn b13_it_runs_once_whoever_asks_and_however_often() {
    let diary = Diary::new();
    let sequence = sequence(full_plan(&diary), &diary, 1, true);
    let again = Arc::clone(&sequence);
    let departed = tokio::spawn(async move { again.depart().await });
    let (one, two) = tokio::join!(sequence.run(), sequence.run());
    assert_eq!((&one, departed.await.unwrap().len()), (&two, 3));
    assert_eq!(sequence.run().await, one);
    assert_eq!(diary.lines().len(), 5, "{:?}", diary.lines());
}

#[tokio::test(start_paused = true)]
async fn b13_a_caller_that_gives_up_does_not_stop_it() {
    let diary = Diary::new();
    let sequence = sequence(full_plan(&diary), &diary, 1, true);
    assert!(tokio::time::timeout(Duration::from_millis(500), sequence.run()).await.is_err());
    sleep(Duration::from_secs(1)).await;
    assert_eq!(diary.lines(), [(0, "before"), (1, "deregister")]);
    assert!(sequence.run().await.is_clean());
}

#[tokio::test(start_paused = true)]
async fn b13_every_step_ends_at_its_limit_and_a_panic_ends_only_its_hook() {
    let diary = Diary::new();
    let limits = ShutdownLimits {
        hook: Duration::from_secs(1),
        deregistration: Duration::from_secs(2),
        propagation: Duration::from_secs(3),
        drain: Duration::from_secs(4),
        ..ShutdownLimits::default()
    };
    let plan = ShutdownPlan::new()
        .limits(limits)
        .before_deregistration(|| async { panic!("a hook") })
        .before_deregistration(std::future::pending::<()>)
        .drain(std::future::pending::<()>)
        .after_drain(std::future::pending::<()>);
    let report = sequence(plan, &diary, 3600, true).run().await;
    let took: Vec<_> = report.steps.iter().map(|step| (step.step, step.outcome.clone(), step.took.as_secs())).collect();
    let expected = [
        (Step::Before, StepOutcome::Failed("it panicked".to_owned()), 0),
        (Step::Before, StepOutcome::Overdue, 1),
        (Step::Deregister, StepOutcome::Overdue, 2),
        (Step::Propagate, StepOutcome::Done, 3),
        (Step::Drain, StepOutcome::Overdue, 4),
        (Step::After, StepOutcome::Overdue, 1),
        (Step::Close, StepOutcome::Done, 0),
    ];
    assert_eq!(took, expected);
    assert!(!report.is_clean());
}

#[tokio::test(start_paused = true)]
async fn b13_nobody_waits_for_consumers_that_never_knew_the_instance() {
    let diary = Diary::new();
    let report = sequence(ShutdownPlan::new(), &diary, 1, false).run().await;
    assert_eq!(report.step(Step::Propagate).unwrap().outcome, StepOutcome::Skipped);
    assert_eq!(report.took().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn b13_the_client_is_left_open_for_others_if_the_plan_says_so() {
    let diary = Diary::new();
    let report = sequence(ShutdownPlan::new().keep_client(), &diary, 0, false).run().await;
    assert_eq!(report.step(Step::Close).unwrap().outcome, StepOutcome::Skipped);
    assert!(report.is_clean() && diary.lines() == [(0, "deregister")]);
}
