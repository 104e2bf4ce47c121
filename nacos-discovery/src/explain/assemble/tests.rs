use std::sync::Arc;

use nacos_client::{Instance, ServiceKey};

use super::*;
use crate::explain::{NearMiss, listed};
use crate::{NoAddress, Verdict};

fn viewpoint() -> Viewpoint {
    Viewpoint { cluster: Some("c1".to_owned()), zone: None, addresses: "IPv4", policy: "WeightedRandom".to_owned() }
}

fn seen(port: u16, cluster: &str, verdict: Verdict, weight: Option<f64>) -> Seen {
    let instance = Instance::new(("10.0.0.1", port)).cluster(cluster).weight(2.0).metadata("version", "v2");
    Seen {
        instance: ServiceInstance::new(ServiceKey::new("", "orders"), Arc::new(instance)),
        verdict,
        target: weight.map(|_| format!("http://10.0.0.1:{port}")),
        weight,
        in_flight: 0,
        latency_ms: None,
        ejection: None,
        tried: false,
    }
}

fn ejected(port: u16, verdict: Verdict) -> Seen {
    let ejection = EjectionReport::Ejected { for_ms: 1250, relapses: 1 };
    Seen { ejection: Some(ejection), ..seen(port, "c1", verdict, Some(1.0)) }
}

fn texts(seen: Vec<Seen>, serving: Option<usize>) -> Vec<String> {
    instances(seen, serving, &viewpoint()).iter().map(ToString::to_string).collect()
}

#[test]
fn shares_are_those_of_the_weights_among_those_who_get_requests() {
    let all = || {
        vec![
            seen(1, "c1", Verdict::Eligible { tier: 0 }, Some(2.0)),
            seen(2, "c1", Verdict::Eligible { tier: 0 }, Some(0.5)),
            ejected(3, Verdict::Eligible { tier: 0 }),
            seen(4, "c2", Verdict::OtherCluster { tier: 1 }, None),
            seen(5, "c1", Verdict::Disabled, None),
        ]
    };
    assert_eq!(
        texts(all(), Some(0)),
        [
            "10.0.0.1:1  80.0 %  [cluster c1, version v2, weight 2]",
            "10.0.0.1:2  20.0 %  [cluster c1, version v2, weight 2 (now 0.500)]",
            "10.0.0.1:3  ejected after failed requests, for another 1.3s (ejections before: 1)  \
             [cluster c1, version v2, weight 2 (now 1.000)]",
            "10.0.0.1:4  in reserve: instances of cluster c1 are preferred  [cluster c2, version v2, weight 2]",
            "10.0.0.1:5  disabled  [cluster c1, version v2, weight 2]",
        ]
    );
    let standings: Vec<Standing> =
        instances(all(), Some(0), &viewpoint()).iter().map(|instance| instance.standing).collect();
    let expected = [Standing::Serving, Standing::Serving, Standing::Ejected, Standing::InReserve, Standing::LeftOut];
    assert_eq!(standings, expected);
}

#[test]
fn where_the_own_cluster_has_nobody_others_serve_and_it_is_said() {
    let all = vec![
        ejected(1, Verdict::Eligible { tier: 0 }),
        seen(2, "c2", Verdict::OtherCluster { tier: 1 }, Some(2.0)),
        seen(3, "c3", Verdict::OtherCluster { tier: 1 }, Some(2.0)),
    ];
    assert_eq!(
        listed::other_clusters(&all, Some(1), &viewpoint()),
        Some(NearMiss::OtherClusters { own: "c1".to_owned(), clusters: vec!["c2".to_owned(), "c3".to_owned()] })
    );
    assert_eq!(listed::other_clusters(&all, Some(1), &Viewpoint { cluster: None, ..viewpoint() }), None);
    let home = [seen(4, "c1", Verdict::Eligible { tier: 0 }, Some(2.0))];
    assert_eq!(listed::other_clusters(&home, Some(0), &viewpoint()), None);
    let texts = texts(all, Some(1));
    assert!(texts[1].starts_with("10.0.0.1:2  50.0 %  cluster c1 has nobody who takes requests"), "{texts:?}");
}

#[test]
fn a_part_that_leaves_the_own_cluster_is_told_from_all_that_do() {
    let all = vec![
        seen(1, "c1", Verdict::Eligible { tier: 0 }, Some(1.0)),
        seen(2, "c2", Verdict::OtherCluster { tier: 0 }, Some(3.0)),
    ];
    let texts = texts(all, Some(0));
    assert!(texts[1].starts_with("10.0.0.1:2  75.0 %  too little of cluster c1 is usable"), "{texts:?}");
}

#[test]
fn what_hinders_each_instance_is_a_near_miss() {
    let all = [
        seen(1, "c1", Verdict::Disabled, None),
        seen(2, "c1", Verdict::Drained, None),
        seen(3, "c1", Verdict::Unhealthy, None),
        seen(4, "c1", Verdict::NoUsableAddress(NoAddress::Family), None),
        seen(5, "c1", Verdict::Filtered { filter: "b".into() }, None),
        seen(6, "c1", Verdict::Filtered { filter: "a".into() }, None),
        seen(7, "c1", Verdict::Filtered { filter: "b".into() }, None),
        seen(8, "c1", Verdict::OutsideSubset, None),
    ];
    let one = |port: u16| vec![format!("10.0.0.1:{port}")];
    assert_eq!(
        listed::near_misses(&all, &viewpoint()),
        [
            NearMiss::Disabled { instances: one(1) },
            NearMiss::Drained { instances: one(2) },
            NearMiss::Unhealthy { instances: one(3) },
            NearMiss::NoUsableAddress { instances: one(4), usable: "IPv4".to_owned() },
            NearMiss::Filtered { filter: "a".to_owned(), instances: one(6) },
            NearMiss::Filtered { filter: "b".to_owned(), instances: [one(5), one(7)].concat() },
        ]
    );
}
