//! Messages of other versions: more fields, fewer, null ones, and numbers written as text.

use std::sync::Mutex;

use nacos_client::{EmptyPolicy, NamingService, Select};
use nacos_proto::Payload;
use serde_json::{Map, Value, json};

use crate::support::client::{mine, ports, quick, told};
use crate::support::tap::Tap;
use crate::support::wait::wait_until;
use crate::support::witness::foreign;
use crate::support::world::World;

/// Fields that some server leaves out, or writes as null.
const OPTIONAL: &[&str] = &[
    "requestId",
    "message",
    "errorCode",
    "success",
    "headers",
    "module",
    "abilityTable",
    "clusters",
    "cacheMillis",
    "checksum",
    "valid",
    "allIPs",
    "allIps",
    "reachProtectionThreshold",
    "instanceId",
    "metadata",
    "serviceName",
    "ephemeral",
    "instanceHeartBeatInterval",
    "instanceHeartBeatTimeOut",
    "ipDeleteTimeout",
    "instanceIdGenerator",
    "clusterName",
    "healthy",
    "enabled",
    "type",
];

/// What a push needs so that it can be acknowledged.
const NEEDED_IN_PUSHES: &[&str] = &["requestId"];

/// The whole of what a client does, against a server whose messages go through `change`.
async fn main_job(what: &str, change: impl Fn(&mut Map<String, Value>) + Send + Sync + 'static) {
    let registry = World::Standard.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    tap.rewrite(move |payload| {
        let Ok(mut body) = serde_json::from_slice::<Value>(payload.json()) else { return Some(payload) };
        let needed = if payload.kind() == "NotifySubscriberRequest" || payload.kind() == "ClientDetectionRequest" {
            NEEDED_IN_PUSHES
        } else {
            &[]
        };
        let kept: Vec<_> = needed.iter().map(|key| (*key, body.get(*key).cloned())).collect();
        each_object(&mut body, &change);
        for (key, value) in kept {
            body[key] = value.unwrap_or(Value::Null);
        }
        Some(Payload::new(payload.kind(), body.to_string().into()))
    });
    let nacos = NamingService::builder()
        .servers([tap.entry()])
        .timeouts(quick())
        .empty_policy(EmptyPolicy::Accept)
        .build()
        .unwrap();
    let witness = registry.witness().await;
    let orders = nacos.service("orders").unwrap();
    let mut changes = orders.subscribe(Select::all());
    told(&mut changes, what, |list| list.is_empty()).await;
    let registration = orders.register(mine(8080).weight(2.0).metadata("k", "v")).unwrap();
    registration.confirmed().await.unwrap_or_else(|e| panic!("{what}: {e}"));
    let second = orders.register(mine(8081)).unwrap();
    second.confirmed().await.unwrap_or_else(|e| panic!("{what}: {e}"));
    told(&mut changes, what, |list| ports(list) == [8080, 8081]).await;
    witness.register("orders", foreign(9090)).await;
    let list = told(&mut changes, what, |list| ports(list) == [8080, 8081, 9090]).await;
    assert_eq!(list.instances().iter().find(|i| i.port == 8080).map(|i| i.weight), Some(2.0), "{what}");
    assert_eq!(orders.query().await.unwrap_or_else(|e| panic!("{what}: {e}")).len(), 3, "{what}");
    let page = nacos.services_page("DEFAULT_GROUP", 1, 10).await.unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(page.names, ["orders"], "{what}");
    second.withdraw().await.unwrap_or_else(|e| panic!("{what}: {e}"));
    drop(registration);
    told(&mut changes, what, |list| ports(list) == [9090]).await;
    // Health checks and acknowledgements work as well, or the connection would be lost or the pushes repeated.
    let before = tap.count("HealthCheckRequest");
    wait_until("health checks are answered", || tap.count("HealthCheckRequest") >= before + 2).await;
    let stats = nacos.stats();
    assert_eq!((stats.connects, stats.unreadable), (1, 0), "{what}: {stats:?}");
    assert_eq!(registry.server().counters().refusals, 0, "{what}");
}

fn each_object(value: &mut Value, change: &dyn Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            for (key, inner) in object.iter_mut() {
                // Metadata are free text by nature, and so is a table of abilities.
                if key != "metadata" && key != "abilityTable" {
                    each_object(inner, change);
                }
            }
            change(object);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_object(item, change)),
        _ => {}
    }
}

#[tokio::test]
async fn cg13_unknown_fields_do_no_harm() {
    main_job("unknown fields", |object| {
        for (key, value) in [
            ("aaUnknown", json!({"deep": [1, {"deeper": null}]})),
            ("zzUnknown", json!(["x", 1.5, true, {}])),
            ("namespace2", json!("text")),
            ("ipCount", json!(-1)),
        ] {
            object.insert(key.to_owned(), value);
        }
    })
    .await;
}

#[tokio::test]
async fn cg13_missing_optional_fields_do_no_harm() {
    main_job("missing fields", |object| {
        for key in OPTIONAL {
            object.remove(*key);
        }
    })
    .await;
}

#[tokio::test]
async fn cg13_null_fields_do_no_harm() {
    main_job("null fields", |object| {
        for key in OPTIONAL {
            object.insert((*key).to_owned(), Value::Null);
        }
    })
    .await;
}

#[tokio::test]
async fn cg13_numbers_and_booleans_written_as_text_do_no_harm() {
    main_job("text for numbers", |object| {
        for value in object.values_mut() {
            if value.is_number() || value.is_boolean() {
                *value = Value::String(value.to_string());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn cg13_any_mixture_of_oddities_does_no_harm() {
    for seed in 1..=5 {
        let rng = Mutex::new(fastrand::Rng::with_seed(seed));
        main_job(&format!("seed {seed}"), move |object| {
            let mut rng = rng.lock().unwrap();
            for key in OPTIONAL {
                match rng.u8(..6) {
                    0 => drop(object.remove(*key)),
                    1 => drop(object.insert((*key).to_owned(), Value::Null)),
                    _ => {}
                }
            }
            if rng.bool() {
                object.insert(format!("unknown{}", rng.u8(..9)), json!([{"a": 1}]));
            }
            for value in object.values_mut() {
                if value.is_number() && rng.u8(..4) == 0 {
                    *value = Value::String(value.to_string());
                }
            }
        })
        .await;
    }
}

#[tokio::test]
async fn g17_both_spellings_of_a_renamed_field_are_read() {
    for keep in ["allIPs", "allIps"] {
        main_job(keep, move |object| {
            let value = object.remove("allIPs").or_else(|| object.remove("allIps"));
            object.remove("allIps");
            if let Some(value) = value {
                object.insert(keep.to_owned(), value);
            }
        })
        .await;
    }
}
