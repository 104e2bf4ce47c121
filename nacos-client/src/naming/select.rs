//! Picking one instance of a list by weight.
//!
//! The tables of a list are built once, by its first pick, and shared by all readers of the list; a pick then costs one
//! random number and two look-ups, whatever the length of the list, and touches no lock and no allocator.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::alias::AliasTable;
use crate::model::{Instance, Weight};

/// A repeatable source of randomness for picks: the same seed gives the same sequence.
#[derive(Debug, Clone)]
pub struct PickRng(fastrand::Rng);

impl PickRng {
    /// A generator that starts from `seed`.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.u64(..)
    }
}

/// Randomness from the calling thread's own generator.
#[inline]
pub(crate) fn thread_random() -> u64 {
    fastrand::u64(..)
}

/// The tables of one list.
#[derive(Debug)]
pub(crate) struct PickTables {
    all: AliasTable,
    /// Built when somebody first picks within a cluster.
    clusters: OnceLock<HashMap<String, ClusterTable>>,
}

#[derive(Debug)]
struct ClusterTable {
    total: f64,
    members: Vec<u32>,
    table: AliasTable,
}

/// The weight of an instance in a draw: 0 if it may not be picked.
fn draw_weight(instance: &Instance) -> f64 {
    if instance.is_pickable() { Weight::usable(instance.weight).map_or(0.0, Weight::get) } else { 0.0 }
}

impl PickTables {
    pub(crate) fn new(hosts: &[Arc<Instance>]) -> Self {
        let weights: Vec<f64> = hosts.iter().map(|i| draw_weight(i)).collect();
        Self { all: AliasTable::new(&weights), clusters: OnceLock::new() }
    }

    /// An index of the whole list.
    #[inline]
    pub(crate) fn draw(&self, random: u64) -> Option<usize> {
        self.all.draw(random)
    }

    /// An index among the members of `clusters`, by weight over all of them.
    pub(crate) fn draw_in(
        &self,
        hosts: &[Arc<Instance>],
        clusters: &[&str],
        mut random: impl FnMut() -> u64,
    ) -> Option<usize> {
        let tables = self.clusters.get_or_init(|| cluster_tables(hosts));
        let named = || {
            let first = |at: usize, name: &str| clusters.iter().position(|n| *n == name) == Some(at);
            let distinct = clusters.iter().enumerate().filter(move |(at, name)| first(*at, name));
            distinct.filter_map(|(_, name)| tables.get(*name)).filter(|table| table.total > 0.0)
        };
        let total: f64 = named().map(|table| table.total).sum();
        let mut left = unit(random()) * total;
        let mut chosen = None;
        for table in named() {
            chosen = Some(table);
            if left < table.total {
                break;
            }
            left -= table.total;
        }
        let chosen = chosen?;
        chosen.members.get(chosen.table.draw(random())?).map(|at| *at as usize)
    }
}

/// 53 random bits as a number from 0 up to, but not including, 1.
fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1u64 << 53) as f64
}

fn cluster_tables(hosts: &[Arc<Instance>]) -> HashMap<String, ClusterTable> {
    let mut members: HashMap<&str, Vec<u32>> = HashMap::new();
    for (at, host) in (0u32..).zip(hosts) {
        members.entry(&host.cluster).or_default().push(at);
    }
    let table = |members: Vec<u32>| {
        let weights: Vec<f64> = members.iter().map(|at| draw_weight(&hosts[*at as usize])).collect();
        ClusterTable { total: weights.iter().sum(), members, table: AliasTable::new(&weights) }
    };
    members.into_iter().map(|(name, members)| (name.to_owned(), table(members))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts(weights: &[(f64, &str)]) -> Vec<Arc<Instance>> {
        (1u16..)
            .zip(weights)
            .map(|(port, (w, c))| Arc::new(Instance::new(("h", port)).weight(*w).cluster(*c)))
            .collect()
    }

    #[test]
    fn cg26_shares_within_clusters_follow_the_weights() {
        let hosts = hosts(&[(1.0, "a"), (2.0, "b"), (3.0, "a"), (50.0, "c"), (0.0, "a")]);
        let tables = PickTables::new(&hosts);
        let mut rng = PickRng::seeded(3);
        let mut seen = [0u32; 5];
        for _ in 0..600_000 {
            seen[tables.draw_in(&hosts, &["a", "b", "a", "none"], || rng.next()).unwrap()] += 1;
        }
        let expected = [100_000.0, 200_000.0, 300_000.0];
        let x: f64 = expected.iter().zip(seen).map(|(e, s)| (f64::from(s) - e).powi(2) / e).sum();
        assert!(x < 13.82, "{seen:?}: {x}");
        assert_eq!((seen[3], seen[4]), (0, 0));
        assert_eq!(tables.draw_in(&hosts, &["none"], || 0), None);
        assert_eq!(tables.draw_in(&hosts, &[], || 0), None);
    }

    #[test]
    fn an_infinite_weight_counts_as_the_largest() {
        let hosts = hosts(&[(f64::INFINITY, "a"), (10_000.0, "a")]);
        let tables = PickTables::new(&hosts);
        let mut rng = PickRng::seeded(4);
        let first = (0..100_000).filter(|_| tables.draw(rng.next()) == Some(0)).count();
        assert!((49_000..51_000).contains(&first), "{first}");
    }

    #[test]
    fn a_seed_repeats_the_sequence() {
        let hosts = hosts(&[(1.0, "a"), (2.0, "a"), (3.0, "a")]);
        let tables = PickTables::new(&hosts);
        let sequence = |seed| {
            let mut rng = PickRng::seeded(seed);
            (0..50).map(|_| tables.draw(rng.next())).collect::<Vec<_>>()
        };
        assert_eq!(sequence(9), sequence(9));
        assert_ne!(sequence(9), sequence(10));
    }

    fn any_instance() -> impl Strategy<Value = Arc<Instance>> {
        (any::<f64>(), any::<bool>(), any::<bool>(), 0..3u8).prop_map(|(weight, healthy, enabled, cluster)| {
            let i = Instance::new(("h", 1)).weight(weight).healthy(healthy).enabled(enabled);
            Arc::new(i.cluster(format!("c{cluster}")))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// 4 000 lists × 256 draws: no weight panics, and nothing unusable is ever drawn.
        #[test]
        fn cg25_no_weight_panics_and_only_usable_instances_are_drawn(
            hosts in proptest::collection::vec(any_instance(), 0..8), seed: u64,
        ) {
            let tables = PickTables::new(&hosts);
            let mut rng = PickRng::seeded(seed);
            let usable = hosts.iter().any(|i| i.is_pickable());
            for _ in 0..128 {
                let drawn = tables.draw(rng.next());
                prop_assert_eq!(drawn.is_some(), usable);
                prop_assert!(drawn.is_none_or(|at| hosts[at].is_pickable()));
                let drawn = tables.draw_in(&hosts, &["c0", "c1"], || rng.next());
                prop_assert!(drawn.is_none_or(|at| hosts[at].is_pickable() && hosts[at].cluster != "c2"));
            }
        }
    }
}
