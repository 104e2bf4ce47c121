//! What was seen, held against what was recorded.

use std::collections::{BTreeMap, HashMap};

use nacos_tests::compare::{self, Difference, Kind, Options};
use nacos_tests::vectors::{self, Action, Answer, Step};

use crate::script::STALE;

/// What came at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A message: its type and body, and the stream it came by, if any.
    Message { kind: String, body: String, stream: Option<String> },
    /// A call failed, or a stream ended, with this gRPC status.
    Status(String),
    /// Nothing, though it was waited for.
    Nothing,
    /// Messages that were not asked for, or one too many.
    Extra(Vec<String>),
}

/// What was seen at one step.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) step: String,
    pub(crate) event: Event,
}

/// What a recorded server did at one step.
#[derive(Debug, Clone)]
struct Expected {
    action: Action,
    /// Type and body.
    message: Option<(String, String)>,
    stream: Option<String>,
    status: Option<String>,
}

/// What a recorded server did at all steps.
#[derive(Debug)]
pub(crate) struct Canon {
    steps: HashMap<String, Expected>,
    any_abilities: bool,
}

impl Canon {
    /// All of what Nacos 2.5.1 did.
    pub(crate) fn nacos_2_5_1() -> Self {
        let steps = vectors::nacos_2_5_1().into_iter().map(|step| (step.step.clone(), expected(&step)));
        Self { steps: steps.collect(), any_abilities: false }
    }

    /// Steps at which Nacos 3.0.3 says the same with another content, because an earlier step had another code.
    const CONSEQUENCES: [&str; 1] = ["setup/query-module-ai"];

    /// What Nacos 3.0.3 did, as far as its message types and codes are those of `canon`. The two differ in their abilities, which
    /// are ours neither of one nor of the other.
    pub(crate) fn nacos_3_0_3_where_it_agrees_with(canon: &Self) -> Self {
        let mut steps = HashMap::new();
        for answer in vectors::nacos_3_0_3() {
            let Some(older) = canon.steps.get(&answer.step) else { continue };
            let newer = Expected { message: message(&answer), status: answer.grpc_status.clone(), ..older.clone() };
            let differences = newer.differences(older.as_event(), Options::default());
            let agrees = !differences.iter().any(|d| matches!(d.kind, Kind::Code | Kind::Status));
            if agrees && !Self::CONSEQUENCES.contains(&answer.step.as_str()) {
                steps.insert(answer.step, newer);
            }
        }
        let ends = canon.steps.iter().filter(|(_, step)| step.action == Action::StreamEnded);
        steps.extend(ends.map(|(name, step)| (name.clone(), step.clone())));
        Self { steps, any_abilities: true }
    }

    /// Holds what was seen against it, step by step.
    pub(crate) fn compare(&self, seen: &[Seen]) -> BTreeMap<String, Vec<Difference>> {
        let mut verdicts: BTreeMap<String, Vec<Difference>> = BTreeMap::new();
        // Messages of one type on one connection may have come in another order than recorded; each counts once.
        let mut open: BTreeMap<&str, (Vec<&Seen>, Vec<&Seen>)> = BTreeMap::new();
        for one in seen {
            if let Event::Extra(messages) = &one.event {
                let text = format!("{} not recorded: {}", messages.len(), messages.join(" | "));
                verdicts.insert(one.step.clone(), vec![Difference::new(Kind::ExtraPush, text)]);
                continue;
            }
            let Some(expected) = self.steps.get(&one.step) else { continue };
            let differences = expected.differences(Some(one.event.clone()), self.options(&one.step));
            if expected.action == Action::Recv && !differences.is_empty() {
                let group = one.step.split('#').next().unwrap_or_default();
                let (steps, events) = open.entry(group).or_default();
                steps.push(one);
                events.push(one);
            }
            verdicts.insert(one.step.clone(), differences);
        }
        for (steps, mut events) in open.into_values() {
            for step in steps {
                let fits = |event: &&Seen| {
                    let expected = self.steps.get(&step.step);
                    expected
                        .is_some_and(|e| e.differences(Some(event.event.clone()), self.options(&step.step)).is_empty())
                };
                if let Some(at) = events.iter().position(fits) {
                    events.remove(at);
                    verdicts.insert(step.step.clone(), Vec::new());
                }
            }
        }
        verdicts
    }

    fn options(&self, step: &str) -> Options {
        Options::default().stale(STALE.contains(&step)).any_abilities(self.any_abilities)
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }
}

fn message(answer: &Answer) -> Option<(String, String)> {
    answer.message().map(|(kind, body)| (kind.to_owned(), body.to_owned()))
}

fn expected(step: &Step) -> Expected {
    let answer = step.answer.clone().zip(step.answer_body.as_ref().map(|body| body.get().to_owned()));
    let received = || step.kind.clone().zip(Some(step.body_text()));
    Expected {
        action: step.action,
        message: if step.action == Action::Recv { received() } else { answer },
        stream: (step.action == Action::Recv).then(|| step.stream.clone()).flatten(),
        status: step.grpc_status.clone().or_else(|| step.status.clone()),
    }
}

impl Expected {
    fn as_event(&self) -> Option<Event> {
        match (&self.message, &self.status) {
            (Some((kind, body)), _) => {
                Some(Event::Message { kind: kind.clone(), body: body.clone(), stream: self.stream.clone() })
            }
            (None, Some(status)) => Some(Event::Status(status.clone())),
            (None, None) => None,
        }
    }

    fn differences(&self, seen: Option<Event>, options: Options) -> Vec<Difference> {
        let absent = match self.action {
            Action::StreamEnded => Kind::StreamEnd,
            Action::Recv => Kind::Push,
            _ => Kind::Status,
        };
        match (&self.message, &self.status, seen) {
            (Some((kind, body)), _, Some(Event::Message { kind: our_kind, body: our_body, stream })) => {
                let mut differences = compare::messages((kind, body), (&our_kind, &our_body), options);
                if self.stream != stream {
                    let text = format!("recorded on stream {:?}, ours on {stream:?}", self.stream);
                    differences.push(Difference::new(Kind::Push, text));
                }
                differences
            }
            (_, Some(recorded), Some(Event::Status(ours))) => {
                let name = |status: &str| status.split(':').next().unwrap_or_default().to_owned();
                if name(recorded) == name(&ours) {
                    Vec::new()
                } else {
                    vec![Difference::new(absent, format!("recorded {recorded}, ours {ours}"))]
                }
            }
            (_, _, seen) => vec![Difference::new(absent, format!("recorded {:?}, ours {seen:?}", self.as_event()))],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(step: &str, event: Event) -> Seen {
        Seen { step: step.to_owned(), event }
    }

    fn kinds(seen: Seen) -> Vec<Kind> {
        let canon = Canon::nacos_2_5_1();
        canon.compare(&[seen]).into_values().flatten().map(|d| d.kind).collect()
    }

    #[test]
    fn what_was_recorded_is_equal_to_itself() {
        let canon = Canon::nacos_2_5_1();
        let steps = canon.steps.iter();
        let all: Vec<Seen> = steps.filter_map(|(name, step)| Some(seen(name, step.as_event()?))).collect();
        let verdicts = canon.compare(&all);
        assert!(verdicts.len() > 600, "{}", verdicts.len());
        assert!(verdicts.values().all(Vec::is_empty), "{verdicts:?}");
    }

    #[test]
    fn nacos_3_0_3_agrees_in_all_codes_but_two() {
        let canon = Canon::nacos_2_5_1();
        let newer = Canon::nacos_3_0_3_where_it_agrees_with(&canon);
        let answered = vectors::nacos_3_0_3().len();
        let ends = canon.steps.values().filter(|step| step.action == Action::StreamEnded).count();
        assert_eq!(newer.len(), answered + ends - 2 - Canon::CONSEQUENCES.len());
        assert!(!newer.steps.contains_key("setup/register-module-ai"));
        assert!(!newer.steps.contains_key("setup/subscribe-module-ai"));
    }

    #[test]
    fn another_grpc_status_fails() {
        let event = Event::Status("UNKNOWN: Method not found: Request/Request".to_owned());
        assert_eq!(kinds(seen("before-setup/upper-case-path", event)), [Kind::Status]);
        let event = Event::Status("UNIMPLEMENTED: any text".to_owned());
        assert_eq!(kinds(seen("before-setup/upper-case-path", event)), []);
        assert_eq!(kinds(seen("before-setup/upper-case-path", Event::Nothing)), [Kind::Status]);
    }

    #[test]
    fn a_missing_push_and_one_too_many_fail() {
        assert_eq!(kinds(seen("subscribe/W-push-NotifySubscriberRequest", Event::Nothing)), [Kind::Push]);
        assert_eq!(kinds(seen("subscribe/W-extra", Event::Extra(vec!["{}".to_owned()]))), [Kind::ExtraPush]);
    }

    #[test]
    fn a_message_by_another_stream_fails() {
        let recorded = Canon::nacos_2_5_1();
        let step = "second-stream/A-push-NotifySubscriberRequest";
        let (kind, body) = recorded.steps.get(step).and_then(|s| s.message.clone()).expect("a message");
        let event = Event::Message { kind, body, stream: Some("A.2".to_owned()) };
        assert_eq!(kinds(seen(step, event)), [Kind::Push]);
    }

    #[test]
    fn a_stream_that_does_not_end_fails() {
        assert_eq!(kinds(seen("detection/S-no-ack.1-stream-ended", Event::Nothing)), [Kind::StreamEnd]);
    }
}
