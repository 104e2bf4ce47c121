use std::collections::BTreeMap;

use super::labels::Labels;
use super::planned::PlannedRule;
use super::sight::Sight;
use super::watched_headers::WatchedHeaders;
use super::{Goal, Miss, Route, Ways, compile};
use crate::route::error::At;
use crate::route::{Label, RequestHead, RouteError, RouteRules};

/// The rules of one service, checked, and ready to be asked. Immutable.
#[derive(Debug)]
pub(crate) struct Router {
    rules: Vec<PlannedRule>,
    baseline: Option<Label>,
    labels: Labels,
    watched: WatchedHeaders,
}

impl Router {
    /// # Errors
    /// If the rules cannot be used; the path begins with them.
    pub(crate) fn new(rules: &RouteRules) -> Result<Self, RouteError> {
        Self::at(&At::Root, rules)
    }

    /// The same, with the place of the rules for the errors.
    pub(crate) fn at(at: &At<'_>, rules: &RouteRules) -> Result<Self, RouteError> {
        let mut labels = Labels::default();
        if let Some(label) = &rules.baseline {
            labels.mention(&at.key("baseline"), label)?;
        }
        let mut watched = WatchedHeaders::default();
        let planned = compile::rules(&at.key("routes"), &rules.routes, &mut labels, &mut watched)?;
        Ok(Self { rules: planned, baseline: rules.baseline.clone(), labels, watched })
    }

    /// The labels that rules name. A [`Goal::Fixed`] is an index into it.
    pub(crate) fn fixed(&self) -> &[Label] {
        &self.labels.fixed
    }

    /// The metadata keys whose value requests name. The key of a [`Goal::Taken`] is an index into it.
    pub(crate) fn taken(&self) -> &[String] {
        &self.labels.taken
    }

    /// Whether an instance with these metadata is of the baseline: it has none of the keys that rules name, or has them as
    /// the baseline's label has.
    pub(crate) fn is_baseline(&self, metadata: &BTreeMap<String, String>) -> bool {
        let default = |key: &str| self.baseline.as_ref().and_then(|label| label.entries().get(key));
        self.labels.keys.iter().all(|key| metadata.get(key).is_none_or(|value| default(key) == Some(value)))
    }

    /// Whether an instance with these metadata is of a goal.
    pub(crate) fn is_of(&self, goal: &Goal<'_>, metadata: &BTreeMap<String, String>) -> bool {
        match goal {
            Goal::Baseline => self.is_baseline(metadata),
            Goal::Fixed(at) => self.fixed().get(*at).is_some_and(|label| label.is_of(metadata)),
            Goal::Taken { key, value } => {
                self.taken().get(*key).and_then(|key| metadata.get(key)).is_some_and(|own| *own == **value)
            }
            Goal::Unnamed { .. } => false,
        }
    }

    /// What people call a goal, with these words for the baseline and for a value that the request does not name. Those that
    /// it names are escaped.
    pub(crate) fn name(&self, goal: &Goal<'_>, baseline: &str, unnamed: &str) -> String {
        let key = |at: usize| self.taken().get(at).map_or("", String::as_str);
        match goal {
            Goal::Baseline => baseline.to_owned(),
            Goal::Fixed(at) => self.fixed().get(*at).map(ToString::to_string).unwrap_or_default(),
            Goal::Taken { key: at, value } => format!("{}={}", key(*at), value.escape_debug()),
            Goal::Unnamed { key: at } => format!("{}={unnamed}", key(*at)),
        }
    }

    /// Where a request goes. `draw` has 64 uniform random bits; it is asked at most once, where a share is drawn.
    pub(crate) fn route<'a>(&'a self, head: &RequestHead<'a>, draw: impl FnOnce() -> u64) -> Route<'a> {
        let sight = Sight::new(head, &self.watched);
        match self.rules.iter().find(|rule| rule.applies(&sight)) {
            Some(rule) => rule.route(&sight, draw),
            None => Route { rule: None, goal: Goal::Baseline, miss: Miss::Fail },
        }
    }

    /// All that a draw could make of a request.
    pub(crate) fn ways<'a>(&'a self, head: &RequestHead<'a>) -> Ways<'a> {
        let sight = Sight::new(head, &self.watched);
        match self.rules.iter().find(|rule| rule.applies(&sight)) {
            Some(rule) => rule.ways(&sight),
            None => Ways { rule: None, goals: vec![(100.0, Goal::Baseline)], miss: Miss::Fail },
        }
    }
}
