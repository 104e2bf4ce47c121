use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use super::{Record, RegistrationState};

/// Whether this process takes traffic, for whoever sends it: balancers, orchestrators. Cheap to clone.
///
/// It is ready from the moment a registry has acknowledged the registration, so that "ready" and "known to consumers" are
/// the same, until it begins to leave. A registry that cannot be reached later does not change that: consumers keep the list
/// they have, and a fleet must not become unready all at once because its registry is away. Where the settings want no
/// registration, listening is enough.
#[derive(Debug, Clone, Default)]
pub struct Readiness {
    stage: Arc<Mutex<Stage>>,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Starting,
    Running(watch::Receiver<Record>),
    Leaving,
}

/// Whether a process takes traffic, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadinessState {
    /// It does.
    Ready,
    /// It is not registered yet.
    Starting,
    /// It never was acknowledged by a registry, or is refused now.
    NotRegistered(RegistrationState),
    /// It is registered as not taking traffic.
    Down,
    /// It is about to stop.
    Leaving,
}

impl Readiness {
    /// The state now.
    #[must_use]
    pub fn state(&self) -> ReadinessState {
        let stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        match &*stage {
            Stage::Starting => ReadinessState::Starting,
            Stage::Running(record) => of_record(&record.borrow()),
            Stage::Leaving => ReadinessState::Leaving,
        }
    }

    /// Whether it takes traffic.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.state() == ReadinessState::Ready
    }

    pub(super) fn run(&self, record: watch::Receiver<Record>) {
        self.set(Stage::Running(record));
    }

    #[cfg(feature = "axum")]
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(*self.stage.lock().unwrap_or_else(PoisonError::into_inner), Stage::Leaving)
    }

    pub(crate) fn leave(&self) {
        self.set(Stage::Leaving);
    }

    fn set(&self, stage: Stage) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }
}

fn of_record(record: &Record) -> ReadinessState {
    let enabled = record.wanted.as_ref().is_none_or(|wanted| wanted.instance.enabled);
    match &record.state {
        RegistrationState::Off(_) => ReadinessState::Ready,
        _ if !enabled => ReadinessState::Down,
        RegistrationState::Registered => ReadinessState::Ready,
        RegistrationState::Pending | RegistrationState::Failing { .. } if record.was_visible => ReadinessState::Ready,
        other => ReadinessState::NotRegistered(other.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Off, Registration};
    use super::*;
    use nacos_client::{Instance, ServiceKey};

    fn record(state: RegistrationState, was_visible: bool, enabled: bool) -> Record {
        let instance = Instance::new(("h", 1)).enabled(enabled);
        let wanted = Registration::new(ServiceKey::new("", "s"), instance);
        Record { was_visible, ..Record::new(state, Some(wanted)) }
    }

    #[test]
    fn ready_means_known_to_consumers() {
        let failing = || RegistrationState::Failing {
            attempts: 1,
            since: std::time::Instant::now(),
            last_error: "no route".to_owned(),
        };
        let ready = |record| of_record(&record) == ReadinessState::Ready;
        assert!(ready(record(RegistrationState::Registered, true, true)));
        assert!(ready(Record::new(RegistrationState::Off(Off::Disabled), None)));
        assert!(!ready(record(RegistrationState::Pending, false, true)), "nobody knows it yet");
        assert!(!ready(record(failing(), false, true)));
        assert!(ready(record(failing(), true, true)), "the registry is away, consumers know it all the same");
        assert!(!ready(record(RegistrationState::Replaced, true, true)));
        assert_eq!(of_record(&record(RegistrationState::Registered, true, false)), ReadinessState::Down);
    }

    #[test]
    fn it_starts_unready_and_ends_unready() {
        let readiness = Readiness::default();
        assert_eq!(readiness.state(), ReadinessState::Starting);
        let (_keep, receiver) = watch::channel(record(RegistrationState::Registered, true, true));
        readiness.run(receiver);
        assert!(readiness.is_ready());
        readiness.leave();
        assert_eq!(readiness.state(), ReadinessState::Leaving);
    }
}
