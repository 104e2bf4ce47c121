use std::fmt;
use std::time::Duration;

/// A step of a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Step {
    /// Hooks before the deregistration.
    Before,
    /// The instance leaves the registry.
    Deregister,
    /// Consumers come to know.
    Propagate,
    /// Nothing is accepted any more, and requests under way end.
    Drain,
    /// Hooks after the drain.
    After,
    /// The client's subscriptions and connections end.
    Close,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepOutcome {
    /// It is done.
    Done,
    /// There was nothing to do.
    Skipped,
    /// It was not done at its limit.
    Overdue,
    /// It failed, for this reason.
    Failed(String),
}

/// One step that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepReport {
    /// Which one.
    pub step: Step,
    /// What became of it.
    pub outcome: StepOutcome,
    /// How long it took.
    pub took: Duration,
}

/// What a shutdown came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// The steps in the order they were taken.
    pub steps: Vec<StepReport>,
}

impl ShutdownReport {
    /// Whether every step was done or had nothing to do. Not so if the shutdown was cut off, with its runtime.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.step(Step::Close).is_some()
            && self.steps.iter().all(|step| matches!(step.outcome, StepOutcome::Done | StepOutcome::Skipped))
    }

    /// How long all of it took.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.steps.iter().map(|step| step.took).sum()
    }

    /// The last report of this step; hooks have one each.
    #[must_use]
    pub fn step(&self, step: Step) -> Option<&StepReport> {
        self.steps.iter().rfind(|report| report.step == step)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Before => "hook before",
            Self::Deregister => "deregister",
            Self::Propagate => "propagate",
            Self::Drain => "drain",
            Self::After => "hook after",
            Self::Close => "close",
        })
    }
}

impl fmt::Display for StepOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Skipped => f.write_str("nothing to do"),
            Self::Overdue => f.write_str("not done in time"),
            Self::Failed(reason) => write!(f, "failed: {reason}"),
        }
    }
}

impl fmt::Display for ShutdownReport {
    /// All steps on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, StepReport { step, outcome, took }) in self.steps.iter().enumerate() {
            let separator = if n == 0 { "" } else { ", " };
            write!(f, "{separator}{step}: {outcome} after {} ms", took.as_millis())?;
        }
        Ok(())
    }
}
