use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::{Condition, Destination, Label, RequestHead, RequestTags, RouteError, RouteRules, Rule, Subject, Test};

/// The rules of one service, checked, and ready to be asked. Immutable.
#[derive(Debug)]
pub(crate) struct Router {
    rules: RouteRules,
    /// The labels that rules name. A [`Goal::Fixed`] is an index into it.
    fixed: Vec<Label>,
    /// The metadata keys whose value requests name. The key of a [`Goal::Taken`] is an index into it.
    taken: Vec<String>,
    /// The metadata keys that rules name: whoever has none of them is of the baseline.
    keys: BTreeSet<String>,
}

/// Where a request goes. It borrows from the rules and from the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route<'a> {
    /// The rule that applied.
    pub(crate) rule: Option<&'a str>,
    pub(crate) goal: Goal<'a>,
    /// What counts if nobody there takes the request.
    pub(crate) miss: Miss,
}

/// Instances that requests can be routed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Goal<'a> {
    Baseline,
    /// Those with a label of [`Router::fixed`].
    Fixed(usize),
    /// Those that have this value for a key of [`Router::taken`].
    Taken { key: usize, value: Cow<'a, str> },
}

/// What counts if nobody of a goal takes the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Miss {
    Fail,
    Baseline,
    /// Those with a label of [`Router::fixed`].
    Fixed(usize),
}

impl Router {
    /// # Errors
    /// If the rules contradict themselves.
    pub(crate) fn new(rules: &RouteRules) -> Result<Self, RouteError> {
        let mut router =
            Self { rules: rules.clone(), fixed: Vec::new(), taken: Vec::new(), keys: BTreeSet::new() };
        for rule in &rules.routes {
            for to in &rule.to {
                match &to.destination {
                    Destination::Baseline => {}
                    Destination::Label(label) => router.add_label(label),
                    Destination::LabelFrom { key, .. } => {
                        router.keys.insert(key.clone());
                        if !router.taken.contains(key) {
                            router.taken.push(key.clone());
                        }
                    }
                }
            }
            if let super::Miss::Label(label) = &rule.miss {
                router.add_label(label);
            }
        }
        router.keys.extend(rules.baseline.iter().flat_map(|label| label.entries().keys().cloned()));
        Ok(router)
    }

    fn add_label(&mut self, label: &Label) {
        self.keys.extend(label.entries().keys().cloned());
        if !self.fixed.contains(label) {
            self.fixed.push(label.clone());
        }
    }

    /// The labels that rules name.
    pub(crate) fn fixed(&self) -> &[Label] {
        &self.fixed
    }

    /// The metadata keys whose value requests name.
    pub(crate) fn taken(&self) -> &[String] {
        &self.taken
    }

    /// Whether an instance with these metadata is of the baseline.
    pub(crate) fn is_baseline(&self, metadata: &BTreeMap<String, String>) -> bool {
        let default = |key: &str| self.rules.baseline.as_ref().and_then(|label| label.entries().get(key));
        self.keys.iter().all(|key| metadata.get(key).is_none_or(|value| default(key) == Some(value)))
    }

    /// Where a request goes. `draw` has 64 uniform random bits; it is asked at most once, where a share is drawn.
    pub(crate) fn route<'a>(&'a self, head: &RequestHead<'a>, draw: impl FnOnce() -> u64) -> Route<'a> {
        let Some(rule) = self.rules.routes.iter().find(|rule| rule.when.iter().all(|one| holds(one, head))) else {
            return Route { rule: None, goal: Goal::Baseline, miss: Miss::Fail };
        };
        let fixed = |label: &Label| self.fixed.iter().position(|one| one == label).unwrap_or(usize::MAX);
        let goal = match drawn(rule, draw) {
            Destination::Baseline => Goal::Baseline,
            Destination::Label(label) => Goal::Fixed(fixed(label)),
            Destination::LabelFrom { key, subject } => match value(subject, head) {
                Some(value) => {
                    Goal::Taken { key: self.taken.iter().position(|one| one == key).unwrap_or(usize::MAX), value }
                }
                None => Goal::Baseline,
            },
        };
        let miss = match &rule.miss {
            super::Miss::Baseline => Miss::Baseline,
            super::Miss::Fail => Miss::Fail,
            super::Miss::Label(label) => Miss::Fixed(fixed(label)),
        };
        Route { rule: Some(&rule.name), goal, miss }
    }
}

fn drawn(rule: &Rule, draw: impl FnOnce() -> u64) -> &Destination {
    let drawn = (draw() % 10_000) as f64 / 100.0;
    let mut sum = 0.0;
    let hit = rule.to.iter().find(|to| {
        sum += to.percent;
        drawn < sum
    });
    hit.map_or(&Destination::Baseline, |to| &to.destination)
}

fn holds(condition: &Condition, head: &RequestHead<'_>) -> bool {
    value(&condition.subject, head).is_some_and(|value| match &condition.test {
        Test::Exact(text) => *text == value,
        Test::Any(texts) => texts.iter().any(|text| *text == value),
        Test::Prefix(text) => value.starts_with(text.as_str()),
        Test::Regex(_) => false,
        Test::Present => true,
    })
}

fn value<'a>(subject: &Subject, head: &RequestHead<'a>) -> Option<Cow<'a, str>> {
    match subject {
        Subject::Header(name) => head.headers.get(name)?.to_str().ok().map(Cow::Borrowed),
        Subject::Tag(name) => head.extensions.get::<RequestTags>()?.get(name).map(Cow::Borrowed),
        Subject::Path => Some(Cow::Borrowed(head.uri.path())),
        Subject::Method => Some(Cow::Borrowed(head.method.as_str())),
        Subject::Query(_) | Subject::Cookie(_) => None,
    }
}
