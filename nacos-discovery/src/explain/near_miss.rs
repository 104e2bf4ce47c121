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
            Self::NotListed { .. } => {
                "ask again in a moment; servers of a cluster may differ: `nacosctl diff`".to_owned()
            }
            Self::OtherGroup { group, .. } => {
                format!("let consumer and provider name the same group, here {group}")
            }
            Self::OtherNamespace { namespace, .. } => {
                format!("let consumer and provider name the same namespace, here {namespace}")
            }
            Self::SimilarName { name, .. } => format!("is {name} meant? Names differ by case, too"),
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
mod tests {
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
                NearMiss::NotListed { instances: addresses(1) },
                "the registry has enabled ones that have not come here: 10.0.0.0:80; ask again in a moment; servers of a \
                 cluster may differ: `nacosctl diff`",
            ),
            (
                group(Some(3), Some(2)),
                "group payments has orders with 3 instances, 2 healthy; let consumer and provider name the same group, here \
                 payments",
            ),
            (
                group(None, None),
                "group payments has orders; let consumer and provider name the same group, here payments",
            ),
            (
                namespace,
                "namespace dev-id has orders in group G with 1 instance, 0 healthy; let consumer and provider name the same \
                 namespace, here dev-id",
            ),
            (
                similar(Some(0)),
                "there is order-service in group G, without instances; is order-service meant? Names differ by case, too",
            ),
            (
                similar(Some(2)),
                "there is order-service in group G with 2 instances; is order-service meant? Names differ by case, too",
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
}
