//! What our HTTP port says otherwise than the recorded ones.

use nacos_tests::compare::Kind;

use crate::exceptions::{Against, Exception};

const OLDER: &[Against] = &[Against::Http25];

/// The table.
pub(crate) static TABLE: &[Exception] = &[
    Exception {
        against: OLDER,
        steps: &["cache/list-2-at-once"],
        kinds: &[Kind::Value],
        row: "read-your-writes",
        reason: "the second registration is listed at once",
    },
    Exception {
        against: OLDER,
        steps: &["core/v1-self", "core/v1-nodes", "core/v2-self", "core/v2-list"],
        kinds: &[Kind::Value],
        row: "own-abilities",
        reason: "a node says what it can do itself, and is in no group of a consensus protocol",
    },
    Exception {
        against: OLDER,
        steps: &["invalid/weight-NaN", "extra/nan-register", "v2/register-weight-NaN"],
        kinds: &[Kind::Status],
        row: "weight-range",
        reason: "the weight is no number, and refused",
    },
    Exception {
        against: OLDER,
        steps: &["extra/nan-list"],
        kinds: &[Kind::Value],
        row: "weight-range",
        reason: "the registration before was refused, so the list is empty",
    },
    Exception {
        against: OLDER,
        steps: &[
            "invalid/metadata-kv-noeq",
            "invalid/metadata-kv-two-eq",
            "invalid/metadata-kv-empty-value",
            "invalid/metadata-json-nested",
            "invalid/metadata-json-array",
            "invalid/metadata-json-broken",
            "batch/put-bad-json",
            "service/create-broken-selector",
            "service/create-bad-metadata",
            "cluster/update-broken-checker",
            "v2/register-metadata-bad",
        ],
        kinds: &[Kind::Status],
        row: "broken-parameter",
        reason: "what cannot be read is the caller's fault: 400, and the text names the parameter",
    },
    Exception {
        against: OLDER,
        steps: &["kind/delete-persistent-default-flag-list"],
        kinds: &[Kind::Value],
        row: "no-active-checks",
        reason: "nothing listens where the instance says it does, and nobody looks",
    },
    Exception {
        against: OLDER,
        steps: &["invalid/metadata-list"],
        kinds: &[Kind::Value, Kind::ExtraKey],
        row: "null-metadata",
        reason: "a null in metadata is nothing, and metadata without anything have the default id generator",
    },
];
