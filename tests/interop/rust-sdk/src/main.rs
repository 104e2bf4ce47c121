//! Speaks the line protocol of ../README.md for the crate `nacos-sdk`: one command in, one answer out, events as they come.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use nacos_sdk::api::naming::{
    NamingChangeEvent, NamingEventListener, NamingService, NamingServiceBuilder, ServiceInstance,
};
use nacos_sdk::api::props::ClientProps;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Driver {
    naming: NamingService,
    listeners: HashMap<String, Arc<dyn NamingEventListener>>,
}

struct Printer {
    service: String,
}

impl NamingEventListener for Printer {
    fn event(&self, event: Arc<NamingChangeEvent>) {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis());
        let instances = plain(event.instances.as_deref().unwrap_or_default());
        println!("{}", json!({"event": "change", "at": at as u64, "service": self.service, "instances": instances}));
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let (Some(address), Some(dir)) = (args.next(), args.next()) else {
        return Err("usage: ADDRESS DIR".into());
    };
    // The protection would keep the last instance of a service for ever.
    let props = ClientProps::new()
        .server_addr(address)
        .namespace("")
        .app_name("interop")
        .env_first(false)
        .cache_dir(dir)
        .naming_push_empty_protection(false);
    let naming = NamingServiceBuilder::new(props).build().await?;
    let mut driver = Driver { naming, listeners: HashMap::new() };
    println!("{}", json!({"event": "ready"}));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let command: Value = serde_json::from_str(&line)?;
        let answer = match driver.execute(&command).await {
            Ok(result) => json!({"id": command["id"], "ok": true, "result": result}),
            Err(error) => json!({"id": command["id"], "ok": false, "error": error.to_string()}),
        };
        println!("{answer}");
        if command["cmd"] == "exit" {
            break;
        }
    }
    Ok(())
}

impl Driver {
    async fn execute(&mut self, command: &Value) -> Result<Value, Failure> {
        let service = text(&command["service"]);
        let group = Some(text(&command["group"]));
        let clusters: Vec<String> = array(&command["clusters"]).iter().map(text).collect();
        match command["cmd"].as_str().unwrap_or_default() {
            "register" => {
                let instance = instance(&command["instance"])?;
                self.naming.register_instance(service, group, instance).await?;
            }
            "batch" => {
                let instances = array(&command["instances"]).iter().map(instance).collect::<Result<_, _>>()?;
                self.naming.batch_register_instance(service, group, instances).await?;
            }
            "deregister" => {
                let instance = instance(&command["instance"])?;
                self.naming.deregister_instance(service, group, instance).await?;
            }
            "list" => {
                let found = match command["healthy"].as_bool() {
                    Some(healthy) => self.naming.select_instances(service, group, clusters, false, healthy).await?,
                    None => self.naming.get_all_instances(service, group, clusters, false).await?,
                };
                return Ok(plain(&found));
            }
            "subscribe" => {
                let listener: Arc<dyn NamingEventListener> = Arc::new(Printer { service: service.clone() });
                self.listeners.insert(service.clone(), listener.clone());
                self.naming.subscribe(service, group, clusters, listener).await?;
            }
            "unsubscribe" => {
                let listener = self.listeners.remove(&service).ok_or("not subscribed")?;
                self.naming.unsubscribe(service, group, clusters, listener).await?;
            }
            "services" => {
                let (names, count) = self.naming.get_service_list(1, 10_000, group).await?;
                return Ok(json!({"count": count, "names": names}));
            }
            "exit" => {}
            _ => return Err("unknown command".into()),
        }
        Ok(Value::Null)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn instance(value: &Value) -> Result<ServiceInstance, Failure> {
    let flag = |name: &str| value[name].as_bool().ok_or_else(|| format!("no {name}"));
    let metadata = value["metadata"].as_object().ok_or("no metadata")?;
    Ok(ServiceInstance {
        ip: text(&value["ip"]),
        port: i32::try_from(value["port"].as_i64().ok_or("no port")?)?,
        weight: value["weight"].as_f64().ok_or("no weight")?,
        healthy: flag("healthy")?,
        enabled: flag("enabled")?,
        ephemeral: flag("ephemeral")?,
        cluster_name: value["cluster"].as_str().map(str::to_owned),
        metadata: metadata.iter().map(|(key, value)| (key.clone(), text(value))).collect(),
        ..ServiceInstance::default()
    })
}

fn plain(found: &[ServiceInstance]) -> Value {
    let all = found.iter().map(|i| {
        json!({"ip": i.ip, "port": i.port, "weight": i.weight, "healthy": i.healthy, "enabled": i.enabled,
            "ephemeral": i.ephemeral, "cluster": i.cluster_name, "metadata": i.metadata})
    });
    Value::Array(all.collect())
}
