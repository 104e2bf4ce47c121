//! What is refused before anything is recorded or sent.

use nacos_proto::param::{self, ParamError};

use crate::config::{ClientConfig, Validation};
use crate::error::InvalidArgument;
use crate::model::{Instance, ServiceKey};

/// Metadata keys that servers use for their own purposes.
const RESERVED: [&str; 3] = ["customInstanceId", "publishInstanceWeight", "publishInstanceEnable"];

impl ClientConfig {
    /// Checks whether a client with these settings would record a registration, without recording it.
    ///
    /// # Errors
    /// What [`crate::NamingService::service`] or [`crate::ServiceHandle::register`] would refuse it with.
    pub fn check_registration(&self, key: &ServiceKey, own: &Instance) -> Result<(), InvalidArgument> {
        service(self, key)?;
        instance(self, own)
    }
}

/// Checks the name and group of a service.
pub(crate) fn service(config: &ClientConfig, key: &ServiceKey) -> Result<(), InvalidArgument> {
    if key.name().trim().is_empty() {
        return Err(InvalidArgument::new("service name", "is blank"));
    }
    if key.group().contains("@@") {
        return Err(InvalidArgument::new("group", "must not contain @@, which ends it in the name of a service"));
    }
    if config.validation == Validation::Server {
        return Ok(());
    }
    param::group(key.group()).map_err(|e| refused("group", &e))?;
    param::service(key.name()).map_err(|e| refused("service name", &e))
}

/// Checks an instance that is to be registered.
pub(crate) fn instance(config: &ClientConfig, instance: &Instance) -> Result<(), InvalidArgument> {
    if !instance.weight.is_finite() {
        return Err(InvalidArgument::new("weight", "is not a finite number"));
    }
    if config.validation == Validation::Server {
        return Ok(());
    }
    if instance.ip.trim().is_empty() {
        return Err(InvalidArgument::new("ip", "is blank"));
    }
    if instance.port == 0 {
        return Err(InvalidArgument::new("port", "is 0, where nobody can call it"));
    }
    param::weight(instance.weight).map_err(|e| refused("weight", &e))?;
    param::ip(&instance.ip).map_err(|e| refused("ip", &e))?;
    param::cluster(&instance.cluster).map_err(|e| refused("cluster", &e))?;
    param::registering_cluster(&instance.cluster).map_err(|e| refused("cluster", &e))?;
    if let Some(key) = RESERVED.iter().find(|key| instance.metadata.contains_key(**key)) {
        return Err(InvalidArgument::new("metadata", format!("the key {key} belongs to the server")));
    }
    param::metadata(&instance.metadata, config.max_metadata).map_err(|e| refused("metadata", &e))?;
    param::beat_times(&instance.to_wire()).map_err(|e| refused("metadata", &e))
}

fn refused(field: &'static str, error: &ParamError) -> InvalidArgument {
    InvalidArgument::new(field, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(validation: Validation) -> ClientConfig {
        ClientConfig::builder().servers(["a"]).validation(validation).build().unwrap()
    }

    fn field(result: Result<(), InvalidArgument>) -> &'static str {
        result.expect_err("is invalid").field
    }

    #[test]
    fn bad_names_are_refused_and_foreign_letters_are_not() {
        let config = config(Validation::Client);
        let check = |group: &str, name: &str| service(&config, &ServiceKey::new(group, name));
        assert_eq!(field(check("g", " ")), "service name");
        assert_eq!(field(check("g", "a@@b")), "service name");
        assert_eq!(field(check("g", "@a")), "service name");
        assert_eq!(field(check("g", &"n".repeat(1 << 20))), "service name");
        assert_eq!(field(check("g@@h", "a")), "group");
        assert_eq!(field(check(&"g".repeat(129), "a")), "group");
        assert!(check("g", "a@b").is_ok());
        assert!(check("g", "größe-ñ").is_ok());
    }

    #[test]
    fn bad_instances_are_refused() {
        let config = config(Validation::Client);
        let check = |i: Instance| instance(&config, &i);
        let good = || Instance::new(("10.0.0.1", 80));
        assert_eq!(field(check(Instance::new(("10.0.0.1", 0)))), "port");
        assert_eq!(field(check(Instance::new((" ", 80)))), "ip");
        for weight in [f64::NAN, -1.0, 10_000.5, f64::INFINITY] {
            assert_eq!(field(check(good().weight(weight))), "weight");
        }
        assert_eq!(field(check(good().cluster("a_b"))), "cluster");
        assert_eq!(field(check(good().cluster("a,b"))), "cluster");
        assert_eq!(field(check(good().metadata("k", "v".repeat(1024)))), "metadata");
        assert_eq!(field(check(good().metadata("preserved.heart.beat.timeout", "1"))), "metadata");
        assert_eq!(field(check(good().metadata("publishInstanceWeight", "1"))), "metadata");
        assert!(check(good().metadata("k", "v".repeat(1023))).is_ok());
        for host in ["::1", "2001:db8::5", "orders.internal"] {
            assert!(check(Instance::new((host, 80))).is_ok(), "{host}");
        }
    }

    #[test]
    fn the_server_may_be_left_to_judge() {
        let config = config(Validation::Server);
        assert!(instance(&config, &Instance::new(("10.0.0.1", 0)).weight(-1.0).cluster("a_b")).is_ok());
        assert!(service(&config, &ServiceKey::new("g", "a@@b")).is_ok());
        assert_eq!(field(instance(&config, &Instance::new(("h", 1)).weight(f64::NAN))), "weight");
    }
}
