use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::field::Field;
use super::group::Group;
use super::way::Way;
use crate::Endpoint;
use crate::pick::{PickContext, Verdict};
use crate::route::{Goal, Label, MissGoal, RequestHead, Router, Ways};

/// Tables for every label that the rules of a service can send a request to, beside the rules themselves: whoever reads one
/// reads the other, so that no request is routed by rules that its tables were not made for.
///
/// Everything is made with the list. A request makes nothing and leaves nothing behind, whatever it says.
#[derive(Debug)]
pub(super) struct Routed {
    router: Arc<Router>,
    baseline: Arc<Group>,
    /// For each of [`Router::fixed`].
    fixed: Box<[Arc<Group>]>,
    /// For each of [`Router::taken`], by the values that instances have.
    taken: Box<[HashMap<Box<str>, Arc<Group>>]>,
    /// Everyone who is in one of the groups, in the order of the list.
    members: Box<[Arc<Endpoint>]>,
    /// How many could take requests if rules led there.
    takers: usize,
}

impl Routed {
    /// The tables, and the verdict of each row.
    pub(super) fn new(field: &Field<'_>, router: Arc<Router>) -> (Self, Vec<Verdict>) {
        let mut grouping = Grouping::new(field);
        let baseline = grouping.of(|at| router.is_baseline(field.metadata(at)));
        let fixed = router.fixed().iter().map(|label| grouping.labelled(label)).collect();
        let taken = router.taken().iter().map(|key| grouping.by_value(key)).collect();
        let (verdicts, members) = grouping.finish();
        (Self { baseline, fixed, taken, members, takers: field.usable(), router }, verdicts)
    }

    /// Where a request goes.
    pub(super) fn way<'a, 'r: 'a>(&'a self, cx: &mut PickContext<'r>) -> Way<'a> {
        let head = cx.head();
        let route = self.router.route(&head, || cx.draw());
        Way { goal: self.goal(&route.goal), miss: self.miss(route.miss), route, routed: self }
    }

    /// Where requests that say the same can go.
    pub(super) fn ways<'a>(&'a self, head: &RequestHead<'a>) -> Ways<'a> {
        self.router.ways(head)
    }

    /// Whether an instance with these metadata is of a goal.
    pub(super) fn is_of(&self, goal: &Goal<'_>, metadata: &BTreeMap<String, String>) -> bool {
        self.router.is_of(goal, metadata)
    }

    /// All tables, each once for each goal.
    pub(super) fn groups(&self) -> impl Iterator<Item = &Group> {
        let taken = self.taken.iter().flat_map(HashMap::values);
        [&self.baseline].into_iter().chain(&self.fixed).chain(taken).map(|group| &**group)
    }

    pub(super) fn goal(&self, goal: &Goal<'_>) -> Option<&Group> {
        match goal {
            Goal::Baseline => Some(&self.baseline),
            Goal::Fixed(at) => self.fixed.get(*at).map(|group| &**group),
            Goal::Taken { key, value } => self.taken.get(*key)?.get(&**value).map(|group| &**group),
            Goal::Unnamed { .. } => None,
        }
    }

    fn miss(&self, miss: MissGoal) -> Option<&Group> {
        match miss {
            MissGoal::Fail => None,
            MissGoal::Baseline => Some(&self.baseline),
            MissGoal::Fixed(at) => self.fixed.get(at).map(|group| &**group),
        }
    }

    /// What people call a goal.
    pub(super) fn name(&self, goal: &Goal<'_>) -> String {
        self.router.name(goal, "the baseline", "(not named by the request)")
    }

    pub(super) fn baseline(&self) -> &Group {
        &self.baseline
    }

    pub(super) const fn members(&self) -> &[Arc<Endpoint>] {
        &self.members
    }

    pub(super) const fn takers(&self) -> usize {
        self.takers
    }
}

/// Groups as they are made. Those of the same instances are one, with one table.
struct Grouping<'a> {
    field: &'a Field<'a>,
    made: HashMap<Vec<usize>, Arc<Group>>,
    /// What is known of each row.
    verdicts: Vec<Option<Verdict>>,
}

impl<'a> Grouping<'a> {
    fn new(field: &'a Field<'a>) -> Self {
        Self { field, made: HashMap::new(), verdicts: (0..field.rows.len()).map(|at| field.out(at).cloned()).collect() }
    }

    fn of(&mut self, is_in: impl Fn(usize) -> bool) -> Arc<Group> {
        self.group((0..self.field.rows.len()).filter(|at| is_in(*at)).collect())
    }

    fn labelled(&mut self, label: &Label) -> Arc<Group> {
        let field = self.field;
        self.of(|at| label.is_of(field.metadata(at)))
    }

    fn by_value(&mut self, key: &str) -> HashMap<Box<str>, Arc<Group>> {
        let mut rows: HashMap<&str, Vec<usize>> = HashMap::new();
        for at in 0..self.field.rows.len() {
            if let Some(value) = self.field.metadata(at).get(key) {
                rows.entry(value).or_default().push(at);
            }
        }
        rows.into_iter().map(|(value, rows)| (value.into(), self.group(rows))).collect()
    }

    fn group(&mut self, rows: Vec<usize>) -> Arc<Group> {
        if let Some(group) = self.made.get(&rows) {
            return Arc::clone(group);
        }
        let group = Arc::new(self.field.arrange(&rows));
        for (at, verdict) in &group.verdicts {
            let better = |known: &Verdict| match (known.tier(), verdict.tier()) {
                (Some(known), Some(new)) => new < known,
                (known, new) => known.is_none() && new.is_some(),
            };
            if self.verdicts[*at].as_ref().is_none_or(better) {
                self.verdicts[*at] = Some(verdict.clone());
            }
        }
        self.made.insert(rows, Arc::clone(&group));
        group
    }

    /// The verdict of each row, and who takes requests.
    fn finish(self) -> (Vec<Verdict>, Box<[Arc<Endpoint>]>) {
        let verdicts: Vec<_> = self.verdicts.into_iter().map(|verdict| verdict.unwrap_or(Verdict::Unrouted)).collect();
        let eligible = verdicts.iter().enumerate().filter(|(_, verdict)| verdict.is_eligible());
        let members = eligible.filter_map(|(at, _)| self.field.endpoint(at)).cloned().collect();
        (verdicts, members)
    }
}
