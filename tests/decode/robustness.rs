//! No bytes whatever make reading panic, and what was read once is read again.

use std::sync::LazyLock;

use bytes::Bytes;
use nacos_proto::Payload;
use nacos_proto::grpc::{Ack, QueryServiceResponse};
use nacos_tests::vectors;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use prost::Message as _;
use serde_json::Value;

use crate::recoding::{TYPES, payload, recode};

/// One message of every recorded type and size class, from servers and clients.
fn recorded() -> Vec<(String, String)> {
    let steps = vectors::nacos_2_5_1();
    let answers = steps.iter().filter_map(|s| Some((s.answer.clone()?, s.answer_body.as_ref()?.get().to_owned())));
    let sent = steps.iter().filter(|s| s.pad_to.is_none()).filter_map(|s| Some((s.kind.clone()?, s.body_text())));
    let clients = vectors::clients().into_iter().map(|s| (s.kind.clone(), s.body_text().to_owned()));
    answers
        .chain(sent)
        .chain(clients)
        .filter(|(kind, body)| TYPES.contains(&kind.as_str()) && body.len() < 3_000)
        .collect()
}

/// Reading must not panic; what is read must survive being written and read again.
fn read_twice(payload: &Payload) {
    let again =
        |json: &str| recode(&self::payload(payload.kind(), json)).expect("the same type").expect("our own JSON");
    if let Some(Ok(first)) = recode(payload) {
        // Not the first one: null labels are written as none, and none are read as empty.
        let second = again(&first);
        assert_eq!(again(&second), second);
    }
    // Neither may the readers that look at answers and acknowledgements.
    drop(payload.decode_response::<QueryServiceResponse>());
    drop(Ack::from_payload(payload));
}

/// Values that a careless or hostile peer puts where another is expected.
fn odd_value() -> impl Strategy<Value = String> {
    const ODD: &[&str] = &[
        "null",
        "true",
        "0",
        "-1",
        "1e400",
        "-1e400",
        "80.5",
        "99999999999999999999",
        "\"\"",
        "\"x\"",
        "\"80\"",
        "\"NaN\"",
        "\"\\ud800\"",
        "[]",
        "[null]",
        "[{}]",
        "{}",
        "{\"a\":{}}",
        "{\"a\":null}",
        "nope",
        "",
    ];
    prop_oneof![select(ODD).prop_map(str::to_owned), "\\PC{0,20}"]
}

/// Replaces the value at a random place of the tree by `odd`, or removes or repeats its key.
fn change(value: &Value, at: &mut usize, odd: &str, how: u8) -> String {
    let here = *at == 0;
    *at = at.wrapping_sub(1);
    if here {
        return odd.to_owned();
    }
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| change(item, at, odd, how)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(entries) => {
            let mut out = Vec::new();
            for (key, value) in entries {
                let key = Value::from(key.as_str());
                let hit = *at == 0;
                let text = change(value, at, odd, how);
                match how {
                    0 if hit => {}
                    1 if hit => out.extend([format!("{key}:{value}"), format!("{key}:{text}")]),
                    _ => out.push(format!("{key}:{text}")),
                }
            }
            format!("{{{}}}", out.join(","))
        }
        other => other.to_string(),
    }
}

fn nodes(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nodes).sum::<usize>(),
        Value::Object(entries) => 1 + entries.values().map(nodes).sum::<usize>(),
        _ => 1,
    }
}

/// Whole payloads, one of each client.
static PAYLOADS: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| vectors::clients().iter().filter_map(|s| s.payload_hex.as_deref().map(vectors::hex)).collect());

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_payload_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(payload) = Payload::decode(Bytes::from(bytes)) {
            read_twice(&payload);
        }
    }

    #[test]
    fn any_body_of_any_type_is_a_message_or_an_error(kind in select(TYPES), body in prop::collection::vec(any::<u8>(), 0..200)) {
        read_twice(&Payload::new(kind, Bytes::from(body)));
    }

    #[test]
    fn damaged_payloads_of_clients_are_read_or_refused(at in any::<Index>(), flips in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4), cut in any::<Index>()) {
        let mut bytes = at.get(&PAYLOADS).clone();
        for (place, value) in flips {
            *place.get_mut(&mut bytes) = value;
        }
        bytes.truncate(cut.index(bytes.len() * 4) + 1);
        if let Ok(payload) = Payload::decode(Bytes::from(bytes)) {
            read_twice(&payload);
        }
    }
}

#[test]
fn recorded_bodies_with_odd_missing_or_repeated_members_are_read_or_refused() {
    let recorded = recorded();
    assert!(recorded.len() > 500, "{}", recorded.len());
    let config = ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() };
    let strategy = (any::<Index>(), any::<Index>(), odd_value(), 0..4_u8, any::<Index>(), select(TYPES));
    proptest!(config, |((which, place, odd, how, cut, other_kind) in strategy)| {
        let (kind, body) = which.get(&recorded);
        let text = match serde_json::from_str::<Value>(body) {
            Ok(value) => change(&value, &mut place.index(nodes(&value)), &odd, how),
            Err(_) => body.clone(),
        };
        read_twice(&payload(kind, &text));
        read_twice(&payload(other_kind, &text));
        let cut: String = text.chars().take(cut.index(text.len() + 1)).collect();
        read_twice(&payload(kind, &cut));
    });
}
