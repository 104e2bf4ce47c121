use super::hash::{hash_key, mix};
use crate::Member;

/// In which order a key prefers members: weighted rendezvous hashing.
///
/// Key and member together give a number that is as good as drawn from an exponential distribution with the member's
/// weight as its rate; the smallest is preferred. So each member comes first for its share of the keys, and what it
/// comes first for depends on no other member: without it exactly its own keys go elsewhere, with another weight exactly
/// the difference.
#[derive(Debug)]
pub(super) struct Ranking {
    entries: Box<[Entry]>,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    weight: f64,
}

/// Whether a member can have a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// Yes.
    Free,
    /// Only if nobody is free.
    Full,
    /// In no case.
    Barred,
}

impl Ranking {
    pub(super) fn new(members: &[Member]) -> Self {
        let entry = |member: &Member| Entry { id: identity(member), weight: member.weight() };
        Self { entries: members.iter().map(entry).collect() }
    }

    /// The first in the order of `key` that is free, else the first that is full. Asks `fit` of few members only: those
    /// that come before all that were looked at earlier.
    #[inline]
    pub(super) fn first(&self, key: u64, mut fit: impl FnMut(usize) -> Fit) -> Option<usize> {
        let (mut free, mut full) = (First::default(), First::default());
        for (at, entry) in self.entries.iter().enumerate() {
            let distance = unit(mix(key ^ entry.id));
            // The number is at least the distance over the weight: most members need no logarithm.
            if distance >= free.number * entry.weight {
                continue;
            }
            let number = -(-distance).ln_1p() / entry.weight;
            if number < free.number {
                match fit(at) {
                    Fit::Free => free = First { number, at: Some(at) },
                    Fit::Full if number < full.number => full = First { number, at: Some(at) },
                    Fit::Full | Fit::Barred => {}
                }
            }
        }
        free.at.or(full.at)
    }
}

struct First {
    number: f64,
    at: Option<usize>,
}

impl Default for First {
    fn default() -> Self {
        Self { number: f64::INFINITY, at: None }
    }
}

/// The same for everyone who has the instance in a list.
fn identity(member: &Member) -> u64 {
    let instance = member.endpoint().instance();
    hash_key(format!("{}:{}#{}", instance.host(), instance.port(), instance.cluster()))
}

/// 52 of the bits as a number above 0 and below 1.
#[inline]
fn unit(bits: u64) -> f64 {
    ((bits >> 12) as f64 + 0.5) / (1u64 << 52) as f64
}
