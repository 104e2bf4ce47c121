//! Own cluster, zone and address family, through the endpoints.

use super::*;
use crate::pick::Verdict;
use crate::{Subset, Tried};

fn in_cluster(port: u16, cluster: &str) -> Instance {
    instance(port).cluster(cluster)
}

fn four() -> [Instance; 4] {
    [in_cluster(1, "A"), in_cluster(2, "A"), in_cluster(3, "B"), in_cluster(4, "B").weight(3.0)]
}

#[test]
fn sc09_the_own_cluster_takes_all_the_others_help_and_every_crossing_is_counted() {
    let endpoints = endpoints(settings().with_own_cluster("A"));
    endpoints.apply(&list(1, four()));
    assert_eq!(picked_ports(&endpoints), [1, 2]);
    assert_eq!(endpoints.cross_cluster_picks(), 0);

    let sick = four().map(|one| if one.cluster == "A" { one.healthy(false) } else { one });
    endpoints.apply(&list(2, sick));
    let counts = picks(&endpoints, 10_000);
    // 5 σ of a quarter of 10 000.
    assert!((2_283..=2_717).contains(&counts[&3]) && counts[&3] + counts[&4] == 10_000, "{counts:?}");
    assert_eq!(endpoints.cross_cluster_picks(), 10_000);

    endpoints.apply(&list(3, four()));
    assert_eq!(picks(&endpoints, 100).into_keys().collect::<Vec<_>>(), [1, 2], "the next pick stays at home");
    assert_eq!(endpoints.cross_cluster_picks(), 10_000);
}

#[test]
fn sc09_a_retry_leaves_the_own_cluster_only_when_all_of_it_was_tried() {
    let endpoints = endpoints(settings().with_own_cluster("A"));
    endpoints.apply(&list(1, four()));
    let tried = Tried::new();
    let mut order = Vec::new();
    for _ in 0..4 {
        let one = tried.with_nodes(|nodes| endpoints.pick(&mut PickContext::new().without(nodes))).unwrap();
        tried.add(one.endpoint());
        order.push(one.instance().cluster().to_owned());
    }
    assert_eq!(order, ["A", "A", "B", "B"]);
    assert_eq!(endpoints.cross_cluster_picks(), 2);
    let none = tried.with_nodes(|nodes| endpoints.pick(&mut PickContext::new().without(nodes)).unwrap_err());
    assert_eq!(none.reason, NoInstanceReason::AllTried { count: 4 });
}

#[test]
fn b10_requests_spill_over_by_the_part_of_the_own_cluster_that_is_usable() {
    let endpoints = endpoints(settings().with_own_cluster("A").with_cluster_spillover(Some(0.8)));
    let own = |usable: u16| (1..=10).map(move |port| in_cluster(port, "A").healthy(port <= usable));
    let others = || (11..=14).map(|port| in_cluster(port, "B").weight(5.0));
    for (revision, usable, share) in [(1, 10, 1.0), (2, 8, 1.0), (3, 6, 0.75), (4, 2, 0.25), (5, 0, 0.0), (6, 9, 1.0)] {
        let before = endpoints.cross_cluster_picks();
        endpoints.apply(&list(revision, own(usable).chain(others())));
        let counts = picks(&endpoints, 10_000);
        let at_home: usize = counts.iter().filter(|(port, _)| **port <= 10).map(|(_, count)| count).sum();
        let deviation = 5.0 * (share * (1.0 - share) * 10_000.0f64).sqrt();
        assert!((at_home as f64 - share * 10_000.0).abs() <= deviation, "{usable} of 10: {at_home} at home");
        assert_eq!(endpoints.cross_cluster_picks() - before, (10_000 - at_home) as u64);
    }
}

#[test]
fn b10_what_is_no_cluster_or_zone_prefers_nobody() {
    for settings in [
        settings().with_own_cluster(" "),
        settings().with_own_cluster("C"),
        settings().with_zone(""),
        settings().with_zone("nowhere"),
        settings().with_own_cluster("A").without_own_cluster(),
        settings().with_cluster_spillover(Some(0.5)),
    ] {
        let endpoints = endpoints(settings);
        endpoints.apply(&list(1, four()));
        assert_eq!(picked_ports(&endpoints), [1, 2, 3, 4]);
    }
    for nonsense in [0.0, -1.0, f64::NAN] {
        let endpoints = endpoints(settings().with_own_cluster("A").with_cluster_spillover(Some(nonsense)));
        endpoints.apply(&list(1, [in_cluster(1, "A"), in_cluster(2, "A").healthy(false), in_cluster(3, "B")]));
        assert_eq!(picked_ports(&endpoints), [1], "{nonsense}");
    }
}

#[test]
fn b10_the_own_zone_is_preferred_within_the_own_cluster() {
    let zoned = |port, cluster, zone: &str| in_cluster(port, cluster).metadata("zone", zone);
    let endpoints = endpoints(settings().with_own_cluster("A").with_zone("Z1"));
    let all = [zoned(1, "A", "z1"), zoned(2, "A", "z2"), zoned(3, "B", "z1"), in_cluster(4, "B")];
    endpoints.apply(&list(1, all.clone()));
    assert_eq!(picked_ports(&endpoints), [1]);
    assert_eq!((ports(&endpoints.preferred()), ports(&endpoints.all())), (vec![1], vec![1, 2, 3, 4]));
    endpoints.apply(&list(2, all[1..].to_vec()));
    assert_eq!(picked_ports(&endpoints), [2], "the cluster counts more than the zone");
    endpoints.apply(&list(3, all[2..].to_vec()));
    assert_eq!(picked_ports(&endpoints), [3]);
    let verdicts: Vec<_> = endpoints.verdicts().into_iter().map(|(_, verdict)| verdict).collect();
    assert_eq!(verdicts, [Verdict::OtherCluster { tier: 0 }, Verdict::OtherCluster { tier: 1 }]);
}

#[test]
fn sc10_an_own_cluster_without_a_usable_address_gives_way_to_another() {
    let v6 = |port| Instance::new(("2001:db8::1", port));
    let named = Instance::new(("orders.internal", 3)).cluster("B");
    let endpoints = endpoints(settings().with_own_cluster("A"));
    endpoints.apply(&list(1, [v6(1).cluster("A"), v6(2).cluster("B"), named]));
    assert_eq!(picked_ports(&endpoints), [3], "no IPv6, but names");
    assert_eq!(endpoints.cross_cluster_picks(), 1_000);
}

#[test]
fn a_subset_is_all_that_a_process_calls() {
    let endpoints = endpoints(settings().with_subset(Some(Subset::new("consumer-7").with_size(3))));
    endpoints.apply(&list(1, (1..=30).map(instance)));
    let first = picked_ports(&endpoints);
    assert_eq!(first.len(), 3);
    endpoints.apply(&list(2, (1..=30).filter(|port| *port != first[0]).map(instance)));
    let second = picked_ports(&endpoints);
    assert_eq!((second.len(), first.iter().filter(|port| second.contains(port)).count()), (3, 2));
}
