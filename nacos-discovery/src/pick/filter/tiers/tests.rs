use std::sync::Arc;

use nacos_client::{Instance, ServiceKey};

use super::*;

/// Port, cluster, zone, weight.
type Row = (u16, &'static str, &'static str, f64);

fn instances(rows: &[Row]) -> Vec<ServiceInstance> {
    let one = |(port, cluster, zone, weight): &Row| {
        let instance = Instance::new(("10.0.0.1", *port)).cluster(*cluster).weight(*weight).metadata("zone", *zone);
        ServiceInstance::new(ServiceKey::new("", "orders"), Arc::new(instance))
    };
    rows.iter().map(one).collect()
}

const NOTHING: Preferences<'_> = Preferences { cluster: None, zone: None, spill: None, subset: None, filters: &[] };

fn arrange(rows: &[Row], preferences: Preferences<'_>) -> Arranged {
    let instances = instances(rows);
    let candidates: Vec<_> =
        instances.iter().map(|instance| Candidate { instance, weight: instance.weight() }).collect();
    preferences.arrange(&candidates)
}

/// The indices of each tier.
fn tiers(arranged: &Arranged) -> Vec<Vec<usize>> {
    arranged.tiers.iter().map(|tier| tier.iter().map(|member| member.candidate).collect()).collect()
}

const FOUR: [Row; 4] = [(1, "A", "z1", 1.0), (2, "A", "z2", 1.0), (3, "B", "z1", 1.0), (4, "B", "z2", 2.0)];

#[test]
fn b10_own_cluster_and_zone_come_first_and_the_others_after_them() {
    use Verdict::{Eligible, OtherCluster, OtherZone};
    let own = Preferences { cluster: Some("A"), ..NOTHING };
    let both = Preferences { zone: Some("Z1"), ..own };
    let zone = Preferences { cluster: None, ..both };
    for (preferences, expected, verdicts) in [
        (NOTHING, vec![vec![0, 1, 2, 3]], [0, 0, 0, 0].map(|tier| Eligible { tier })),
        (
            own,
            vec![vec![0, 1], vec![0, 1, 2, 3]],
            [Eligible { tier: 0 }, Eligible { tier: 0 }, OtherCluster { tier: 1 }, OtherCluster { tier: 1 }],
        ),
        (
            both,
            vec![vec![0], vec![0, 1], vec![0, 1, 2, 3]],
            [Eligible { tier: 0 }, OtherZone { tier: 1 }, OtherCluster { tier: 2 }, OtherCluster { tier: 2 }],
        ),
        (
            zone,
            vec![vec![0, 2], vec![0, 1, 2, 3]],
            [Eligible { tier: 0 }, OtherZone { tier: 1 }, Eligible { tier: 0 }, OtherZone { tier: 1 }],
        ),
    ] {
        let arranged = arrange(&FOUR, preferences);
        assert_eq!(
            (tiers(&arranged), arranged.verdicts.as_slice()),
            (expected, verdicts.as_slice()),
            "{preferences:?}"
        );
    }
}

#[test]
fn b10_a_cluster_or_zone_that_nobody_is_in_leaves_all() {
    let unknown = Preferences { cluster: Some("C"), ..NOTHING };
    let arranged = arrange(&FOUR, unknown);
    assert_eq!(tiers(&arranged), [[0, 1, 2, 3]]);
    assert!(arranged.verdicts.iter().all(|verdict| *verdict == Verdict::OtherCluster { tier: 0 }));
    let zone = Preferences { zone: Some("nowhere"), ..NOTHING };
    assert_eq!(tiers(&arrange(&FOUR, zone)), [[0, 1, 2, 3]]);
    let own_without_zone = Preferences { cluster: Some("A"), ..zone };
    assert_eq!(tiers(&arrange(&FOUR, own_without_zone)), [vec![0, 1], vec![0, 1, 2, 3]]);
    let zone_of_others = Preferences { cluster: Some("C"), zone: Some("z2"), ..NOTHING };
    assert_eq!(tiers(&arrange(&FOUR, zone_of_others)), [vec![1, 3], vec![0, 1, 2, 3]]);
    assert_eq!(arrange(&[], zone_of_others), Arranged { tiers: vec![], verdicts: vec![], emptied: None });
}

/// The share of the own cluster A in the only tier.
fn own_share(arranged: &Arranged) -> f64 {
    let [only] = arranged.tiers.as_slice() else { panic!("{arranged:?}") };
    let sum = |is: fn(&Share) -> bool| only.iter().filter(|member| is(member)).map(|member| member.weight).sum::<f64>();
    sum(|member| member.candidate < 2) / sum(|_| true)
}

#[test]
fn b10_below_the_threshold_requests_spill_over_in_proportion() {
    let spill = |eligible| Preferences {
        cluster: Some("A"),
        zone: Some("z1"),
        spill: Some(Spill { threshold: 0.5, registered: 20.0, eligible }),
        ..NOTHING
    };
    assert_eq!(tiers(&arrange(&FOUR, spill(10.0))).len(), 3, "enough of it is usable");
    for (eligible, share) in [(9.0, 0.9), (5.0, 0.5), (1.0, 0.1)] {
        let arranged = arrange(&FOUR, spill(eligible));
        assert!((own_share(&arranged) - share).abs() < 1e-12, "{eligible}: {arranged:?}");
        let [.., third, fourth] = arranged.tiers[0].as_slice() else { panic!("{arranged:?}") };
        assert!((fourth.weight / third.weight - 2.0).abs() < 1e-12, "the others by weight: {arranged:?}");
    }
    assert_eq!(tiers(&arrange(&FOUR[..2], spill(1.0))), [vec![0], vec![0, 1]], "there is nobody else");
    assert_eq!(tiers(&arrange(&FOUR[2..], spill(0.0))), [vec![0], vec![0, 1]], "nobody is left at home");
}

#[derive(Debug)]
struct Even(OnEmpty);

impl Filter for Even {
    fn name(&self) -> &str {
        "even ports"
    }

    fn keep(&self, instance: &ServiceInstance) -> bool {
        instance.port().is_multiple_of(2)
    }

    fn on_empty(&self) -> OnEmpty {
        self.0
    }
}

#[test]
fn a_filter_says_itself_what_keeping_none_means() {
    let filters = |on_empty| [Arc::new(Even(on_empty)) as Arc<dyn Filter>];
    let (hard, soft) = (filters(OnEmpty::KeepEmpty), filters(OnEmpty::Skip));
    let filtered = Verdict::Filtered { filter: "even ports".into() };
    let with = |filters, cluster| Preferences { cluster, filters, ..NOTHING };

    let arranged = arrange(&FOUR, with(&hard, None));
    assert_eq!((tiers(&arranged), &arranged.verdicts[0]), (vec![vec![1, 3]], &filtered));

    let odd = [(1, "A", "", 1.0), (3, "A", "", 1.0), (4, "B", "", 1.0)];
    assert_eq!(tiers(&arrange(&odd, with(&hard, Some("A")))), [[2]], "the next cluster has what is asked for");
    assert_eq!(
        tiers(&arrange(&odd, with(&soft, Some("A")))),
        [vec![0, 1], vec![0, 1, 2]],
        "the own cluster counts more"
    );

    let none = arrange(&odd[..2], with(&hard, None));
    assert_eq!((tiers(&none).len(), none.emptied), (0, Some(("even ports".into(), 2))));
    assert_eq!(none.verdicts, [filtered.clone(), filtered]);
    let skipped = arrange(&odd[..2], with(&soft, None));
    assert_eq!((tiers(&skipped), skipped.emptied), (vec![vec![0, 1]], None));
}

#[test]
fn every_tier_has_its_own_subset() {
    let rows: Vec<Row> = (1..=40).map(|port| (port, if port <= 20 { "A" } else { "B" }, "", 1.0)).collect();
    let subset = Subset::new("me").with_size(5);
    let arranged = arrange(&rows, Preferences { cluster: Some("A"), subset: Some(&subset), ..NOTHING });
    let [own, all] = arranged.tiers.as_slice() else { panic!("{arranged:?}") };
    assert_eq!(own.len(), 5);
    assert!((6..=10).contains(&all.len()) && own.iter().all(|member| all.contains(member)));
    let outside = arranged.verdicts.iter().filter(|verdict| **verdict == Verdict::OutsideSubset).count();
    assert_eq!(outside, 40 - all.len());
}
