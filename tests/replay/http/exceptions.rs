//! What our HTTP port says otherwise than the recorded ones.

use nacos_tests::compare::Kind;

use crate::exceptions::{Against, Exception};

const OLDER: &[Against] = &[Against::Http25];

/// The table.
pub(crate) static TABLE: &[Exception] = &[Exception {
    against: OLDER,
    steps: &["cache/list-2-at-once"],
    kinds: &[Kind::Value],
    row: "read-your-writes",
    reason: "the second registration is listed at once",
}];
