//! The recorded scenarios, made fit to be held again.

use std::time::Duration;

use nacos_tests::vectors::{self, Action, Step};

/// How the server at the other end behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// As slow, stale and odd as Nacos 2.5.1.
    Nacos25,
    /// As it does by itself.
    Default,
}

/// Steps of one scenario, in order.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

impl Scenario {
    /// The scenario shows when a server does something rather than what it does: not the number of its pushes counts but the last
    /// one.
    pub(crate) fn is_about_timing(&self) -> bool {
        TIMING.contains(&self.name.as_str())
    }

    /// Nothing can be awaited: silence itself is what the server reacts to.
    pub(crate) fn is_in_real_time(&self) -> bool {
        REAL_TIME.contains(&self.name.as_str())
    }

    /// The recorded time between the step and the one before.
    pub(crate) fn gap(&self, at: usize) -> Duration {
        let time = |at: usize| self.steps.get(at).map_or(0, |step| step.t);
        Duration::from_millis(at.checked_sub(1).map_or(0, |before| time(at).saturating_sub(time(before))))
    }
}

/// Scenarios of the recorder that are not held again, and why.
#[cfg(test)]
const LEFT_OUT: [(&str, &str); 6] = [
    ("config", "configuration is not served"),
    ("config-no-ack", "configuration is not served"),
    (
        "lock-and-ai",
        "locks and model servers are not served; their requests have no handler, as `before-setup` shows of others",
    ),
    ("cluster-port", "the cluster port is reserved and speaks nothing"),
    ("fuzzy", "watching names by pattern is not served"),
    ("pings", "HTTP/2 pings are no messages, and our server sets no limit to them"),
];

const TIMING: [&str; 7] =
    ["push-timing", "ack-missing", "ack-variants", "closure", "detection", "detection-alone", "empty-service"];

const REAL_TIME: [&str; 2] = ["detection", "detection-alone"];

/// Lists that the recorded server took from a view it had not yet rebuilt after a change. The list after the change is right too.
pub(crate) const STALE: [&str; 3] =
    ["instance/query-unknown-fields", "push-timing/query-at-once", "push-timing/subscribe-at-once"];

/// Steps before which the recorder waited to see whether something would happen that must not.
pub(crate) const LOOKS_FOR_NOTHING: [&str; 6] = [
    "setup/health-after-noise",
    "second-stream/health-after-1-closed",
    "persistent/query-after-disconnect",
    "subscribe/unsubscribe-not-subscribed",
    "closure/health-after-half-close",
    "closure/health-after-cancel",
];

/// A silent connection whose acknowledged probes do not save it was dropped at its fifth probe in one recording, at its first in
/// the other; two of them tell as much as five.
fn is_one_probe_too_many(step: &Step) -> bool {
    step.scenario() == "detection-alone" && ["#3", "#4", "#5"].iter().any(|n| step.step.ends_with(n))
}

/// Calls that the recorder made every 4 s and left out of the recording: traffic that keeps a connection alive or does not.
const FILLERS: [(&str, &str, &str); 4] = [
    ("S-server-check-only", "ServerCheckRequest", r#"{"headers":{},"module":"internal"}"#),
    ("S-unknown-type-only", "NopeRequest", "{}"),
    ("S-bad-requests-only", "InstanceRequest", "[]"),
    (
        "S-param-refused-only",
        "InstanceRequest",
        r#"{"headers":{},"namespace":"public","serviceName":"a@@b","groupName":"DEFAULT_GROUP","type":"registerInstance","instance":{"ip":"10.1.1.1","port":80},"module":"naming"}"#,
    ),
];

/// The scenarios of the recording with Nacos 2.5.1.
pub(crate) fn scenarios() -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = Vec::new();
    for step in vectors::nacos_2_5_1().into_iter().filter(|step| !is_one_probe_too_many(step)) {
        match scenarios.last_mut() {
            Some(last) if last.name == step.scenario() => last.steps.push(step),
            _ => scenarios.push(Scenario { name: step.scenario().to_owned(), steps: vec![step] }),
        }
    }
    for scenario in &mut scenarios {
        if scenario.name == "detection" {
            add_fillers(&mut scenario.steps);
        }
        if scenario.name == "detection-alone" {
            bring_forward_the_end(&mut scenario.steps);
        }
    }
    scenarios
}

fn add_fillers(steps: &mut Vec<Step>) {
    for (conn, kind, body) in FILLERS {
        let of_conn = |step: &&Step| step.conn.as_deref() == Some(conn);
        let from = steps.iter().find(|s| of_conn(s) && s.action == Action::Call).map_or(0, |s| s.t);
        let end = steps.iter().find(|s| of_conn(s) && s.action == Action::StreamEnded);
        let to = end.or_else(|| steps.iter().rfind(of_conn)).map_or(0, |s| s.t);
        for t in (from..to).step_by(4_000).skip(1) {
            let filler = serde_json::json!({
                "step": format!("detection/+{conn}-{t}"), "do": "call", "conn": conn, "t": t, "type": kind, "text": body,
            });
            steps.push(serde_json::from_value(filler).expect("a step"));
        }
    }
    steps.sort_by_key(|step| step.t);
}

/// The steps after the probes left out take place where those were.
fn bring_forward_the_end(steps: &mut [Step]) {
    let last_probe = steps.iter().filter(|s| s.acks).map(|s| s.t).max().unwrap_or_default();
    for step in steps.iter_mut().filter(|s| s.t > last_probe) {
        step.t = last_probe;
    }
}

/// True for a call that is made for its effect on the server only.
pub(crate) fn is_filler(step: &Step) -> bool {
    step.step.contains("/+")
}

#[test]
fn the_scenarios_are_all_but_those_left_out() {
    let names: Vec<String> = scenarios().into_iter().map(|scenario| scenario.name).collect();
    assert_eq!(names.len(), 21);
    for (name, reason) in LEFT_OUT {
        assert!(!names.iter().any(|held| held == name) && !reason.is_empty(), "{name}");
    }
    let named = TIMING.iter().chain(&REAL_TIME).copied();
    let steps = STALE.iter().chain(&LOOKS_FOR_NOTHING).filter_map(|step| step.split('/').next());
    for name in named.chain(steps) {
        assert!(names.iter().any(|held| held == name), "{name}");
    }
}

#[test]
fn every_step_that_is_named_exists() {
    let steps: Vec<String> = vectors::nacos_2_5_1().into_iter().map(|step| step.step).collect();
    for name in STALE.iter().chain(&LOOKS_FOR_NOTHING) {
        assert!(steps.iter().any(|step| step == name), "{name}");
    }
}

#[test]
fn what_keeps_the_silent_connections_busy_is_filled_in() {
    let scenario = scenarios().into_iter().find(|s| s.name == "detection").expect("the scenario");
    for (conn, ..) in FILLERS {
        let fillers = scenario.steps.iter().filter(|s| is_filler(s) && s.conn.as_deref() == Some(conn)).count();
        assert!((5..=9).contains(&fillers), "{conn}: {fillers}");
    }
    assert!(scenario.steps.is_sorted_by_key(|step| step.t));
}
