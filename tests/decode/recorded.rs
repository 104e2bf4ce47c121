//! All recorded messages.

use std::collections::{BTreeMap, BTreeSet};

use nacos_proto::DecodeError;
use nacos_proto::grpc::{Ack, is_response};
use nacos_tests::compare::{self, Difference, Kind, Options};
use nacos_tests::vectors::{self, Action, Step};
use serde_json::Value;

use crate::recoding::{TYPES, payload, recode};

/// Messages of the recorded servers: step, type, body.
fn server_messages() -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for step in vectors::nacos_2_5_1().into_iter().filter(|step| step.action != Action::Http) {
        if let (Some(kind), Some(body)) = (&step.answer, &step.answer_body) {
            all.push((format!("2.5.1 {}", step.step), kind.clone(), body.get().to_owned()));
        } else if step.action == Action::Recv {
            all.push((format!("2.5.1 {}", step.step), step.kind.clone().expect("a type"), step.body_text()));
        }
    }
    for answer in vectors::nacos_3_0_3() {
        if let Some((kind, body)) = answer.message() {
            all.push((format!("3.0.3 {}", answer.step), kind.to_owned(), body.to_owned()));
        }
    }
    all
}

/// Differences between what a peer wrote and what we write of it, by step or key, and whether all of them occur.
struct Listed {
    expected: &'static [(Kind, &'static str)],
    seen: BTreeSet<(Kind, &'static str)>,
    faults: Vec<String>,
}

impl Listed {
    fn new(expected: &'static [(Kind, &'static str)]) -> Self {
        Self { expected, seen: BTreeSet::new(), faults: Vec::new() }
    }

    fn take(&mut self, place: &str, differences: Vec<Difference>) {
        for difference in differences {
            let key = difference.text.split(':').next().and_then(|path| path.rsplit('.').next()).unwrap_or_default();
            match self.expected.iter().find(|listed| **listed == (difference.kind, key)) {
                Some(listed) => drop(self.seen.insert(*listed)),
                None => self.faults.push(format!("{place}: {difference}")),
            }
        }
    }

    fn check(mut self) {
        let unseen = self.expected.iter().filter(|listed| !self.seen.contains(*listed));
        self.faults.extend(unseen.map(|listed| format!("listed, but there is no such difference: {listed:?}")));
        assert!(self.faults.is_empty(), "{}", self.faults.join("\n"));
    }
}

/// A server that is given metadata with nothing but null values lists them as empty, yet leaves out the id generator as if there
/// were some. From the list alone nobody can tell.
const NACOS_DIFFERENCES: &[(Kind, &str)] = &[(Kind::ExtraKey, "instanceIdGenerator")];

#[test]
fn what_real_servers_send_is_read_and_written_again_with_the_same_fields_types_and_values() {
    let mut listed = Listed::new(NACOS_DIFFERENCES);
    let messages = server_messages();
    let mut different = BTreeSet::new();
    for (step, kind, body) in &messages {
        let ours = match recode(&payload(kind, body)) {
            Some(Ok(ours)) => ours,
            other => panic!("{step}: {kind}: {other:?}"),
        };
        let differences = compare::messages((kind, body), (kind, &ours), Options::default());
        if !differences.is_empty() {
            different.insert(step.as_str());
        }
        listed.take(step, differences);
    }
    listed.check();
    assert!(messages.len() > 1_200, "{}", messages.len());
    let step = "instance/field-metadata-null-value-query";
    assert_eq!(different, BTreeSet::from([format!("2.5.1 {step}").as_str(), format!("3.0.3 {step}").as_str()]));
}

/// r-nacos leaves some keys out, writes null where we write nothing, and names the service in pushes.
const R_NACOS_DIFFERENCES: &[(Kind, &str)] = &[
    (Kind::ExtraKey, "success"),
    (Kind::ExtraKey, "valid"),
    (Kind::ExtraKey, "supportAbilityNegotiation"),
    (Kind::ExtraKey, "instanceHeartBeatInterval"),
    (Kind::ExtraKey, "instanceHeartBeatTimeOut"),
    (Kind::ExtraKey, "ipDeleteTimeout"),
    (Kind::ExtraKey, "instanceIdGenerator"),
    (Kind::MissingKey, "requestId"),
    (Kind::MissingKey, "message"),
    (Kind::MissingKey, "type"),
    (Kind::MissingKey, "namespace"),
    (Kind::MissingKey, "serviceName"),
    (Kind::MissingKey, "groupName"),
];

#[test]
fn what_r_nacos_sends_is_read_with_its_codes_and_hosts() {
    let mut listed = Listed::new(R_NACOS_DIFFERENCES);
    for answer in vectors::r_nacos() {
        let (kind, body) = answer.message().expect("all are messages");
        let ours = match recode(&payload(kind, body)) {
            Some(Ok(ours)) => ours,
            other => panic!("{}: {kind}: {other:?}", answer.step),
        };
        listed.take(&answer.step, compare::messages((kind, body), (kind, &ours), Options::default()));
    }
    listed.check();
}

#[test]
fn what_clients_send_is_read() {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for sent in vectors::clients() {
        let payload = payload(&sent.kind, sent.body_text());
        match recode(&payload) {
            Some(Ok(_)) => {}
            other => panic!("{} {}: {other:?}", sent.peer, sent.name),
        }
        if is_response(&sent.kind) {
            let ack = Ack::from_payload(&payload).expect("a response").expect("an acknowledgement");
            assert!(ack.is_success() && ack.request_id.is_some(), "{} {}: {ack:?}", sent.peer, sent.name);
        }
        *kinds.entry(sent.kind).or_default() += 1;
    }
    assert!(kinds.len() >= 9, "{kinds:?}");
}

#[test]
fn what_we_write_has_the_fields_types_and_values_of_a_java_client() {
    let mut listed = Listed::new(&[]);
    let clients = vectors::clients();
    let java: Vec<_> = clients.iter().filter(|s| s.peer.starts_with("java") || s.peer.starts_with("sca")).collect();
    assert!(java.len() > 30, "{}", java.len());
    for sent in java {
        let body = sent.body_text();
        let ours = recode(&payload(&sent.kind, body)).expect("a known type").expect("readable");
        let place = format!("{} {}", sent.peer, sent.name);
        listed.take(&place, compare::messages((&sent.kind, body), (&sent.kind, &ours), Options::default()));
    }
    listed.check();
}

fn error_code(step: &Step) -> Option<(i64, String)> {
    let body: Value = serde_json::from_str(step.answer_body.as_ref()?.get()).ok()?;
    let message = body.get("message").and_then(Value::as_str).unwrap_or_default();
    Some((body.get("errorCode")?.as_i64()?, message.to_owned()))
}

#[test]
fn the_bodies_that_the_recorded_server_could_not_read_are_those_that_we_cannot_read() {
    let mut refused = 0;
    for step in vectors::nacos_2_5_1() {
        // A server check is answered unread, and before the set-up no body is looked at.
        let unread = step.kind.as_deref() == Some("ServerCheckRequest") || step.scenario() == "before-setup";
        if step.action != Action::Call || unread || step.pad_to.is_some() {
            continue;
        }
        let kind = step.kind.clone().unwrap_or_default();
        let Some(read) = TYPES.contains(&kind.as_str()).then(|| recode(&payload(&kind, &step.body_text()))).flatten()
        else {
            continue;
        };
        let (code, message) = error_code(&step).expect("every call was answered");
        match (code, message.starts_with("errCode: 101"), &read) {
            (502, true, Err(DecodeError::Malformed { .. })) | (502, false, Err(DecodeError::Null)) => refused += 1,
            (code, _, Ok(_)) if code != 502 => {}
            // What the server has no handler for it does not read either.
            (302, _, _) => {}
            other => panic!("{}: {other:?}", step.step),
        }
    }
    assert!(refused >= 15, "{refused}");
}

#[test]
fn set_ups_are_read_or_dropped_as_recorded() {
    let dropped = [
        "setup/R-bad-json-setup-bad-json",
        "setup/R-wrong-type-labels-setup-wrong-type-labels",
        "setup/R-table-not-bool-setup-table-not-bool",
    ];
    let steps = vectors::nacos_2_5_1();
    let set_ups =
        steps.iter().filter(|s| s.action == Action::Send && s.kind.as_deref() == Some("ConnectionSetupRequest"));
    let unread: Vec<&str> = set_ups
        .filter(|s| recode(&payload("ConnectionSetupRequest", &s.body_text())).expect("a known type").is_err())
        .map(|s| s.step.as_str())
        .collect();
    assert_eq!(unread, dropped);
}
