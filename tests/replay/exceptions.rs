//! The one table of what our server does otherwise than the recorded one; its part about the HTTP port is in `http::exceptions`.

use nacos_tests::compare::Kind;

#[cfg(test)]
use crate::http;
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
    /// The default server's HTTP port with that of Nacos 2.5.1.
    Http25,
    /// The default server's HTTP port with that of Nacos 3.0.3.
    Http303,
    /// Pushes by UDP of `behaviour(Nacos25)` with those of Nacos 2.5.1.
    Udp25,
    /// The default server's pushes by UDP with those of Nacos 2.5.1.
    UdpDefault,
}

impl Against {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nacos25 => "behaviour(Nacos25) against Nacos 2.5.1",
            Self::Default => "default against Nacos 2.5.1",
            Self::Default303 => "default against Nacos 3.0.3",
            Self::Http25 => "HTTP v1 and v2 against Nacos 2.5.1",
            Self::Http303 => "HTTP v3 against Nacos 3.0.3",
            Self::Udp25 => "UDP of behaviour(Nacos25) against Nacos 2.5.1",
            Self::UdpDefault => "UDP by default against Nacos 2.5.1",
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
    /// The row of `docs/differences-from-nacos.md` it follows from.
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

const DEFAULT: &[Against] = &[Against::Default, Against::Default303];
const ALL: &[Against] = &[Against::Nacos25, Against::Default, Against::Default303];

/// The table.
pub(crate) static TABLE: &[Exception] = &[
    Exception {
        against: DEFAULT,
        steps: &[
            "instance/field-weight-negative",
            "instance/field-weight-big",
            "instance/field-weight-nan-string",
            "instance/field-weight-1e400",
        ],
        kinds: &[Kind::Code],
        row: "weight-range",
        reason: "the weight is out of range or no number, and refused",
    },
    Exception {
        against: DEFAULT,
        steps: &[
            "instance/field-weight-negative-query",
            "instance/field-weight-big-query",
            "instance/field-weight-nan-string-query",
            "instance/field-weight-1e400-query",
        ],
        kinds: &[Kind::Value],
        row: "weight-range",
        reason: "the registration before was refused, so the list is empty",
    },
    Exception {
        against: DEFAULT,
        steps: &[
            "instance/register-ns-absent",
            "instance/register-ns-null",
            "instance/query-ns-absent",
            "instance/query-ns-null",
            "query-and-list/list-ns-absent",
        ],
        kinds: &[Kind::Code],
        row: "null-namespace",
        reason: "no namespace is the default one, where the recorded server fails",
    },
    Exception {
        against: DEFAULT,
        steps: &["instance/query-ns-empty", "subscribe/subscribe-ns-absent", "subscribe/subscribe-ns-empty"],
        kinds: &[Kind::Value],
        row: "null-namespace",
        reason: "the list is that of the default namespace, not of one that only such requests reach",
    },
    Exception {
        against: DEFAULT,
        steps: &["subscribe/W-push-NotifySubscriberRequest#7", "subscribe/W-push-NotifySubscriberRequest#8"],
        kinds: &[Kind::Push],
        row: "null-namespace",
        reason: "the service is the one already subscribed to, so there is no first push",
    },
    Exception {
        against: DEFAULT,
        steps: &["second-stream/A-push-NotifySubscriberRequest"],
        kinds: &[Kind::Push],
        row: "newest-stream",
        reason: "the second stream takes over",
    },
    Exception {
        against: DEFAULT,
        steps: &["second-stream/A-extra"],
        kinds: &[Kind::ExtraPush],
        row: "newest-stream",
        reason: "the third stream, deaf in the recording, gets the pushes of both later changes; and the push of the empty list is not merged with the next",
    },
    Exception {
        against: DEFAULT,
        steps: &[
            "duplicates/query-different-weight",
            "duplicates/query-different-metadata",
            "batch-register/query-duplicates",
        ],
        kinds: &[Kind::Value],
        row: "one-row",
        reason: "an address stands in the list once, as its newest publisher has it",
    },
    Exception {
        against: DEFAULT,
        steps: &["detection-alone/A.1-stream-ended"],
        kinds: &[Kind::StreamEnd],
        row: "acked-probe",
        reason: "both probes were acknowledged, so the connection lives",
    },
    Exception {
        against: DEFAULT,
        steps: &["subscribe/subscribe-clusters-null", "subscribe/subscribe-clusters-absent"],
        kinds: &[Kind::ExtraKey],
        row: "clusters-key",
        reason: "the list of a subscription without clusters says so",
    },
    Exception {
        against: DEFAULT,
        steps: &["instance/field-ip-absent-query", "instance/field-instance-empty-query", "batch-register/query-no-ip"],
        kinds: &[Kind::ExtraKey],
        row: "ip-key",
        reason: "an instance that gave no address has an empty one",
    },
    Exception {
        against: ALL,
        steps: &["instance/field-metadata-null-value-query"],
        kinds: &[Kind::ExtraKey],
        row: "null-metadata",
        reason: "metadata with nothing but null values are empty metadata, and those have the default id generator",
    },
];

#[test]
fn every_exception_has_a_reason_and_no_kind_that_is_never_acceptable() {
    for exception in TABLE.iter().chain(http::exceptions::TABLE) {
        assert!(!exception.reason.is_empty() && !exception.row.is_empty(), "{exception:?}");
        assert!(
            !exception.kinds.is_empty() && !exception.steps.is_empty() && !exception.against.is_empty(),
            "{exception:?}"
        );
        assert!(!exception.kinds.iter().any(|kind| kind.is_never_acceptable()), "{exception:?}");
    }
}

#[test]
fn every_exception_follows_from_a_row_of_the_compatibility_table() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/differences-from-nacos.md");
    let page = std::fs::read_to_string(page).expect("the page lies beside the crates");
    for exception in TABLE.iter().chain(http::exceptions::TABLE) {
        let row = format!("| `{}` |", exception.row);
        assert!(page.lines().any(|line| line.starts_with(&row)), "the page has no row {row}");
    }
}
