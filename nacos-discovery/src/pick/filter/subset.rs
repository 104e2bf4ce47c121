use nacos_client::Instance;

use super::tiers::Candidate;
use crate::Subset;
use crate::pick::policy::{FNV_BASIS, fnv, mix};

/// Leaves those candidates that rank first for this process, in the order in which they came. Each process has an order of
/// its own, which does not depend on who else is there: a change of the list moves as few as it can.
pub(super) fn reduce(candidates: &[Candidate<'_>], circle: &mut Vec<usize>, subset: &Subset) {
    let size = subset.size();
    if circle.len() <= size {
        return;
    }
    let own = fnv(FNV_BASIS, subset.own_id().as_bytes());
    let rank = |at: &usize| rank(own, candidates[*at].instance.instance());
    circle.select_nth_unstable_by_key(size - 1, rank);
    circle.truncate(size);
    circle.sort_unstable();
}

/// Highest random weight: everyone's rank is a hash of both identities, which is the same in every version.
fn rank(own: u64, instance: &Instance) -> u64 {
    let hash = fnv(fnv(own, instance.ip.as_bytes()), &instance.port.to_le_bytes());
    mix(fnv(hash, instance.cluster.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ServiceInstance;
    use nacos_client::ServiceKey;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    fn instances(ports: impl IntoIterator<Item = u16>) -> Vec<ServiceInstance> {
        let service = ServiceKey::new("", "orders");
        let one = |port| ServiceInstance::new(service.clone(), Arc::new(Instance::new(("10.0.0.1", port))));
        ports.into_iter().map(one).collect()
    }

    fn chosen(id: &str, size: usize, ports: impl IntoIterator<Item = u16>) -> BTreeSet<u16> {
        let instances = instances(ports);
        let candidates: Vec<_> = instances.iter().map(|instance| Candidate { instance, weight: 1.0 }).collect();
        let mut circle: Vec<_> = (0..candidates.len()).collect();
        reduce(&candidates, &mut circle, &Subset::new(id).with_size(size));
        assert!(circle.is_sorted());
        circle.iter().map(|at| instances[*at].port()).collect()
    }

    #[test]
    fn a_subset_is_that_of_its_process_and_moves_by_as_few_as_changed() {
        let all = chosen("consumer-1", 20, 1..=200);
        assert_eq!(all.len(), 20);
        assert_eq!(all, chosen("consumer-1", 20, (1..=200).rev().collect::<BTreeSet<_>>()), "the same again");
        let without: Vec<u16> = (1..=200).filter(|port| *port != *all.first().unwrap()).collect();
        let moved = chosen("consumer-1", 20, without);
        assert_eq!(all.intersection(&moved).count(), 19, "one went and one came");
        let more = chosen("consumer-1", 20, 1..=210);
        assert!(all.intersection(&more).count() >= 17, "ten of 210 are new");
        assert_eq!(chosen("consumer-1", 20, 1..=7).len(), 7, "it never empties");
        assert_eq!(chosen("consumer-1", 0, 1..=7).len(), 1, "nor does a size of 0");
    }

    #[test]
    fn the_subsets_of_many_processes_cover_all_instances_about_evenly() {
        let mut used = vec![0u32; 201];
        for consumer in 0..1_000 {
            for port in chosen(&format!("consumer-{consumer}"), 20, 1..=200) {
                used[usize::from(port)] += 1;
            }
        }
        // 1 000 draws of one in ten: 100, and five standard deviations are 47.
        assert!(used[1..].iter().all(|count| (53..=147).contains(count)), "{used:?}");
    }
}
