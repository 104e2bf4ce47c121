use super::condition::PlannedCondition;
use super::reader::Reader;
use super::shares::Shares;
use super::sight::Sight;
use super::{Goal, Miss, Route, Ways};
use crate::pick::{fnv, mix};

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
    pub(super) fn applies(&self, sight: &Sight<'_>) -> bool {
        self.when.iter().all(|condition| condition.holds(sight))
    }

    pub(super) fn route<'a>(&'a self, sight: &Sight<'a>, draw: impl FnOnce() -> u64) -> Route<'a> {
        let goal = self.to.drawn(|| self.sticky_draw(sight).unwrap_or_else(draw)).goal(sight);
        Route { rule: Some(&self.name), goal, miss: self.miss }
    }

    pub(super) fn ways<'a>(&'a self, sight: &Sight<'a>) -> Ways<'a> {
        let goals = match self.sticky_draw(sight) {
            Some(draw) => vec![(100.0, self.to.drawn(|| draw).goal(sight))],
            None => self.to.all().map(|(percent, planned)| (percent, planned.goal(sight))).collect(),
        };
        Ways { rule: Some(&self.name), goals, miss: self.miss }
    }

    fn sticky_draw(&self, sight: &Sight<'_>) -> Option<u64> {
        self.sticky.as_ref().and_then(|one| one.draw(sight))
    }
}

impl PlannedGoal {
    fn goal<'a>(&'a self, sight: &Sight<'a>) -> Goal<'a> {
        match self {
            Self::Baseline => Goal::Baseline,
            Self::Fixed(label) => Goal::Fixed(*label),
            Self::Taken { key, from } => match from.first(sight) {
                Some(value) => Goal::Taken { key: *key, value },
                None => Goal::Unnamed { key: *key },
            },
        }
    }
}

impl Sticky {
    /// 64 bits that look random and are the same for the same value.
    fn draw(&self, sight: &Sight<'_>) -> Option<u64> {
        self.by.first(sight).map(|value| mix(fnv(self.salt, value.as_bytes())))
    }
}
