use std::cell::LazyCell;
use std::cmp::Ordering;
use std::sync::Arc;

use nacos_client::{Instance, InstanceKey, ServiceKey, Weight};
use tokio::time::Instant;

use super::ServiceList;
use super::content::Content;
use super::graveyard::Graveyard;
use super::list::identity;
use super::row::{Row, Standing};
use crate::eject::Ejector;
use crate::node::{Locality, Node, median};
use crate::pick::{Reach, Verdict, target};
use crate::route::Router;
use crate::settings::ServiceSettings;
use crate::{Endpoint, ServiceInstance};

/// Turns lists of one service into what picks read, and keeps what survives lists.
#[derive(Debug)]
pub(super) struct Builder {
    service: ServiceKey,
    settings: Arc<ServiceSettings>,
    reach: Reach,
    ejector: Arc<Ejector>,
    router: Option<Arc<Router>>,
    /// Sorted by identity, as lists are.
    rows: Vec<Row>,
    graveyard: Graveyard,
    odd_weights: u64,
}

/// The rows of a new list.
#[derive(Default)]
struct Merged {
    rows: Vec<Row>,
    gone: Vec<(InstanceKey, Arc<Node>)>,
    back: Vec<InstanceKey>,
    odd_weights: u64,
}

impl Builder {
    pub(super) fn new(
        service: ServiceKey,
        settings: Arc<ServiceSettings>,
        reach: Reach,
        ejector: Arc<Ejector>,
    ) -> Self {
        Self {
            service,
            settings,
            reach,
            ejector,
            router: None,
            rows: Vec::new(),
            graveyard: Graveyard::default(),
            odd_weights: 0,
        }
    }

    /// Whether the list says nothing new of any instance.
    pub(super) fn has(&self, list: &ServiceList) -> bool {
        let listed = list.instances();
        listed.len() == self.rows.len() && self.rows.iter().zip(&**listed).all(|(row, instance)| row.is_of(instance))
    }

    /// Whether the list lacks an instance that takes requests, or says that it takes none any longer.
    pub(super) fn loses_by(&self, list: &ServiceList) -> bool {
        let mut listed = list.instances().iter().peekable();
        self.rows.iter().filter(|row| row.takes_requests()).any(|row| {
            let own = identity(row.instance.instance());
            while listed.next_if(|instance| identity(instance) < own).is_some() {}
            !listed.peek().is_some_and(|instance| identity(instance) == own && instance.is_pickable())
        })
    }

    /// Takes a list over. If code of the application panics in it, nothing has happened.
    pub(super) fn build(&mut self, list: &ServiceList, seed: u64, now: Instant) -> Content {
        let merged = self.merge(list, now);
        let content = self.content(&merged.rows, self.router.as_ref(), seed, now);
        for key in &merged.back {
            self.graveyard.forget(key);
        }
        self.rows = merged.rows;
        self.graveyard.bury(merged.gone.into_iter(), self.rows.len(), now);
        self.odd_weights += merged.odd_weights;
        content
    }

    /// The same list with the weights that its instances have now.
    pub(super) fn rebuild(&self, seed: u64, now: Instant) -> Content {
        self.content(&self.rows, self.router.as_ref(), seed, now)
    }

    /// The same list by other rules.
    pub(super) fn rerouted(&self, router: Option<&Arc<Router>>, seed: u64, now: Instant) -> Content {
        self.content(&self.rows, router, seed, now)
    }

    /// The rules by which requests are routed from the next list on; `None`: they are not.
    pub(super) fn set_router(&mut self, router: Option<Arc<Router>>) {
        self.router = router;
    }

    /// Whether these are the rules already.
    pub(super) fn is_routed_by(&self, router: Option<&Arc<Router>>) -> bool {
        match (&self.router, router) {
            (None, None) => true,
            (Some(own), Some(router)) => Arc::ptr_eq(own, router),
            _ => false,
        }
    }

    fn content(&self, rows: &[Row], router: Option<&Arc<Router>>, seed: u64, now: Instant) -> Content {
        Content::new(rows, &self.settings, router, seed, now)
    }

    /// Which addresses can be used.
    pub(super) const fn reach(&self) -> Reach {
        self.reach
    }

    /// How many times an instance was listed with a weight that is none.
    pub(super) const fn odd_weights(&self) -> u64 {
        self.odd_weights
    }

    /// Both lists are sorted, so one pass finds what they have in common.
    fn merge(&self, list: &ServiceList, now: Instant) -> Merged {
        let mut merged = Merged { rows: Vec::with_capacity(list.instances().len()), ..Merged::default() };
        let mut old = self.rows.iter().peekable();
        // How fast the others are: most lists have nobody new.
        let usual = LazyCell::new(|| median(self.rows.iter().filter_map(|row| row.node.latency())));
        let new = || Arc::new(Node::new(now, *usual, Arc::clone(&self.ejector)));
        let leave = |row: &Row| (row.instance.key(), Arc::clone(&row.node));
        for instance in list.instances().iter() {
            let mut known = None;
            while let Some(row) = old.peek() {
                match identity(row.instance.instance()).cmp(&identity(instance)) {
                    Ordering::Less => merged.gone.push(leave(row)),
                    Ordering::Equal => known = Some(*row),
                    Ordering::Greater => break,
                }
                old.next();
            }
            let row = match known {
                Some(row) if row.is_of(instance) => row.clone(),
                Some(row) => self.row(instance, Arc::clone(&row.node)),
                None => self.row(instance, self.come_back(instance, &mut merged.back, now).unwrap_or_else(new)),
            };
            if row.has_odd_weight() && !known.is_some_and(Row::has_odd_weight) {
                merged.odd_weights += 1;
                let weight = instance.weight;
                tracing::warn!(service = %self.service, %instance, weight, "the registry lists a weight that is none");
            }
            merged.rows.push(row);
        }
        merged.gone.extend(old.map(leave));
        merged
    }

    /// That of an instance which was not in the last list, if it was in one shortly before.
    fn come_back(&self, instance: &Instance, back: &mut Vec<InstanceKey>, now: Instant) -> Option<Arc<Node>> {
        if self.graveyard.is_empty() {
            return None;
        }
        let key = instance.key();
        let node = Arc::clone(self.graveyard.find(&key, now)?);
        back.push(key);
        Some(node)
    }

    fn row(&self, instance: &Arc<Instance>, node: Arc<Node>) -> Row {
        let instance = ServiceInstance::new(self.service.clone(), Arc::clone(instance));
        let standing = self.standing(&instance, &node).unwrap_or_else(Standing::Out);
        Row { instance, node, standing }
    }

    fn standing(&self, instance: &ServiceInstance, node: &Arc<Node>) -> Result<Standing, Verdict> {
        if !instance.enabled() {
            return Err(Verdict::Disabled);
        }
        let weight = Weight::usable(instance.weight()).ok_or(Verdict::Drained)?;
        let selection = self.settings.selection();
        let target = target(instance, self.reach, selection.ports()).map_err(Verdict::NoUsableAddress)?;
        let own = selection.own_cluster().is_none_or(|own| own == instance.cluster());
        let locality = if own { Locality::OwnCluster } else { Locality::OtherCluster };
        let endpoint = Arc::new(Endpoint::new(instance.clone(), target, Arc::clone(node), locality));
        Ok(Standing::Usable { endpoint, weight: weight.get() })
    }
}
