use std::time::Duration;

/// How an instance answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// As it should.
    Good { took: Duration },
    /// Not in time, or that it is busy: it counts, and is given time.
    Slow,
    /// Not as it should.
    Bad,
    /// Nobody is there, or whoever is there says no. Once is enough.
    Refused,
}

/// Within which limits the pause between two questions adapts to the answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PaceRules {
    pub(crate) min: Duration,
    pub(crate) max: Duration,
    /// Share of the old pause in the new one.
    pub(crate) factor: f64,
    /// So many equal answers in a row make a verdict.
    pub(crate) times: u32,
}

/// How often an instance is asked, and what it answered lately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) pause: Duration,
    good: u32,
    bad: u32,
}

impl Pace {
    pub(super) fn new(pause: Duration) -> Self {
        Self { pause, good: 0, bad: 0 }
    }

    /// Takes an answer; a verdict is whether the instance is healthy.
    pub(super) fn answered(&mut self, answer: Answer, rules: &PaceRules) -> Option<bool> {
        let weight = match answer {
            Answer::Good { took } => took,
            Answer::Slow => self.pause * 2,
            Answer::Bad | Answer::Refused => rules.max,
        };
        let factor = rules.factor.clamp(0.0, 1.0);
        let pause = self.pause.mul_f64(factor) + weight.mul_f64(1.0 - factor);
        // Limits may come in the wrong order, which `clamp` does not take.
        self.pause = pause.min(rules.max).max(rules.min);
        if let Answer::Good { .. } = answer {
            (self.good, self.bad) = (self.good.saturating_add(1), 0);
            return (self.good >= rules.times).then_some(true);
        }
        (self.good, self.bad) = (0, self.bad.saturating_add(1));
        (self.bad >= rules.times || answer == Answer::Refused).then_some(false)
    }

    /// A verdict was carried out, or the instance is another one: what it answered before does not count any more.
    pub(super) fn anew(&mut self) {
        (self.good, self.bad) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: PaceRules =
        PaceRules { min: Duration::from_millis(1_000), max: Duration::from_millis(5_000), factor: 0.75, times: 3 };

    fn good() -> Answer {
        Answer::Good { took: Duration::from_millis(1) }
    }

    fn pauses(pace: &mut Pace, answers: &[Answer]) -> Vec<u128> {
        answers
            .iter()
            .map(|answer| {
                pace.answered(*answer, &TCP);
                pace.pause.as_millis()
            })
            .collect()
    }

    #[test]
    fn who_answers_is_asked_every_second_and_who_does_not_every_five() {
        let mut pace = Pace::new(Duration::from_millis(2_000));
        assert_eq!(pauses(&mut pace, &[good(); 4]), [1_500, 1_125, 1_000, 1_000]);
        assert_eq!(pauses(&mut pace, &[Answer::Refused; 3]), [2_000, 2_750, 3_312]);
        assert_eq!(pauses(&mut pace, &[Answer::Slow; 3]), [4_140, 5_000, 5_000]);
    }

    #[test]
    fn three_in_a_row_make_a_verdict_and_a_refusal_does_alone() {
        let mut pace = Pace::new(TCP.min);
        let mut verdicts = |answers: &[Answer]| -> Vec<Option<bool>> {
            answers.iter().map(|answer| pace.answered(*answer, &TCP)).collect()
        };
        assert_eq!(verdicts(&[Answer::Slow, Answer::Bad, good()]), [None; 3], "one good answer in between");
        assert_eq!(verdicts(&[Answer::Slow, Answer::Bad, Answer::Slow]), [None, None, Some(false)]);
        assert_eq!(verdicts(&[good(), good(), good()]), [None, None, Some(true)]);
        assert_eq!(verdicts(&[Answer::Refused]), [Some(false)]);
    }

    #[test]
    fn limits_in_the_wrong_order_do_no_harm() {
        let rules = PaceRules { min: TCP.max, max: TCP.min, factor: 7.0, times: 0 };
        let mut pace = Pace::new(TCP.min);
        assert_eq!(pace.answered(good(), &rules), Some(true));
        assert_eq!(pace.pause, TCP.max);
    }
}
