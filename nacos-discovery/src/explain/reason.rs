use super::{Standing, Viewpoint};
use crate::{NoAddress, Verdict};

/// What else the reason of an instance depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) viewpoint: &'a Viewpoint,
    /// Whether instances of the own cluster take requests.
    pub(super) own_cluster_serves: bool,
}

/// Why an instance takes no requests, or why it does although it is not preferred. Ejections are told elsewhere.
pub(super) fn reason(verdict: &Verdict, standing: Standing, around: Surroundings<'_>) -> Option<String> {
    let Surroundings { viewpoint, own_cluster_serves } = around;
    let cluster = || viewpoint.cluster.as_deref().unwrap_or("(none)");
    let zone = || viewpoint.zone.as_deref().unwrap_or("(none)");
    Some(match (verdict, standing) {
        (Verdict::OtherCluster { .. }, Standing::Serving) if own_cluster_serves => {
            format!("too little of cluster {} is usable, so a part of the requests leaves it", cluster())
        }
        (Verdict::OtherCluster { .. }, Standing::Serving) => {
            format!("cluster {} has nobody who takes requests", cluster())
        }
        (Verdict::OtherZone { .. }, Standing::Serving) => format!("zone {} has nobody who takes requests", zone()),
        (Verdict::OtherCluster { .. }, Standing::InReserve) => {
            format!("in reserve: instances of cluster {} are preferred", cluster())
        }
        (Verdict::OtherZone { .. }, Standing::InReserve) => {
            format!("in reserve: instances of zone {} are preferred", zone())
        }
        (Verdict::Eligible { .. }, Standing::InReserve) => "in reserve: others are preferred".to_owned(),
        (_, Standing::Tried) => "the request was there already".to_owned(),
        (verdict, Standing::LeftOut) => left_out(verdict, viewpoint),
        _ => return None,
    })
}

fn left_out(verdict: &Verdict, viewpoint: &Viewpoint) -> String {
    match verdict {
        Verdict::Disabled => "disabled".to_owned(),
        Verdict::Drained => "drained: its weight is 0, or no number".to_owned(),
        Verdict::Unhealthy => "unhealthy, says the registry".to_owned(),
        Verdict::NoUsableAddress(why) => no_address(*why, viewpoint),
        Verdict::OutsideSubset => "outside of the subset that this process calls".to_owned(),
        Verdict::Unrouted => "no rule routes requests there, and it is not of the baseline".to_owned(),
        Verdict::Filtered { filter } => format!("left out by the filter `{filter}`"),
        Verdict::Eligible { .. } | Verdict::OtherZone { .. } | Verdict::OtherCluster { .. } => {
            "nothing speaks against the instance itself".to_owned()
        }
    }
}

fn no_address(why: NoAddress, viewpoint: &Viewpoint) -> String {
    match why {
        NoAddress::Family => format!("its address cannot be used here, only {} can", viewpoint.addresses),
        NoAddress::Unspecific => "its address stands for no machine".to_owned(),
        NoAddress::NoHost => "its host is neither an address nor a name".to_owned(),
        NoAddress::NoPort => "the metadata entry for its port holds no port".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_its_sentence() {
        let viewpoint = Viewpoint {
            cluster: Some("c1".to_owned()),
            zone: Some("a".to_owned()),
            addresses: "IPv4",
            policy: "WeightedRandom".to_owned(),
        };
        let tell = |verdict: &Verdict, standing, own_cluster_serves| {
            reason(verdict, standing, Surroundings { viewpoint: &viewpoint, own_cluster_serves })
        };
        let (eligible, zone, cluster) =
            (Verdict::Eligible { tier: 0 }, Verdict::OtherZone { tier: 1 }, Verdict::OtherCluster { tier: 2 });
        for (verdict, standing, expected) in [
            (&eligible, Standing::Serving, None),
            (&eligible, Standing::Ejected, None),
            (&eligible, Standing::Tried, Some("the request was there already")),
            (&eligible, Standing::InReserve, Some("in reserve: others are preferred")),
            (&eligible, Standing::LeftOut, Some("nothing speaks against the instance itself")),
            (&zone, Standing::Serving, Some("zone a has nobody who takes requests")),
            (&zone, Standing::InReserve, Some("in reserve: instances of zone a are preferred")),
            (&cluster, Standing::Serving, Some("cluster c1 has nobody who takes requests")),
            (&cluster, Standing::InReserve, Some("in reserve: instances of cluster c1 are preferred")),
            (&cluster, Standing::Ejected, None),
            (&Verdict::Disabled, Standing::LeftOut, Some("disabled")),
            (&Verdict::Drained, Standing::LeftOut, Some("drained: its weight is 0, or no number")),
            (&Verdict::Unhealthy, Standing::LeftOut, Some("unhealthy, says the registry")),
            (
                &Verdict::NoUsableAddress(NoAddress::Family),
                Standing::LeftOut,
                Some("its address cannot be used here, only IPv4 can"),
            ),
            (
                &Verdict::NoUsableAddress(NoAddress::Unspecific),
                Standing::LeftOut,
                Some("its address stands for no machine"),
            ),
            (
                &Verdict::NoUsableAddress(NoAddress::NoHost),
                Standing::LeftOut,
                Some("its host is neither an address nor a name"),
            ),
            (
                &Verdict::NoUsableAddress(NoAddress::NoPort),
                Standing::LeftOut,
                Some("the metadata entry for its port holds no port"),
            ),
            (
                &Verdict::Unrouted,
                Standing::LeftOut,
                Some("no rule routes requests there, and it is not of the baseline"),
            ),
            (&Verdict::OutsideSubset, Standing::LeftOut, Some("outside of the subset that this process calls")),
            (
                &Verdict::Filtered { filter: "version".into() },
                Standing::LeftOut,
                Some("left out by the filter `version`"),
            ),
        ] {
            assert_eq!(tell(verdict, standing, false).as_deref(), expected, "{verdict:?} {standing:?}");
        }
        assert_eq!(
            tell(&cluster, Standing::Serving, true).as_deref(),
            Some("too little of cluster c1 is usable, so a part of the requests leaves it")
        );
    }
}
