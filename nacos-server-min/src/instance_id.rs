use nacos_proto::grpc::Instance;

use crate::registry::{InstanceId, KeyRef};

const ID_GENERATOR: &str = "preserved.instance.id.generator";

/// The id an instance is listed with: the registrant's own, or one made of what it wrote, before any default is applied.
pub(crate) fn of(instance: &Instance, key: KeyRef<'_>, unique: impl FnOnce() -> u64) -> InstanceId {
    if let Some(given) = instance.instance_id.as_deref().filter(|id| !id.is_empty()) {
        return InstanceId::Given(given.into());
    }
    let cluster = instance.cluster_name.as_deref();
    let own_service = instance.service_name.as_deref().filter(|name| !name.trim().is_empty());
    let snowflake = instance.metadata.get(ID_GENERATOR).is_some_and(|generator| generator == "snowflake");
    if snowflake || own_service.is_some() {
        let cluster = cluster.unwrap_or("null");
        let service = own_service.map_or_else(|| format!("{}@@{}", key.group, key.name), str::to_owned);
        let id = if snowflake {
            format!("{}#{cluster}#{service}", unique())
        } else {
            format!("{}#{}#{cluster}#{service}", instance.ip.as_deref().unwrap_or("null"), instance.port)
        };
        return InstanceId::Given(id.into_boxed_str());
    }
    match cluster {
        None => InstanceId::DerivedNullCluster,
        // A blank cluster is stored as the default one, so the id cannot be made of it later.
        Some("") => InstanceId::DerivedEmptyCluster,
        Some(text) if text.trim().is_empty() => {
            let ip = instance.ip.as_deref().unwrap_or("null");
            InstanceId::Given(format!("{ip}#{}#{text}#{}@@{}", instance.port, key.group, key.name).into())
        }
        Some(_) => InstanceId::Derived,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: KeyRef<'_> = KeyRef { namespace: "public", group: "G", name: "s" };

    #[test]
    fn ids_are_made_of_what_the_registrant_wrote() {
        let id = |instance: Instance| of(&instance, KEY, || 7);
        let plain = Instance { ip: Some("10.0.0.9".into()), port: 80, ..Instance::default() };
        assert_eq!(id(plain.clone()), InstanceId::DerivedNullCluster);
        assert_eq!(id(Instance { cluster_name: Some("c".into()), ..plain.clone() }), InstanceId::Derived);
        assert_eq!(
            id(Instance { cluster_name: Some(String::new()), ..plain.clone() }),
            InstanceId::DerivedEmptyCluster
        );
        assert_eq!(
            id(Instance { instance_id: Some("mine".into()), ..plain.clone() }),
            InstanceId::Given("mine".into())
        );
        assert_eq!(
            id(Instance { service_name: Some("other".into()), ..plain.clone() }),
            InstanceId::Given("10.0.0.9#80#null#other".into())
        );
        let metadata = [(ID_GENERATOR, "snowflake")].into_iter().collect();
        let flake = Instance { cluster_name: Some("c".into()), metadata, ..plain };
        assert_eq!(id(flake), InstanceId::Given("7#c#G@@s".into()));
    }
}
