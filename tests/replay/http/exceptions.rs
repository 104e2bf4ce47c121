//! What our HTTP port says otherwise than the recorded ones.

use nacos_tests::compare::Kind;

use crate::exceptions::{Against, Exception};

const OLDER: &[Against] = &[Against::Http25];
const NEWER: &[Against] = &[Against::Http303];

const UDP: &[Against] = &[Against::Udp25, Against::UdpDefault];
const UDP_DEFAULT: &[Against] = &[Against::UdpDefault];

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
        steps: &["fresh/service-names", "service/names", "service/names-all", "service/names-unknown-ns"],
        kinds: &[Kind::ExtraKey],
        row: "both-service-keys",
        reason: "the names stand under the older key as well",
    },
    Exception {
        against: UDP,
        steps: &["udp/no-ack/packet-2", "udp/ack-other-socket/packet-2"],
        kinds: &[Kind::Push],
        row: "one-pending-push",
        reason: "the first list is not repeated once a newer one was sent",
    },
    Exception {
        against: UDP_DEFAULT,
        steps: &[
            "udp/no-agent/extra",
            "udp/unknown-agent/extra",
            "udp/rust-agent/extra",
            "udp/csharp-low/extra",
            "udp/java-no-version/extra",
        ],
        kinds: &[Kind::ExtraPush],
        row: "any-agent",
        reason: "whoever gives a port is pushed to",
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
            "beat/malformed",
            "beat/malformed-text",
            "beat/array",
        ],
        kinds: &[Kind::Status],
        row: "broken-parameter",
        reason: "what cannot be read is the caller's fault: 400, and the text names the parameter",
    },
    Exception {
        against: OLDER,
        steps: &["beat/full-ephemeral-false"],
        kinds: &[Kind::Status],
        row: "persistent-beat",
        reason: "the instance is registered and the answer says so, where the recorded server registers it and fails",
    },
    Exception {
        against: OLDER,
        steps: &["expiry/t+8", "expiry/t+13.5", "expiry/t+21", "expiry/t+29"],
        kinds: &[Kind::Value],
        row: "preserved-times",
        reason: "the second instance has times that are no numbers, and lives as long as any other",
    },
    Exception {
        against: OLDER,
        steps: &["kind/delete-persistent-default-flag-list"],
        kinds: &[Kind::Value],
        row: "no-active-checks",
        reason: "nothing listens where the instance says it does, and an embedded server does not look",
    },
    Exception {
        against: OLDER,
        steps: &["invalid/metadata-list"],
        kinds: &[Kind::Value, Kind::ExtraKey],
        row: "null-metadata",
        reason: "a null in metadata is nothing, and metadata without anything have the default id generator",
    },
    Exception {
        against: NEWER,
        steps: &["v3/admin-core-cluster-node-self", "v3/admin-core-cluster-node-list", "console3/nodes"],
        kinds: &[Kind::Value],
        row: "own-abilities",
        reason: "a node says what it can do itself, and is in no group of a consensus protocol",
    },
    Exception {
        against: OLDER,
        steps: &["health/put-unhealthy", "health/put-valid-alias"],
        kinds: &[Kind::Status],
        row: "persistent-health",
        reason: "the health is set, where the recorded server takes the instance for an ephemeral one",
    },
    Exception {
        against: OLDER,
        steps: &["health/put-list"],
        kinds: &[Kind::Value],
        row: "persistent-health",
        reason: "the health is what was set before",
    },
    Exception {
        against: NEWER,
        steps: &["v3/admin-hp-health"],
        kinds: &[Kind::Status],
        row: "persistent-health",
        reason: "the health is set, where the recorded server takes the instance for an ephemeral one",
    },
    Exception {
        against: NEWER,
        steps: &["v3/admin-hp-list"],
        kinds: &[Kind::Value],
        row: "persistent-health",
        reason: "the health is what was set before",
    },
    Exception {
        against: OLDER,
        steps: &["v2/catalog-instances-healthy"],
        kinds: &[Kind::Status],
        row: "page-filter",
        reason: "the filter leaves one instance of a page for ten",
    },
    Exception {
        against: OLDER,
        steps: &["v2/client-publishers"],
        kinds: &[Kind::Value],
        row: "publishers",
        reason: "the service has two publishers",
    },
    Exception {
        against: NEWER,
        steps: &["v3/admin-service-list-inst", "console3/instance-list"],
        kinds: &[Kind::Value],
        row: "batch-metadata",
        reason: "one of the instances was disabled before metadata were given to both",
    },
    Exception {
        against: OLDER,
        steps: &["update/patch-weight-bad"],
        kinds: &[Kind::Status],
        row: "weight-range",
        reason: "the weight is out of range, and refused",
    },
    Exception {
        against: OLDER,
        steps: &["update/reregister-after-override-list"],
        kinds: &[Kind::Value],
        row: "weight-range",
        reason: "the weight that was out of range was refused before, so the one before it stands",
    },
];
