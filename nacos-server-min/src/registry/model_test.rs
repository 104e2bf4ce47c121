//! The registry against its model: random histories, and a long one.

use proptest::prelude::*;

use super::model::{ADDRESSES, CLIENTS, CLUSTERS, Op, Row, SERVICES, World};

fn row() -> impl Strategy<Value = Row> {
    (0..ADDRESSES, 0..CLUSTERS.len(), 0..4u8, any::<bool>(), prop::bool::weighted(0.8))
}

fn op() -> impl Strategy<Value = Op> {
    let (client, service) = (0..CLIENTS, 0..SERVICES);
    let page = prop_oneof![Just(i32::MIN), -1..8i32, Just(i32::MAX)];
    prop_oneof![
        6 => (client.clone(), service.clone(), prop::collection::vec(row(), 0..4))
            .prop_map(|(client, service, rows)| Op::Publish { client, service, rows }),
        3 => (client.clone(), service.clone()).prop_map(|(client, service)| Op::Withdraw { client, service }),
        2 => (service.clone(), any::<bool>(), row())
            .prop_map(|(service, kind, row)| Op::PublishInternal { service, kind, row }),
        2 => (service.clone(), any::<bool>(), 0..ADDRESSES)
            .prop_map(|(service, kind, address)| Op::WithdrawInternal { service, kind, address }),
        3 => (client.clone(), service.clone(), 0..=CLUSTERS.len())
            .prop_map(|(client, service, clusters)| Op::Subscribe { client, service, clusters }),
        2 => (client.clone(), service).prop_map(|(client, service)| Op::Unsubscribe { client, service }),
        1 => client.prop_map(|client| Op::Reconnect { client }),
        1 => (0..2usize, page.clone(), page).prop_map(|(group, number, size)| Op::List { group, number, size }),
        1 => (0..40u32).prop_map(|seconds| Op::Wait { seconds }),
        1 => Just(Op::Sweep),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_registry_is_its_model(ops in prop::collection::vec(op(), 1..250)) {
        let mut world = World::new();
        for op in &ops {
            let changed = world.apply(op);
            world.compare_told(&changed);
            world.compare_lists();
        }
    }
}

/// A million steps, compared now and then: what only a long life brings about, such as numbers that wrap or lists that grow.
#[test]
fn a_long_life() {
    let mut world = World::new();
    let mut rng = fastrand::Rng::with_seed(20_260);
    for step in 0..1_000_000u32 {
        let row = |rng: &mut fastrand::Rng| {
            (rng.u16(0..ADDRESSES), rng.usize(0..CLUSTERS.len()), rng.u8(0..4), rng.bool(), rng.u8(0..5) > 0)
        };
        let (client, service) = (rng.usize(0..CLIENTS), rng.usize(0..SERVICES));
        let op = match rng.u8(0..20) {
            0..=6 => {
                let rows = (0..rng.usize(0..4)).map(|_| row(&mut rng)).collect();
                Op::Publish { client, service, rows }
            }
            7..=9 => Op::Withdraw { client, service },
            10 => Op::PublishInternal { service, kind: rng.bool(), row: row(&mut rng) },
            11 | 12 => Op::WithdrawInternal { service, kind: rng.bool(), address: rng.u16(0..ADDRESSES) },
            13 | 14 => Op::Subscribe { client, service, clusters: rng.usize(0..=CLUSTERS.len()) },
            15 => Op::Unsubscribe { client, service },
            16 => Op::Reconnect { client },
            17 => Op::List { group: rng.usize(0..2), number: rng.i32(-2..5), size: rng.i32(-1..5) },
            18 => Op::Wait { seconds: rng.u32(0..3) },
            _ => Op::Sweep,
        };
        let changed = world.apply(&op);
        world.compare_told(&changed);
        if step % 64 == 0 {
            world.compare_lists();
        }
    }
    assert!(world.registry.names.len() <= 10, "texts are shared and forgotten");
}
