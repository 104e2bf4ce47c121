//! Equal, excepted, total.

use std::collections::{BTreeMap, BTreeSet};

use nacos_tests::compare::Difference;

use crate::exceptions::{Against, Exception, TABLE};
use crate::verdict::{Canon, Seen};

/// The outcome of one comparison.
#[derive(Debug)]
pub(crate) struct Tally {
    against: Against,
    total: usize,
    equal: usize,
    excepted: BTreeSet<String>,
    faults: Vec<String>,
}

impl Tally {
    pub(crate) fn of(against: Against, canon: &Canon, seen: &[Seen]) -> Self {
        Self::with(against, &canon.compare(seen), TABLE)
    }

    pub(crate) fn with(
        against: Against,
        verdicts: &BTreeMap<String, Vec<Difference>>,
        table: &'static [Exception],
    ) -> Self {
        let mut tally =
            Self { against, total: verdicts.len(), equal: 0, excepted: BTreeSet::new(), faults: Vec::new() };
        let mut used = BTreeSet::new();
        for (step, differences) in verdicts {
            if differences.is_empty() {
                tally.equal += 1;
                continue;
            }
            let exception = table.iter().find(|e| e.covers(against, step));
            let covered =
                |d: &&Difference| exception.is_some_and(|e| !d.kind.is_never_acceptable() && e.kinds.contains(&d.kind));
            let (excused, open): (Vec<_>, Vec<_>) = differences.iter().partition(covered);
            used.extend(excused.iter().map(|d| (step.as_str(), d.kind)));
            if open.is_empty() {
                tally.excepted.insert(step.clone());
            }
            tally.faults.extend(open.into_iter().map(|d| format!("{step}: {d}")));
        }
        for exception in table.iter().filter(|e| e.against.contains(&against)) {
            for step in exception.steps {
                let unused = exception.kinds.iter().filter(|kind| !used.contains(&(step, **kind)));
                let text = |kind| format!("{step}: the exception {} ({kind:?}) is no longer needed", exception.row);
                tally.faults.extend(unused.map(text));
            }
        }
        tally
    }

    /// Prints the figures of all, and fails if one of them has a difference that is not excused or an excuse that is not needed.
    #[expect(clippy::print_stdout, reason = "the figures are part of what the test says")]
    pub(crate) fn check(all: &[Self]) {
        let mut faults = Vec::new();
        for tally in all {
            let (against, equal, excepted) = (tally.against.name(), tally.equal, tally.excepted.len());
            println!("replay {against}: {equal} equal, {excepted} excepted, {} total", tally.total);
            faults.extend(tally.faults.iter().map(|fault| format!("{against}: {fault}")));
        }
        assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use nacos_tests::compare::Kind;

    use super::*;

    static EXCEPTIONS: &[Exception] = &[Exception {
        against: &[Against::Default],
        steps: &["s/one", "s/two"],
        kinds: &[Kind::Code],
        row: "a-row",
        reason: "for the test",
    }];

    fn tally(verdicts: &[(&str, &[Kind])]) -> Tally {
        let differences = |kinds: &[Kind]| kinds.iter().map(|kind| Difference::new(*kind, "")).collect();
        let verdicts = verdicts.iter().map(|(step, kinds)| ((*step).to_owned(), differences(kinds))).collect();
        Tally::with(Against::Default, &verdicts, EXCEPTIONS)
    }

    #[test]
    fn exceptions_cover_their_steps_and_kinds() {
        let tally = tally(&[("s/one", &[Kind::Code]), ("s/two", &[Kind::Code]), ("s/three", &[])]);
        assert_eq!((tally.equal, tally.excepted.len()), (1, 2));
        assert_eq!(tally.faults, [""; 0]);
    }

    #[test]
    fn an_exception_that_is_no_longer_needed_is_a_fault() {
        let tally = tally(&[("s/one", &[Kind::Code]), ("s/two", &[])]);
        assert_eq!(tally.faults, ["s/two: the exception a-row (Code) is no longer needed"]);
    }

    #[test]
    fn no_exception_covers_another_kind_or_step_or_what_is_never_acceptable() {
        let tally =
            tally(&[("s/one", &[Kind::Code, Kind::Push]), ("s/two", &[Kind::Code]), ("s/three", &[Kind::Code])]);
        assert_eq!(tally.faults, ["s/one: Push: ", "s/three: Code: "]);
        assert!(Kind::MissingKey.is_never_acceptable() && Kind::JsonType.is_never_acceptable());
    }
}
