//! Whole payloads, byte for byte.

use bytes::Bytes;
use nacos_proto::Payload;
use nacos_proto::grpc::{HealthCheckRequest, HealthCheckResponse, Response as _};
use nacos_tests::vectors;
use prost::Message as _;

const HEALTH_CHECK_REQUEST: &str = "121e1a124865616c7468436865636b52657175657374420831302e302e302e391a2412227b2268656164657273223a7b7d2c226d6f64756c65223a22696e7465726e616c227d";
const HEALTH_CHECK_RESPONSE: &str = "12151a134865616c7468436865636b526573706f6e73651a31122f7b22726573756c74436f6465223a3230302c226572726f72436f6465223a302c2273756363657373223a747275657d";

#[test]
fn a_request_has_the_bytes_of_the_reference_implementation() {
    let ours = Payload::encode_json(&HealthCheckRequest::default()).with_client_ip("10.0.0.9");
    assert_eq!(ours.encode_to_vec(), vectors::hex(HEALTH_CHECK_REQUEST));
}

#[test]
fn a_response_has_the_bytes_of_the_reference_implementation() {
    let ours = Payload::encode_json(&HealthCheckResponse::default());
    assert_eq!(ours.encode_to_vec(), vectors::hex(HEALTH_CHECK_RESPONSE));
}

#[test]
fn the_bytes_of_the_reference_implementation_are_read() {
    let read = |hex| Payload::decode(Bytes::from(vectors::hex(hex))).expect("a payload");
    let request = read(HEALTH_CHECK_REQUEST);
    assert_eq!((request.kind(), request.client_ip()), ("HealthCheckRequest", "10.0.0.9"));
    request.decode_json::<HealthCheckRequest>().expect("the message");
    let response = read(HEALTH_CHECK_RESPONSE);
    assert_eq!((response.kind(), response.client_ip()), ("HealthCheckResponse", ""));
    assert!(response.decode_response::<HealthCheckResponse>().expect("the message").is_success());
}

#[test]
fn whole_payloads_of_clients_are_read() {
    let mut seen = 0;
    for sent in vectors::clients() {
        let Some(hex) = &sent.payload_hex else { continue };
        let payload = Payload::decode(Bytes::from(vectors::hex(hex))).expect("a payload");
        assert_eq!(payload.kind(), sent.kind, "{} {}", sent.peer, sent.name);
        assert_eq!(payload.client_ip(), sent.client_ip, "{} {}", sent.peer, sent.name);
        assert_eq!(payload.json(), sent.body_text().as_bytes(), "{} {}", sent.peer, sent.name);
        let body = payload.body.as_ref().expect("a body");
        assert_eq!(body.type_url, sent.type_url, "{} {}", sent.peer, sent.name);
        let again = Payload::decode(Bytes::from(payload.encode_to_vec())).expect("our own payload");
        assert_eq!(again, payload, "{} {}", sent.peer, sent.name);
        seen += 1;
    }
    assert!(seen >= 6, "one payload of each client, found {seen}");
}
