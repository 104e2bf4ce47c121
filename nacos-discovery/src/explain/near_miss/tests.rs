use super::*;

fn addresses(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("10.0.0.{at}:80")).collect()
}

#[test]
fn every_near_miss_says_what_there_is_and_what_to_do() {
    let group = |instances, healthy| NearMiss::OtherGroup {
        group: "payments".to_owned(),
        name: "orders".to_owned(),
        instances,
        healthy,
    };
    let namespace = NearMiss::OtherNamespace {
        namespace: "dev-id".to_owned(),
        group: "G".to_owned(),
        name: "orders".to_owned(),
        instances: 1,
        healthy: 0,
    };
    let similar =
        |instances| NearMiss::SimilarName { group: "G".to_owned(), name: "order-service".to_owned(), instances };
    let undeclared = NearMiss::UndeclaredNamespace {
        namespace: "prod".to_owned(),
        declared: vec!["public".to_owned(), "dev-id".to_owned()],
    };
    for (near_miss, expected) in [
        (
            NearMiss::Disabled { instances: addresses(7) },
            "the registry has disabled ones: 10.0.0.0:80, 10.0.0.1:80, 10.0.0.2:80, 10.0.0.3:80, 10.0.0.4:80 and 2 more; \
             enable one: `nacosctl set enabled`, the console, or its own status UP",
        ),
        (
            NearMiss::Drained { instances: addresses(1) },
            "there are some of weight 0: 10.0.0.0:80; give one a weight above 0: `nacosctl set weight`, the console, or its \
             own settings",
        ),
        (
            NearMiss::Unhealthy { instances: addresses(2) },
            "there are unhealthy ones: 10.0.0.0:80, 10.0.0.1:80; do they still run? An ephemeral one must beat or keep its \
             connection, a persistent one must answer the server's checks",
        ),
        (
            NearMiss::NoUsableAddress { instances: vec!["[2001:db8::1]:80".to_owned()], usable: "IPv4".to_owned() },
            "there are some whose address cannot be used here, as only IPv4 can: [2001:db8::1]:80; let them register an \
             address of IPv4, or set the address family, if this machine has a way there",
        ),
        (
            NearMiss::Filtered { filter: "version 2".to_owned(), instances: addresses(1) },
            "the filter `version 2` leaves out 1: 10.0.0.0:80; let one register what the filter looks for, or let the filter \
             be left out where it keeps none",
        ),
        (
            NearMiss::OtherClusters { own: "c1".to_owned(), clusters: vec!["c2".to_owned(), "c3".to_owned()] },
            "nobody of cluster c1 takes requests; those of c2, c3 do; is the own cluster spelled right, and does it have \
             providers (`spring.cloud.nacos.discovery.cluster-name`)?",
        ),
        (
            NearMiss::NotListed { instances: addresses(1) },
            "the registry has enabled ones that have not come here: 10.0.0.0:80; ask again in a moment; servers of a \
             cluster may differ: `nacosctl diff`",
        ),
        (
            group(Some(3), Some(2)),
            "group payments has orders with 3 instances, 2 healthy; let consumer and provider name the same group, here \
             payments",
        ),
        (group(None, None), "group payments has orders; let consumer and provider name the same group, here payments"),
        (
            namespace,
            "namespace dev-id has orders in group G with 1 instance, 0 healthy; let consumer and provider name the same \
             namespace, here dev-id",
        ),
        (
            similar(Some(0)),
            "there is order-service in group G, without instances; is order-service meant? Large and small letters count",
        ),
        (
            similar(Some(2)),
            "there is order-service in group G with 2 instances; is order-service meant? Large and small letters count",
        ),
        (
            NearMiss::NamespaceName { name: "dev".to_owned(), id: "dev-id".to_owned() },
            "dev is the name of a namespace, whose id is dev-id; set the id, dev-id",
        ),
        (undeclared, "prod: the namespace is not declared, those that are: public, dev-id; is it spelled right?"),
    ] {
        assert_eq!(near_miss.to_string(), expected);
    }
}

#[test]
fn programs_read_its_kind() {
    let json = serde_json::to_value(NearMiss::Disabled { instances: addresses(1) }).unwrap();
    assert_eq!(json, serde_json::json!({ "kind": "disabled", "instances": ["10.0.0.0:80"] }));
}
