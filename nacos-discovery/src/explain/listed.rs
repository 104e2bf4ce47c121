use std::collections::BTreeSet;

use super::assemble::Seen;
use super::{NearMiss, Standing, Viewpoint};
use crate::Verdict;

/// What the list itself says about why nobody takes requests.
pub(super) fn near_misses(seen: &[Seen], viewpoint: &Viewpoint) -> Vec<NearMiss> {
    let of = |is: &dyn Fn(&Verdict) -> bool| -> Vec<String> {
        seen.iter().filter(|one| is(&one.verdict)).map(|one| one.instance.to_string()).collect()
    };
    let mut found = Vec::new();
    let mut add = |instances: Vec<String>, near_miss: &dyn Fn(Vec<String>) -> NearMiss| {
        if !instances.is_empty() {
            found.push(near_miss(instances));
        }
    };
    add(of(&|verdict| *verdict == Verdict::Disabled), &|instances| NearMiss::Disabled { instances });
    add(of(&|verdict| *verdict == Verdict::Drained), &|instances| NearMiss::Drained { instances });
    add(of(&|verdict| *verdict == Verdict::Unhealthy), &|instances| NearMiss::Unhealthy { instances });
    add(of(&|verdict| matches!(verdict, Verdict::NoUsableAddress(_))), &|instances| NearMiss::NoUsableAddress {
        instances,
        usable: viewpoint.addresses.to_owned(),
    });
    let filters: BTreeSet<&str> = seen.iter().filter_map(|one| filter(&one.verdict)).collect();
    for name in filters {
        add(of(&|verdict| filter(verdict) == Some(name)), &|instances| NearMiss::Filtered {
            filter: name.to_owned(),
            instances,
        });
    }
    found
}

fn filter(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::Filtered { filter } => Some(filter),
        _ => None,
    }
}

/// That nobody of the own cluster takes requests, although others do. `serving` is the tier that is drawn from.
pub(super) fn other_clusters(seen: &[Seen], serving: Option<usize>, viewpoint: &Viewpoint) -> Option<NearMiss> {
    let own = viewpoint.cluster.as_ref()?;
    let serves = |one: &&Seen| one.standing(serving) == Standing::Serving;
    let clusters: BTreeSet<&str> = seen.iter().filter(serves).map(|one| one.instance.cluster()).collect();
    (!clusters.is_empty() && !clusters.contains(own.as_str())).then(|| NearMiss::OtherClusters {
        own: own.clone(),
        clusters: clusters.into_iter().map(str::to_owned).collect(),
    })
}
