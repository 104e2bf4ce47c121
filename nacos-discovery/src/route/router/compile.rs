//! Rules, checked and made ready.

use std::collections::HashMap;

use super::labels::Labels;
use super::planned::{PlannedGoal, PlannedRule, Sticky};
use super::shares::{Hundredths, Shares, Sum};
use super::watched_headers::WatchedHeaders;
use super::{Miss, limits, reads};
use crate::pick::{FNV_BASIS, fnv};
use crate::route::error::{At, Problem};
use crate::route::{Destination, RouteError, Rule, WeightedDestination};

/// All rules of a service.
pub(super) fn rules(
    at: &At<'_>,
    rules: &[Rule],
    labels: &mut Labels,
    watched: &mut WatchedHeaders,
) -> Result<Vec<PlannedRule>, RouteError> {
    if rules.len() > limits::RULES {
        return Err(at.fails(Problem::TooMany { what: "rules", limit: limits::RULES }));
    }
    let mut names = HashMap::new();
    let rules = rules.iter().enumerate().map(|(index, one)| {
        let at = at.entry(index);
        name(&at.key("name"), &one.name)?;
        if let Some(first) = names.insert(&one.name, index) {
            return Err(at.key("name").fails(Problem::NameTwice { name: one.name.clone(), first }));
        }
        rule(&at, one, labels, watched)
    });
    rules.collect()
}

fn name(at: &At<'_>, name: &str) -> Result<(), RouteError> {
    if name.trim().is_empty() {
        return Err(at.fails(Problem::NoName));
    }
    if name.len() > limits::NAME {
        return Err(at.fails(Problem::TooLong { limit: limits::NAME }));
    }
    Ok(())
}

fn rule(
    at: &At<'_>,
    rule: &Rule,
    labels: &mut Labels,
    watched: &mut WatchedHeaders,
) -> Result<PlannedRule, RouteError> {
    if rule.when.len() > limits::CONDITIONS {
        return Err(at.key("when").fails(Problem::TooMany { what: "conditions", limit: limits::CONDITIONS }));
    }
    let when =
        rule.when.iter().enumerate().map(|(index, one)| reads::condition(&at.key("when").entry(index), one, watched));
    let when = when.collect::<Result<_, _>>()?;
    let to = destinations(&at.key("to"), &rule.to, labels, watched)?;
    let sticky = rule.sticky.as_ref().map(|subject| reads::taken(&at.key("sticky"), subject, watched)).transpose()?;
    let miss = match &rule.miss {
        crate::route::Miss::Baseline => Miss::Baseline,
        crate::route::Miss::Fail => Miss::Fail,
        crate::route::Miss::Label(label) => Miss::Fixed(labels.fix(&at.key("miss").key("label"), label)?),
    };
    // The byte, which no name has, keeps name and value apart.
    let salt = fnv(fnv(FNV_BASIS, rule.name.as_bytes()), &[0xff]);
    let sticky = sticky.map(|by| Sticky { salt, by });
    Ok(PlannedRule { name: rule.name.clone(), when, to, sticky, miss })
}

fn destinations(
    at: &At<'_>,
    to: &[WeightedDestination],
    labels: &mut Labels,
    watched: &mut WatchedHeaders,
) -> Result<Shares<PlannedGoal>, RouteError> {
    if to.len() > limits::DESTINATIONS {
        return Err(at.fails(Problem::TooMany { what: "destinations", limit: limits::DESTINATIONS }));
    }
    let mut planned = Vec::with_capacity(to.len());
    for (index, one) in to.iter().enumerate() {
        let at = at.entry(index);
        if to.len() > 1 && matches!(one.destination, Destination::LabelFrom { .. }) {
            return Err(at.key("label-from").fails(Problem::LabelFromAmong));
        }
        let share = Hundredths::of(one.percent)
            .ok_or_else(|| at.key("percent").fails(Problem::Percent { percent: one.percent.to_string() }))?;
        planned.push((share, goal(&at, &one.destination, labels, watched)?));
    }
    let sum = Sum::of(planned.iter().map(|(share, _)| *share));
    let Some((_, last)) = planned.pop() else { return Err(at.fails(Problem::NoDestination)) };
    if !sum.is_whole() {
        return Err(at.fails(Problem::Sum { sum: sum.to_string() }));
    }
    Ok(Shares::new(planned, last))
}

fn goal(
    at: &At<'_>,
    destination: &Destination,
    labels: &mut Labels,
    watched: &mut WatchedHeaders,
) -> Result<PlannedGoal, RouteError> {
    Ok(match destination {
        Destination::Baseline => PlannedGoal::Baseline,
        Destination::Label(label) => PlannedGoal::Fixed(labels.fix(&at.key("label"), label)?),
        Destination::LabelFrom { key, subject } => {
            let at = at.key("label-from");
            let from = reads::taken(&at, subject, watched)?;
            PlannedGoal::Taken { key: labels.take(&at.key("key"), key)?, from }
        }
    })
}
