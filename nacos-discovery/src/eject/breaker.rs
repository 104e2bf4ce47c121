use tokio::time::Instant;

use super::pause::Pause;
use super::rate::Counts;
use super::{EjectionCause, EjectionKind};
use crate::settings::EjectSettings;

/// Whether one instance takes requests.
///
/// ```text
///            too many failures            pause over, a request came
///  Healthy ─────────────────────▶ Ejected ─────────────────────────▶ Probing
///     ▲                            ▲   │  ▲                            │ │ │
///     │   too few others are left  │   │  └── the probe ended unknown ─┘ │ │
///     ├────────────────────────────│───┘                                │ │
///     │                            └────── the probe failed or overdue ─┘ │
///     └─────────────────────────────────── the probe succeeded ───────────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Breaker {
    /// It takes requests. Exits: enough failures → `Ejected`.
    Healthy {
        /// Failures since the last success.
        failures: u32,
        since: Instant,
        /// The last ejection.
        pause: Pause,
    },
    /// It takes none. Exits: a request after `until` → `Probing`; too few others → `Healthy`.
    Ejected { until: Instant, pause: Pause },
    /// It has one request, on whose answer everything depends. Exits: success → `Healthy`; failure, or too much to do → `Ejected`
    /// for longer; given up by the caller → `Ejected`, but the next request probes at once; too few others → `Healthy`; a
    /// request that comes when the answer is overdue → `Ejected` for longer. A client without a time limit may wait for ever
    /// for an instance that takes connections and answers nobody.
    Probing { overdue: Instant, pause: Pause },
}

/// What happens to an instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Input {
    Success,
    /// With the calls of the window where too many of them failed.
    Failure {
        exceeded: Option<Counts>,
    },
    /// It has too much to do. Likewise.
    Overload {
        exceeded: Option<Counts>,
    },
    /// The caller gave up.
    Cancelled,
    /// A request was picked for it.
    Request,
    /// Too many are ejected, and it is the least bad of them.
    Readmit,
}

/// What else a step depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment<'a> {
    pub(super) now: Instant,
    pub(super) rules: &'a EjectSettings,
    /// Whether one more instance of the service may be ejected.
    pub(super) room: bool,
    /// Uniform from 0 up to 1.
    pub(super) random: f64,
}

impl Breaker {
    pub(super) const fn new(now: Instant) -> Self {
        Self::Healthy { failures: 0, since: now, pause: Pause { relapses: 0, length: std::time::Duration::ZERO } }
    }

    /// The only way from one state to another, with what is to be told of it. Ends of calls that began before an ejection are
    /// not put in: the generation of the gate keeps them out.
    pub(super) fn step(self, input: Input, moment: &Moment<'_>) -> (Self, Option<EjectionKind>) {
        match (self, input) {
            (Self::Healthy { failures: 1.., since, pause }, Input::Success) => {
                (Self::Healthy { failures: 0, since, pause }, None)
            }
            (Self::Healthy { failures, since, pause }, Input::Failure { exceeded }) => {
                let failures = failures.saturating_add(1);
                let kept = Self::Healthy { failures, since, pause };
                let cause = if failures >= moment.rules.consecutive_failures() {
                    Some(EjectionCause::ConsecutiveFailures { failures })
                } else {
                    exceeded.map(Counts::cause)
                };
                kept.eject_for(cause, moment)
            }
            (Self::Healthy { .. }, Input::Overload { exceeded }) => self.eject_for(exceeded.map(Counts::cause), moment),
            (Self::Ejected { until, pause }, Input::Request) if until <= moment.now => {
                (Self::Probing { overdue: moment.now + moment.rules.probe_limit(), pause }, None)
            }
            (Self::Probing { overdue, pause }, Input::Request) if overdue <= moment.now => {
                Self::ejected(pause, EjectionCause::ProbeFailed, moment)
            }
            (Self::Probing { pause, .. }, Input::Success) => {
                (Self::Healthy { failures: 0, since: moment.now, pause }, Some(EjectionKind::Restored))
            }
            (Self::Probing { pause, .. }, Input::Failure { .. } | Input::Overload { .. }) => {
                Self::ejected(pause, EjectionCause::ProbeFailed, moment)
            }
            (Self::Probing { pause, .. }, Input::Cancelled) => (Self::Ejected { until: moment.now, pause }, None),
            (Self::Ejected { pause, .. } | Self::Probing { pause, .. }, Input::Readmit) => {
                (Self::Healthy { failures: 0, since: moment.now, pause }, Some(EjectionKind::Readmitted))
            }
            (state, _) => (state, None),
        }
    }

    fn eject_for(self, cause: Option<EjectionCause>, moment: &Moment<'_>) -> (Self, Option<EjectionKind>) {
        match (self, cause) {
            (Self::Healthy { since, pause, .. }, Some(cause)) if moment.room => {
                let healthy = moment.now.saturating_duration_since(since);
                Self::ejected(pause.relaxed(healthy, moment.rules), cause, moment)
            }
            (state, _) => (state, None),
        }
    }

    fn ejected(pause: Pause, cause: EjectionCause, moment: &Moment<'_>) -> (Self, Option<EjectionKind>) {
        let pause = pause.next(moment.rules, moment.random);
        let until = moment.now + pause.length;
        (Self::Ejected { until, pause }, Some(EjectionKind::Ejected { until, cause, relapses: pause.relapses }))
    }

    pub(super) const fn is_closed(&self) -> bool {
        !matches!(self, Self::Healthy { .. })
    }

    /// The last ejection.
    pub(super) const fn pause(&self) -> Pause {
        match self {
            Self::Healthy { pause, .. } | Self::Ejected { pause, .. } | Self::Probing { pause, .. } => *pause,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const FAILURE: Input = Input::Failure { exceeded: None };
    const OVERLOAD: Input = Input::Overload { exceeded: None };
    const INPUTS: [Input; 6] = [Input::Success, FAILURE, OVERLOAD, Input::Cancelled, Input::Request, Input::Readmit];

    fn step(breaker: Breaker, input: Input, now: Instant, room: bool) -> (Breaker, Option<EjectionKind>) {
        let rules = EjectSettings::new().with_consecutive_failures(2);
        breaker.step(input, &Moment { now, rules: &rules, room, random: 0.5 })
    }

    #[test]
    fn only_the_arrows_of_the_picture_exist() {
        let begin = Instant::now();
        let pause = Pause { relapses: 0, length: Duration::from_secs(1) };
        let until = begin + pause.length;
        let states = [
            ("healthy", Breaker::Healthy { failures: 0, since: begin, pause }),
            ("ejected", Breaker::Ejected { until, pause }),
            ("probing", Breaker::Probing { overdue: until, pause }),
        ];
        // What each input leads to before and after the end of the pause, or the time from which the probe is overdue.
        let expected = [
            ("healthy", ["healthy"; 6], ["healthy"; 6]),
            (
                "ejected",
                ["ejected", "ejected", "ejected", "ejected", "ejected", "healthy"],
                ["ejected", "ejected", "ejected", "ejected", "probing", "healthy"],
            ),
            (
                "probing",
                ["healthy", "ejected", "ejected", "ejected", "probing", "healthy"],
                ["healthy", "ejected", "ejected", "ejected", "ejected", "healthy"],
            ),
        ];
        for ((name, state), (of, before, after)) in states.into_iter().zip(expected) {
            assert_eq!(name, of);
            for (now, names) in [(begin, before), (until, after)] {
                for (input, expected) in INPUTS.into_iter().zip(names) {
                    let (next, _) = step(state, input, now, true);
                    let next = match next {
                        Breaker::Healthy { .. } => "healthy",
                        Breaker::Ejected { .. } => "ejected",
                        Breaker::Probing { .. } => "probing",
                    };
                    assert_eq!(next, expected, "{name}, {input:?}");
                }
            }
        }
    }

    #[test]
    fn failures_eject_only_where_there_is_room_and_a_success_forgets_them() {
        let now = Instant::now();
        let breaker = Breaker::new(now);
        let (one, told) = step(breaker, FAILURE, now, true);
        assert_eq!(told, None);
        assert_eq!(step(one, Input::Success, now, true).0, breaker);
        let (two, told) = step(one, FAILURE, now, false);
        assert!(told.is_none() && !two.is_closed());
        let (three, told) = step(two, FAILURE, now, true);
        assert!(three.is_closed());
        let cause = EjectionCause::ConsecutiveFailures { failures: 3 };
        let until = now + Duration::from_secs(1);
        assert_eq!(told, Some(EjectionKind::Ejected { until, cause, relapses: 0 }));
    }

    #[test]
    fn too_great_a_share_ejects_at_the_first_failure_and_also_by_overload() {
        let now = Instant::now();
        let exceeded = Some(Counts { failed: 6, calls: 10 });
        for input in [Input::Failure { exceeded }, Input::Overload { exceeded }] {
            let (breaker, told) = step(Breaker::new(now), input, now, true);
            let cause = EjectionCause::FailureRate { failed: 6, calls: 10 };
            assert!(matches!(told, Some(EjectionKind::Ejected { cause: of, .. }) if of == cause));
            assert!(breaker.is_closed() && !step(Breaker::new(now), input, now, false).0.is_closed());
        }
    }
}
