//! What part of a service's list a reader or listener wants to see.

use std::fmt;
use std::sync::Arc;

use super::Instance;

type Filter = Arc<dyn Fn(&Instance) -> bool + Send + Sync>;

/// A view on the list of a service: health, clusters, and any predicate, all of which must hold.
///
/// The list itself is always held whole; a selection never changes what others see.
///
/// # Examples
///
/// ```
/// use nacos_client::{Instance, Select};
///
/// let select = Select::healthy().clusters(["c1"]).filter(|i| i.metadata.get("version").is_some_and(|v| v == "v2"));
/// let instance = Instance::new(("10.0.0.9", 80)).cluster("c1").metadata("version", "v2");
/// assert!(select.matches(&instance));
/// assert!(!select.matches(&instance.healthy(false)));
/// ```
#[derive(Clone, Default)]
pub struct Select {
    health: Health,
    clusters: Arc<[String]>,
    filter: Option<Filter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Health {
    #[default]
    Any,
    Healthy,
    Pickable,
    Unhealthy,
}

impl Select {
    /// Every instance of the list.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// The healthy instances, whatever their weight.
    #[must_use]
    pub fn healthy() -> Self {
        Self { health: Health::Healthy, ..Self::default() }
    }

    /// The instances a pick may return: healthy, enabled and of a usable weight.
    #[must_use]
    pub fn pickable() -> Self {
        Self { health: Health::Pickable, ..Self::default() }
    }

    /// The unhealthy instances that would take traffic if they were healthy.
    #[must_use]
    pub fn unhealthy() -> Self {
        Self { health: Health::Unhealthy, ..Self::default() }
    }

    /// Only instances of these clusters; none named = all. Replaces clusters named before.
    #[must_use]
    pub fn clusters<S: Into<String>>(mut self, clusters: impl IntoIterator<Item = S>) -> Self {
        self.clusters = clusters.into_iter().map(Into::into).collect();
        self
    }

    /// Only instances for which `filter` holds, in addition to filters set before. It must not panic or block: it runs
    /// in the task that reads the list.
    #[must_use]
    pub fn filter(mut self, filter: impl Fn(&Instance) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(match self.filter.take() {
            None => Arc::new(filter),
            Some(earlier) => Arc::new(move |i| earlier(i) && filter(i)),
        });
        self
    }

    /// Whether the view shows `instance`.
    #[must_use]
    pub fn matches(&self, instance: &Instance) -> bool {
        let health = match self.health {
            Health::Any => true,
            Health::Healthy => instance.healthy,
            Health::Pickable => instance.is_pickable(),
            Health::Unhealthy => !instance.healthy && instance.takes_traffic(),
        };
        health
            && (self.clusters.is_empty() || self.clusters.contains(&instance.cluster))
            && self.filter.as_ref().is_none_or(|filter| filter(instance))
    }

    /// Whether the view shows every list as it is.
    pub(crate) fn is_all(&self) -> bool {
        self.health == Health::Any && self.clusters.is_empty() && self.filter.is_none()
    }
}

impl fmt::Debug for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select")
            .field("health", &self.health)
            .field("clusters", &self.clusters)
            .field("filter", &self.filter.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_add_up() {
        let i = Instance::new(("h", 1)).cluster("a").weight(0.0);
        assert!(Select::all().is_all() && Select::all().matches(&i));
        assert!(Select::healthy().clusters(["a", "b"]).matches(&i));
        assert!(!Select::healthy().clusters(["b"]).matches(&i));
        assert!(!Select::pickable().matches(&i));
        assert!(Select::unhealthy().matches(&i.clone().weight(1.0).healthy(false)));
        assert!(!Select::unhealthy().matches(&i.clone().healthy(false)));
        assert!(!Select::all().filter(|i| i.port == 1).filter(|i| i.port == 2).matches(&i));
    }
}
