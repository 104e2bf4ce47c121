//! Picking one instance: quietly, only usable ones, in the shares of their weights.

use std::collections::HashMap;

use nacos_client::{NamingService, PickError, PickRng, Select};
use nacos_proto::Payload;
use nacos_proto::grpc::{Instance as WireInstance, NotifySubscriberRequest};

use crate::support::consumer::{lists, next_that, ports, prompt, service};
use crate::support::logs::Logs;
use crate::support::tap::Tap;
use crate::support::witness::{Witness, foreign};
use crate::support::world::{Registry, World, in_every_world, unique};

in_every_world!(
    cg22_picking_and_reading_log_nothing,
    cg25_an_empty_choice_says_why,
    cg25_only_usable_instances_of_a_list_with_odd_weights_are_picked,
    cg26_shares_of_listed_instances_follow_their_weights,
);

/// Instances of these weights, each of a connection of its own, from port 1 on.
async fn weighted(registry: &Registry, name: &str, weights: &[f64]) -> Vec<Witness> {
    let mut witnesses = Vec::new();
    for (port, weight) in (1..).zip(weights) {
        let witness = registry.witness().await;
        witness.register(name, WireInstance { weight: *weight, ..foreign(port) }).await;
        witnesses.push(witness);
    }
    witnesses
}

async fn cg22_picking_and_reading_log_nothing(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let _providers = weighted(&registry, &name, &[1.0, 2.0]).await;
    lists(&orders, &[1, 2]).await;
    let logs = Logs::capture();
    for _ in 0..1_000 {
        orders.pick().expect("two can be picked");
        nacos.pick(&name).expect("two can be picked");
        orders.pick_with(|instance| instance.port).expect("two can be picked");
        orders.try_snapshot().expect("the client runs").expect("there is a list").pick_in(&["DEFAULT"]).expect("both");
        service(&nacos, "nobody").pick().expect_err("nothing is known of it");
    }
    let lines: Vec<_> = logs.at(tracing::Level::TRACE).into_iter().filter(|line| line.text.contains(&name)).collect();
    assert!(lines.is_empty(), "{lines:?}");
}

async fn cg25_an_empty_choice_says_why(world: World) {
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    assert!(matches!(orders.pick(), Err(PickError::NotReady(key)) if key == *orders.key()));
    lists(&orders, &[]).await;
    let counts = |error: PickError| match error {
        PickError::NoInstance { total, healthy, enabled, positive_weight, .. } => {
            [total, healthy, enabled, positive_weight]
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(counts(orders.pick().unwrap_err()), [0; 4]);
    let (one, two) = (registry.witness().await, registry.witness().await);
    one.register(&name, WireInstance { weight: 0.0, ..foreign(1) }).await;
    two.register(&name, WireInstance { healthy: false, weight: 3.0, ..foreign(2) }).await;
    lists(&orders, &[1, 2]).await;
    let error = orders.pick().unwrap_err();
    assert!(error.is_retryable());
    assert_eq!(counts(error), [2, 1, 2, 1]);
    assert_eq!(counts(nacos.select_one_healthy_instance(&name, &["nowhere"]).await.unwrap_err()), [0; 4]);
}

async fn cg25_only_usable_instances_of_a_list_with_odd_weights_are_picked(world: World) {
    let registry = world.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    // Real servers list what they were given, whatever it is.
    let name = unique("orders");
    let listed = name.clone();
    let weights = [0.0, -1.0, f64::NAN, f64::NEG_INFINITY, f64::INFINITY, 20_000.0, 1e308];
    tap.rewrite(move |payload| match payload.decode_json::<NotifySubscriberRequest>() {
        Ok(mut push) if payload.kind() == "NotifySubscriberRequest" => {
            let info = push.service_info.as_mut().filter(|info| info.key().is_some_and(|(_, name)| name == listed))?;
            info.hosts =
                Some((1..).zip(weights).map(|(port, weight)| WireInstance { weight, ..foreign(port) }).collect());
            Some(Payload::encode_json(&push))
        }
        _ => Some(payload),
    });
    let nacos = NamingService::builder().servers([tap.entry()]).build().expect("the settings are valid");
    let orders = service(&nacos, &name);
    let mut changes = orders.subscribe(Select::all());
    let witness = registry.witness().await;
    witness.register(&name, foreign(1)).await;
    let change = next_that(&mut changes, "the odd list is told", |c| c.instances().len() == weights.len()).await;
    assert_eq!(ports(change.snapshot().select(&Select::pickable())), [5, 6, 7]);
    let mut seen = HashMap::new();
    for _ in 0..3_000 {
        *seen.entry(orders.pick().expect("three are usable").port).or_insert(0) += 1;
    }
    let mut picked: Vec<_> = seen.keys().copied().collect();
    picked.sort_unstable();
    assert_eq!(picked, [5, 6, 7], "and all three count as the largest weight there is: {seen:?}");
    assert!(seen.values().all(|count| (800..1200).contains(count)), "{seen:?}");
}

async fn cg26_shares_of_listed_instances_follow_their_weights(world: World) {
    const DRAWS: u32 = 100_000;
    let registry = world.registry().await;
    let (nacos, name) = (prompt(&registry), unique("orders"));
    let orders = service(&nacos, &name);
    let weights = [0.1, 0.9, 3.0];
    let _providers = weighted(&registry, &name, &weights).await;
    lists(&orders, &[1, 2, 3]).await;
    let list = orders.snapshot().await.expect("there is a list");
    let mut rng = PickRng::seeded(7);
    let mut seen = [0.0; 3];
    for _ in 0..DRAWS {
        seen[usize::from(list.pick_seeded(&mut rng).expect("all are usable").port) - 1] += 1.0;
    }
    let total: f64 = weights.iter().sum();
    let expected = weights.map(|weight| weight / total * f64::from(DRAWS));
    let chi_squared: f64 = seen.iter().zip(expected).map(|(seen, expected)| (seen - expected).powi(2) / expected).sum();
    // The critical value for p = 0.001 with two degrees of freedom.
    assert!(chi_squared < 13.82, "{seen:?} instead of {expected:?}");
}
