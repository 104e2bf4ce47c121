use super::condition::PlannedCondition;
use super::reader::Reader;
use super::shares::Shares;
use super::{Goal, Miss, Route, Ways};
use crate::pick::{fnv, mix};
use crate::route::RequestHead;

/// A rule, ready to be asked.
#[derive(Debug)]
pub(super) struct PlannedRule {
    pub(super) name: String,
    pub(super) when: Vec<PlannedCondition>,
    pub(super) to: Shares<PlannedGoal>,
    pub(super) sticky: Option<Sticky>,
    pub(super) miss: Miss,
}

/// A destination, ready to be asked.
#[derive(Debug)]
pub(super) enum PlannedGoal {
    Baseline,
    Fixed(usize),
    Taken { key: usize, from: Reader },
}

/// What requests belong together by.
#[derive(Debug)]
pub(super) struct Sticky {
    /// The rule's name, hashed: in rules of different names values go to shares independently.
    pub(super) salt: u64,
    pub(super) by: Reader,
}

impl PlannedRule {
    pub(super) fn applies(&self, head: &RequestHead<'_>) -> bool {
        self.when.iter().all(|condition| condition.holds(head))
    }

    pub(super) fn route<'a>(&'a self, head: &RequestHead<'a>, draw: impl FnOnce() -> u64) -> Route<'a> {
        let goal = self.to.drawn(|| self.sticky_draw(head).unwrap_or_else(draw)).goal(head);
        Route { rule: Some(&self.name), goal, miss: self.miss }
    }

    pub(super) fn ways<'a>(&'a self, head: &RequestHead<'a>) -> Ways<'a> {
        let goals = match self.sticky_draw(head) {
            Some(draw) => vec![(100.0, self.to.drawn(|| draw).goal(head))],
            None => self.to.all().map(|(percent, planned)| (percent, planned.goal(head))).collect(),
        };
        Ways { rule: Some(&self.name), goals, miss: self.miss }
    }

    fn sticky_draw(&self, head: &RequestHead<'_>) -> Option<u64> {
        self.sticky.as_ref().and_then(|one| one.draw(head))
    }
}

impl PlannedGoal {
    fn goal<'a>(&'a self, head: &RequestHead<'a>) -> Goal<'a> {
        match self {
            Self::Baseline => Goal::Baseline,
            Self::Fixed(label) => Goal::Fixed(*label),
            Self::Taken { key, from } => match from.first(head) {
                Some(value) => Goal::Taken { key: *key, value },
                None => Goal::Unnamed { key: *key },
            },
        }
    }
}

impl Sticky {
    /// 64 bits that look random and are the same for the same value.
    fn draw(&self, head: &RequestHead<'_>) -> Option<u64> {
        self.by.first(head).map(|value| mix(fnv(self.salt, value.as_bytes())))
    }
}
