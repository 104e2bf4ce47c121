use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nacos_proto::Payload;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use super::answers::{AnswerFault, Effect, Injected};
use super::gate::Gate;

/// What happens to pushes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PushMode {
    Deliver,
    /// They stay where they are.
    Hold,
    /// They count as sent and are not.
    Drop,
}

/// The present faults of one server.
#[derive(Debug)]
pub(crate) struct FaultState {
    pub(crate) gate: Arc<Gate>,
    armed: AtomicBool,
    answers: Mutex<(Vec<AnswerFault>, fastrand::Rng)>,
    push_mode: AtomicU8,
    push_delay_ms: AtomicU64,
    starting: AtomicBool,
    /// Parent of all present connections' tokens.
    generation: Mutex<CancellationToken>,
    abort: CancellationToken,
}

/// The delay of an answer, and what to answer instead of the truth.
pub(crate) type Verdict = (Duration, Option<Injected>);

impl FaultState {
    pub(crate) fn new(seed: u64, abort: CancellationToken) -> Self {
        Self {
            gate: Arc::default(),
            armed: AtomicBool::new(false),
            answers: Mutex::new((Vec::new(), fastrand::Rng::with_seed(seed))),
            push_mode: AtomicU8::new(0),
            push_delay_ms: AtomicU64::new(0),
            starting: AtomicBool::new(false),
            generation: Mutex::new(abort.child_token()),
            abort,
        }
    }

    // === answers ===

    pub(crate) fn armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, fault: AnswerFault) {
        self.lock_answers().0.push(fault);
        self.armed.store(true, Ordering::SeqCst);
    }

    pub(super) fn clear_answers(&self) {
        self.armed.store(false, Ordering::SeqCst);
        self.lock_answers().0.clear();
    }

    /// All delays that match are summed, the first answer that matches is taken.
    pub(crate) fn verdict(&self, payload: &Payload) -> Verdict {
        let service = service_name(payload);
        let mut guard = self.lock_answers();
        let (faults, rng) = &mut *guard;
        let mut verdict = (Duration::ZERO, None);
        for fault in faults.iter_mut() {
            if !fault.matches(payload.kind(), service.as_deref()) || rng.f64() >= fault.share {
                continue;
            }
            match &fault.effect {
                Effect::Delay(delay) => verdict.0 += *delay,
                Effect::Answer(_) if verdict.1.is_some() => continue,
                Effect::Answer(injected) => verdict.1 = Some(injected.clone()),
            }
            fault.left = fault.left.map(|left| left - 1);
        }
        faults.retain(|fault| fault.left != Some(0));
        if faults.is_empty() {
            self.armed.store(false, Ordering::SeqCst);
        }
        verdict
    }

    fn lock_answers(&self) -> std::sync::MutexGuard<'_, (Vec<AnswerFault>, fastrand::Rng)> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // === pushes ===

    pub(crate) fn push_mode(&self) -> PushMode {
        match self.push_mode.load(Ordering::Relaxed) {
            0 => PushMode::Deliver,
            1 => PushMode::Hold,
            _ => PushMode::Drop,
        }
    }

    pub(super) fn set_push_mode(&self, mode: PushMode) {
        self.push_mode.store(mode as u8, Ordering::SeqCst);
    }

    pub(crate) fn push_delay(&self) -> Duration {
        Duration::from_millis(self.push_delay_ms.load(Ordering::Relaxed))
    }

    pub(super) fn set_push_delay(&self, delay: Duration) {
        self.push_delay_ms.store(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    // === the whole server ===

    pub(crate) fn starting(&self) -> bool {
        self.starting.load(Ordering::Relaxed)
    }

    pub(super) fn set_starting(&self, starting: bool) {
        self.starting.store(starting, Ordering::SeqCst);
    }

    /// For a new connection: cancelled with all others of its generation, or with the server.
    pub(crate) fn connection_token(&self) -> CancellationToken {
        self.generation.lock().unwrap_or_else(PoisonError::into_inner).child_token()
    }

    pub(super) fn kill_connections(&self) {
        let mut generation = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
        generation.cancel();
        *generation = self.abort.child_token();
    }
}

fn service_name(payload: &Payload) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        service_name: Option<String>,
    }
    serde_json::from_slice::<Named>(payload.json()).ok()?.service_name
}
