use std::fmt;

use serde::Serialize;

/// Something that nearly is what a request needs, and what to do about it. Its text is one sentence with both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NearMiss {
    /// The registry has instances that it lists to nobody, because they are disabled.
    Disabled {
        /// Their addresses.
        instances: Vec<String>,
    },
    /// The list has instances of weight 0, or of one that is no number.
    Drained {
        /// Their addresses.
        instances: Vec<String>,
    },
    /// The list has instances that the registry takes for unhealthy.
    Unhealthy {
        /// Their addresses.
        instances: Vec<String>,
    },
    /// The list has instances with addresses that cannot be used here.
    NoUsableAddress {
        /// Their addresses.
        instances: Vec<String>,
        /// What can be used: `IPv4`, `IPv6`, or `IPv4 and IPv6`.
        usable: String,
    },
    /// The list has instances that a filter of the application leaves out.
    Filtered {
        /// What the filter calls itself.
        filter: String,
        /// Their addresses.
        instances: Vec<String>,
    },
    /// Nobody of the own cluster takes requests, so others do.
    OtherClusters {
        /// The own cluster.
        own: String,
        /// The clusters whose instances take the requests.
        clusters: Vec<String>,
    },
    /// The registry has enabled instances that have not come to this process.
    NotListed {
        /// Their addresses.
        instances: Vec<String>,
    },
    /// Another group has a service of this name.
    OtherGroup {
        /// The group.
        group: String,
        /// The name, maybe in other letters.
        name: String,
        /// Its instances, if the registry tells how many.
        #[serde(skip_serializing_if = "Option::is_none")]
        instances: Option<u64>,
        /// How many of them are healthy.
        #[serde(skip_serializing_if = "Option::is_none")]
        healthy: Option<u64>,
    },
    /// Another namespace has a service of this name.
    OtherNamespace {
        /// The id of the namespace.
        namespace: String,
        /// The group.
        group: String,
        /// The name, maybe in other letters.
        name: String,
        /// Its instances.
        instances: u64,
        /// How many of them are healthy.
        healthy: u64,
    },
    /// A service of the namespace has a name that is like this one.
    SimilarName {
        /// Its group.
        group: String,
        /// Its name.
        name: String,
        /// Its instances, if the registry tells how many.
        #[serde(skip_serializing_if = "Option::is_none")]
        instances: Option<u64>,
    },
    /// The namespace is set to the name of one, which clients know by its id.
    NamespaceName {
        /// What is set.
        name: String,
        /// The id of the namespace of that name.
        id: String,
    },
    /// The namespace is none of those that are declared. Naming works all the same, among those who set the same id.
    UndeclaredNamespace {
        /// What is set.
        namespace: String,
        /// The ids of those that are declared.
        declared: Vec<String>,
    },
}

impl NearMiss {
    /// What there is.
    #[must_use]
    pub fn seen(&self) -> String {
        match self {
            Self::Disabled { instances } => format!("the registry has disabled ones: {}", some(instances)),
            Self::Drained { instances } => format!("there are some of weight 0: {}", some(instances)),
            Self::Unhealthy { instances } => format!("there are unhealthy ones: {}", some(instances)),
            Self::NoUsableAddress { instances, usable } => {
                format!("there are some whose address cannot be used here, as only {usable} can: {}", some(instances))
            }
            Self::Filtered { filter, instances } => {
                format!("the filter `{filter}` leaves out {}: {}", instances.len(), some(instances))
            }
            Self::OtherClusters { own, clusters } => {
                format!("nobody of cluster {own} takes requests; those of {} do", clusters.join(", "))
            }
            Self::NotListed { instances } => {
                format!("the registry has enabled ones that have not come here: {}", some(instances))
            }
            Self::OtherGroup { group, name, instances, healthy } => {
                format!("group {group} has {name}{}", counted(*instances, *healthy))
            }
            Self::OtherNamespace { namespace, group, name, instances, healthy } => {
                format!(
                    "namespace {namespace} has {name} in group {group}{}",
                    counted(Some(*instances), Some(*healthy))
                )
            }
            Self::SimilarName { group, name, instances } => {
                format!("there is {name} in group {group}{}", counted(*instances, None))
            }
            Self::NamespaceName { name, id } => format!("{name} is the name of a namespace, whose id is {id}"),
            Self::UndeclaredNamespace { namespace, declared } => {
                format!("{namespace}: the namespace is not declared, those that are: {}", declared.join(", "))
            }
        }
    }

    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Disabled { .. } => "enable one: `nacosctl set enabled`, the console, or its own status UP".to_owned(),
            Self::Drained { .. } => "give one a weight above 0: `nacosctl set weight`, the console, or its own settings".to_owned(),
            Self::Unhealthy { .. } => {
                "do they still run? An ephemeral one must beat or keep its connection, a persistent one must answer the \
                 server's checks"
                    .to_owned()
            }
            Self::NoUsableAddress { usable, .. } => {
                format!("let them register an address of {usable}, or set the address family, if this machine has a way there")
            }
            Self::Filtered { .. } => {
                "let one register what the filter looks for, or let the filter be left out where it keeps none".to_owned()
            }
            Self::OtherClusters { .. } => {
                "is the own cluster spelled right, and does it have providers (`spring.cloud.nacos.discovery.cluster-name`)?"
                    .to_owned()
            }
            Self::NotListed { .. } => {
                "ask again in a moment; servers of a cluster may differ: `nacosctl diff`".to_owned()
            }
            Self::OtherGroup { group, .. } => {
                format!("let consumer and provider name the same group, here {group}")
            }
            Self::OtherNamespace { namespace, .. } => {
                format!("let consumer and provider name the same namespace, here {namespace}")
            }
            Self::SimilarName { name, .. } => format!("is {name} meant? Large and small letters count"),
            Self::NamespaceName { id, .. } => format!("set the id, {id}"),
            Self::UndeclaredNamespace { .. } => "is it spelled right?".to_owned(),
        }
    }
}

impl fmt::Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.seen(), self.remedy())
    }
}

/// More than these are counted, not named.
const NAMED: usize = 5;

/// The first of them, and how many there are beside.
fn some(all: &[String]) -> String {
    let named = all[..all.len().min(NAMED)].join(", ");
    match all.len().checked_sub(NAMED) {
        None | Some(0) => named,
        Some(more) => format!("{named} and {more} more"),
    }
}

fn counted(instances: Option<u64>, healthy: Option<u64>) -> String {
    match (instances, healthy) {
        (Some(0), _) => ", without instances".to_owned(),
        (Some(1), None) => " with 1 instance".to_owned(),
        (Some(all), None) => format!(" with {all} instances"),
        (Some(1), Some(healthy)) => format!(" with 1 instance, {healthy} healthy"),
        (Some(all), Some(healthy)) => format!(" with {all} instances, {healthy} healthy"),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests;
