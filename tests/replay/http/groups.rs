//! The recorded calls, in groups that know nothing of each other.

use nacos_tests::vectors::Exchange;

/// What the recordings have and is not held again, and why. A name without a slash is a whole group.
#[cfg(test)]
const LEFT_OUT: &[(&str, &[&str])] = &[
    (
        "configuration is not served",
        &[
            "config",
            "v2/config-publish",
            "v2/config-get",
            "v2/config-get-missing",
            "v2/config-history",
            "v2/config-publish-nocontent",
            "v2/config-delete",
            "v3/client-config",
            "v3/client-config-missing",
            "v3/admin-config",
            "v3/admin-config-publish",
            "v3/admin-config-list",
            "v3/admin-config-delete",
            "v3/admin-history-list",
        ],
    ),
    ("there are no users yet", &["auth"]),
    (
        "the console of 3.x has a port of its own with fewer paths; ours are all on one port",
        &[
            "console3/v1-liveness",
            "console3/v1-readiness",
            "console3/v2-liveness",
            "console3/v1-namespaces",
            "console3/v1-server-state",
            "console3/api-path-on-console",
            "console3/config-list",
            "console3/login-v1-bad",
            "console3/login-v1-users-bad",
            "console3/login-v3-bad",
        ],
    ),
];

/// Groups that need a server of their own, or the same server as another group because they go on where that one ended.
const CHAINS: &[&[&str]] = &[
    &["fresh"],
    &["transport"],
    &["register"],
    &["cache"],
    &["protect"],
    &["kind"],
    &["update"],
    &["beat"],
    &["expiry"],
    &["batch"],
    &["invalid", "service", "switch", "v2"],
    &["cluster", "health"],
    &["catalog"],
    &["core"],
    &["console"],
    &["extra"],
    &["v3", "console3"],
];

/// Answers that count or list what all the groups before have left behind, which those of one chain have not, or what had gone
/// by the time they were recorded: keys and types are compared, values are not.
pub(crate) const SHAPE: &[&str] = &[
    "service/names-all",
    "core/v2-ids",
    "v2/service-list",
    "v2/metrics-ops",
    "v2/client-list",
    "v2/client-subscribers",
    "v3/admin-service-list",
    "v3/admin-metrics",
    "v3/admin-client-list",
    "v3/admin-core-ops-ids",
    "console3/service-list",
];

/// The group in which time goes by: its pauses are part of the recording.
pub(crate) const TIMED: &str = "expiry";

/// The calls, by chain.
pub(crate) fn chains(calls: Vec<Exchange>) -> Vec<Vec<Exchange>> {
    let mut chains: Vec<Vec<Exchange>> = CHAINS.iter().map(|_| Vec::new()).collect();
    for call in calls {
        let at = CHAINS.iter().position(|chain| chain.contains(&call.group()));
        chains[at.unwrap_or_else(|| panic!("{} is in no chain", call.call))].push(call);
    }
    chains.retain(|chain| !chain.is_empty());
    chains
}

#[cfg(test)]
mod tests {
    use nacos_tests::vectors;

    use super::*;

    #[test]
    fn what_is_left_out_is_left_out_and_all_else_is_held() {
        let names: Vec<String> =
            vectors::http_2_5_1().into_iter().chain(vectors::http_3_0_3()).map(|call| call.call).collect();
        for (reason, left_out) in LEFT_OUT {
            for name in *left_out {
                let held = names.iter().any(|held| held == name || held.starts_with(&format!("{name}/")));
                assert!(!held && !reason.is_empty(), "{name}");
            }
        }
        let (older, newer) = (chains(vectors::http_2_5_1()), chains(vectors::http_3_0_3()));
        assert_eq!(older.iter().chain(&newer).map(Vec::len).sum::<usize>(), names.len());
        assert!(names.len() > 640, "{}", names.len());
    }

    #[test]
    fn every_name_is_unique_and_every_named_call_exists() {
        for calls in [vectors::http_2_5_1(), vectors::http_3_0_3()] {
            let mut names: Vec<&str> = calls.iter().map(|call| call.call.as_str()).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        }
        let names: Vec<String> =
            vectors::http_2_5_1().into_iter().chain(vectors::http_3_0_3()).map(|call| call.call).collect();
        for name in SHAPE {
            assert!(names.iter().any(|held| held == name), "{name}");
        }
    }
}
