//! The one table of what our server does otherwise than the recorded one.

use nacos_tests::compare::Kind;

use crate::script::Mode;

/// What is compared with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Against {
    /// `behaviour(Nacos25)` with Nacos 2.5.1.
    Nacos25,
    /// The default server with Nacos 2.5.1.
    Default,
    /// The default server with Nacos 3.0.3.
    Default303,
}

impl Against {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nacos25 => "behaviour(Nacos25) against Nacos 2.5.1",
            Self::Default => "default against Nacos 2.5.1",
            Self::Default303 => "default against Nacos 3.0.3",
        }
    }
}

/// A deliberate difference.
#[derive(Debug)]
pub(crate) struct Exception {
    /// Where it shows.
    pub(crate) against: &'static [Against],
    /// The steps at which it shows; it must show at each.
    pub(crate) steps: &'static [&'static str],
    /// As what it shows; it must show as each.
    pub(crate) kinds: &'static [Kind],
    /// The row of the README's compatibility table it follows from.
    pub(crate) row: &'static str,
    /// Why the recorded server differs at these steps.
    pub(crate) reason: &'static str,
}

impl Exception {
    pub(crate) fn covers(&self, against: Against, step: &str) -> bool {
        self.against.contains(&against) && self.steps.contains(&step)
    }
}

/// Whether the table has anything to say about the step in this mode.
pub(crate) fn apply(mode: Mode, step: &str) -> bool {
    let against = if mode == Mode::Nacos25 { Against::Nacos25 } else { Against::Default };
    TABLE.iter().any(|exception| exception.covers(against, step))
}

/// The table.
pub(crate) static TABLE: &[Exception] = &[];

#[test]
fn every_exception_has_a_reason_and_no_kind_that_is_never_acceptable() {
    for exception in TABLE {
        assert!(!exception.reason.is_empty() && !exception.row.is_empty(), "{exception:?}");
        assert!(
            !exception.kinds.is_empty() && !exception.steps.is_empty() && !exception.against.is_empty(),
            "{exception:?}"
        );
        assert!(!exception.kinds.iter().any(|kind| kind.is_never_acceptable()), "{exception:?}");
    }
}
