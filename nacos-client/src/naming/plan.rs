//! Which call leads from what a connection holds to what it should hold.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::model::Instance;

/// The next step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// It holds what it should.
    Nothing,
    /// Deregister; `after` is what it then holds.
    Deregister { instance: Arc<Instance>, after: Vec<Arc<Instance>> },
    /// Register these, one by a plain request, several by a batch; `after` is what it then holds.
    Register { send: Vec<Arc<Instance>>, after: Vec<Arc<Instance>> },
}

/// Whether `list` has exactly this instance. `list` is sorted by identity.
pub(crate) fn contains(list: &[Arc<Instance>], instance: &Instance) -> bool {
    list.binary_search_by(|i| i.cmp_key(instance)).is_ok_and(|at| list.get(at).is_some_and(|i| **i == *instance))
}

/// For servers where a register replaces the record and a deregister removes all of it. All lists are sorted.
///
/// `maybe` is what failed calls may have left: then nothing is sure and the record is sent again.
pub(crate) fn plan(target: &[Arc<Instance>], known: &[Arc<Instance>], maybe: &[Arc<Instance>]) -> Plan {
    if target.is_empty() {
        return match known.first().or_else(|| maybe.first()) {
            Some(instance) => Plan::Deregister { instance: Arc::clone(instance), after: Vec::new() },
            None => Plan::Nothing,
        };
    }
    if maybe.is_empty() && target == known {
        return Plan::Nothing;
    }
    Plan::Register { send: target.to_vec(), after: target.to_vec() }
}

/// For servers where a register adds to the record and a deregister removes one address. All lists are sorted.
///
/// Some servers tell instances of one address apart by their cluster, others do not, and a removal may take all of the address. So what is not wanted goes first, and
/// whatever else was at its address is sent again.
pub(crate) fn plan_adding(target: &[Arc<Instance>], known: &[Arc<Instance>], maybe: &[Arc<Instance>]) -> Plan {
    let wanted = |i: &Instance| target.binary_search_by(|t| t.cmp_key(i)).is_ok();
    if let Some(gone) = known.iter().chain(maybe).find(|i| !wanted(i)) {
        let after = known.iter().filter(|i| !same_address(i, gone)).cloned().collect();
        return Plan::Deregister { instance: Arc::clone(gone), after };
    }
    let missing = |i: &&Arc<Instance>| !contains(known, i) || maybe.iter().any(|m| same_address(m, i));
    let send: Vec<_> = target.iter().filter(missing).cloned().collect();
    if send.is_empty() {
        return Plan::Nothing;
    }
    Plan::Register { send, after: target.to_vec() }
}

/// Whether they are at one ip and port.
pub(crate) fn same_address(a: &Instance, b: &Instance) -> bool {
    a.port.cmp(&b.port).then_with(|| a.ip.cmp(&b.ip)) == Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ports: &[u16]) -> Vec<Arc<Instance>> {
        ports.iter().map(|port| Arc::new(Instance::new(("h", *port)))).collect()
    }

    #[test]
    fn the_action_follows_from_wanted_and_known() {
        let sent = |plan: Plan| match plan {
            Plan::Nothing => "nothing".to_owned(),
            Plan::Deregister { after, .. } => format!("deregister, leaving {}", after.len()),
            Plan::Register { send, .. } => format!("register {}", send.len()),
        };
        assert_eq!(sent(plan(&[], &[], &[])), "nothing");
        assert_eq!(sent(plan(&[], &list(&[1, 2]), &[])), "deregister, leaving 0");
        assert_eq!(sent(plan(&[], &[], &list(&[1]))), "deregister, leaving 0");
        assert_eq!(sent(plan(&list(&[1]), &[], &[])), "register 1");
        assert_eq!(sent(plan(&list(&[1, 2]), &list(&[1]), &[])), "register 2");
        assert_eq!(sent(plan(&list(&[1]), &list(&[1, 2]), &[])), "register 1");
        assert_eq!(sent(plan(&list(&[1]), &list(&[1]), &[])), "nothing");
        assert_eq!(sent(plan(&list(&[1]), &list(&[1]), &list(&[1]))), "register 1");
    }

    #[test]
    fn a_server_that_adds_is_told_what_to_remove_and_what_is_new() {
        let two = list(&[1, 2]);
        assert_eq!(
            plan_adding(&list(&[1]), &two, &[]),
            Plan::Deregister { instance: two[1].clone(), after: list(&[1]) }
        );
        assert_eq!(
            plan_adding(&list(&[1, 3]), &list(&[1]), &[]),
            Plan::Register { send: list(&[3]), after: list(&[1, 3]) }
        );
        assert_eq!(plan_adding(&two, &two, &[]), Plan::Nothing);
        let one = list(&[1]);
        let moved = vec![Arc::new(Instance::new(("h", 1)).cluster("c"))];
        assert_eq!(
            plan_adding(&moved, &one, &[]),
            Plan::Deregister { instance: one[0].clone(), after: Vec::new() },
            "its cluster is part of its identity for some servers"
        );
        let both = vec![one[0].clone(), moved[0].clone()];
        assert_eq!(
            plan_adding(&one, &both, &[]),
            Plan::Deregister { instance: moved[0].clone(), after: Vec::new() },
            "for others the removal takes both"
        );
    }
}
