//! Speaks the line protocol of ../../../README.md for the crate `nacos_rust_client`: one command in, one answer out,
//! events as they come. Arguments: ADDRESS DIRECTORY and `grpc` or `http`. The SDK's calls return before the server has
//! answered, so this driver waits until a list shows what it did: over gRPC the SDK's own, over HTTP, where that is
//! polled every ten seconds, the server's.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nacos_rust_client::client::ClientBuilder;
use nacos_rust_client::client::naming_client::{
    Instance, InstanceDefaultListener, NamingClient, QueryInstanceListParams, ServiceInstanceKey,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long a change may take until the SDK's own list shows it.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

struct Driver {
    naming: Arc<NamingClient>,
    /// What is registered, by service and address.
    registered: HashMap<(String, String, u32), Instance>,
    /// Services with a listener of this driver's own, without which the SDK does not subscribe again after a lost connection.
    watched: HashMap<String, InstanceDefaultListener>,
    /// How many services were asked for that nobody has ever heard of.
    strangers: u32,
    /// The server's address, if the SDK speaks HTTP.
    http: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, _, protocol] = arguments.as_slice() else {
        return Err("usage: ADDRESS DIRECTORY grpc|http".into());
    };
    let grpc = protocol == "grpc";
    let naming = ClientBuilder::new()
        .set_endpoint_addrs(address)
        .set_use_grpc(grpc)
        .set_client_ip("127.0.0.1".to_owned())
        .set_app_name("interop".to_owned())
        .build_naming_client();
    let http = (!grpc).then(|| address.clone());
    let mut driver = Driver { naming, registered: HashMap::new(), watched: HashMap::new(), strangers: 0, http };
    driver.connected().await?;
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
    // The SDK's own way to close ends in a panic: like its users, this program just ends.
    std::process::exit(0)
}

impl Driver {
    async fn connected(&mut self) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        while self.ask_for_stranger().await.is_err() {
            if Instant::now() > end {
                return Err("not connected".into());
            }
            sleep(LOOK_AGAIN).await;
        }
        Ok(())
    }

    /// Asks for a service that the SDK cannot have in its cache: a whole way to the server and back.
    async fn ask_for_stranger(&mut self) -> Result<(), Failure> {
        self.strangers += 1;
        self.list(&format!("stranger-{}", self.strangers), "strangers", &[]).await.map(drop)
    }

    /// Subscribes. Over gRPC the SDK asks for a new service twice and believes the second answer even if a push was faster, so this
    /// waits for answers to later questions.
    async fn subscribe(&mut self, listener: InstanceDefaultListener) -> Result<(), Failure> {
        self.naming.subscribe(Box::new(listener)).await?;
        if self.http.is_some() {
            return Ok(());
        }
        self.ask_for_stranger().await?;
        self.ask_for_stranger().await
    }

    async fn execute(&mut self, command: &Value) -> Result<Value, Failure> {
        let (service, group) = (text(&command["service"]), text(&command["group"]));
        match command["cmd"].as_str().unwrap_or_default() {
            "register" => self.register(instance(&command["instance"], &service, &group)?).await?,
            "deregister" => {
                let address = address(&instance(&command["instance"], &service, &group)?);
                let known = self.registered.remove(&address).ok_or("not registered here")?;
                self.unregister(known).await?;
            }
            "list" => {
                let clusters: Vec<String> = array(&command["clusters"]).iter().map(text).collect();
                self.watch(&service, &group).await?;
                let mut found = self.list(&service, &group, &clusters).await?;
                if let Some(healthy) = command["healthy"].as_bool() {
                    found.retain(|one| one.healthy == healthy);
                }
                return Ok(plain(&found));
            }
            "subscribe" => self.subscribe(printer(&service, &group)).await?,
            "unsubscribe" => {
                self.watched.remove(&format!("{group}@@{service}"));
                self.naming.unsubscribe(ServiceInstanceKey::new(&service, &group)).await?;
            }
            "batch" => return Err("nacos_rust_client has no batch registration".into()),
            "services" => return Err("nacos_rust_client has no list of services".into()),
            "exit" => self.leave().await?,
            _ => return Err("unknown command".into()),
        }
        Ok(Value::Null)
    }

    /// The SDK drops a second registration of an address: to change one, it must be taken back first.
    async fn register(&mut self, instance: Instance) -> Result<(), Failure> {
        if !instance.ephemeral {
            return Err("nacos_rust_client has no persistent instances".into());
        }
        self.watch(&instance.service_name, &instance.group_name).await?;
        if let Some(old) = self.registered.remove(&address(&instance)) {
            self.unregister(old).await?;
        }
        self.registered.insert(address(&instance), instance.clone());
        self.naming.register(instance.clone());
        self.settled(&instance, true).await
    }

    async fn unregister(&self, instance: Instance) -> Result<(), Failure> {
        self.naming.unregister(instance.clone());
        self.settled(&instance, false).await
    }

    /// Over HTTP the SDK leaves its instances to the server, which would keep them for half a minute.
    async fn leave(&mut self) -> Result<(), Failure> {
        if self.http.is_some() {
            for (_, instance) in std::mem::take(&mut self.registered) {
                self.unregister(instance).await?;
            }
        }
        Ok(())
    }

    async fn watch(&mut self, service: &str, group: &str) -> Result<(), Failure> {
        let name = format!("{group}@@{service}");
        if self.http.is_none() && !self.watched.contains_key(&name) {
            let listener = InstanceDefaultListener::new(ServiceInstanceKey::new(service, group), None);
            self.subscribe(listener.clone()).await?;
            self.watched.insert(name, listener);
        }
        Ok(())
    }

    /// Waits until the list has the instance, or has it no more.
    async fn settled(&self, instance: &Instance, there: bool) -> Result<(), Failure> {
        let end = Instant::now() + PATIENCE;
        let wanted = plain(&[Arc::new(instance.clone())])[0].take();
        let compared: &[&str] =
            if there { &["ip", "port", "cluster", "weight", "metadata"] } else { &["ip", "port", "cluster"] };
        loop {
            let found = self.registered_now(instance).await.unwrap_or_default();
            if array(&found).iter().any(|one| compared.iter().all(|name| one[*name] == wanted[*name])) == there {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("the list still shows {found}").into());
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    async fn registered_now(&self, instance: &Instance) -> Result<Value, Failure> {
        match &self.http {
            Some(address) => ask_server(address, &instance.get_service_named()).await,
            None => Ok(plain(&self.list(&instance.service_name, &instance.group_name, &[]).await?)),
        }
    }

    async fn list(&self, service: &str, group: &str, clusters: &[String]) -> Result<Vec<Arc<Instance>>, Failure> {
        let clusters = (!clusters.is_empty()).then(|| clusters.to_vec());
        let params = QueryInstanceListParams::new("public", group, service, clusters, false);
        Ok(self.naming.query_instances(params).await?)
    }
}

/// The server's list of a service, as the HTTP API of 1.x shows it.
async fn ask_server(address: &str, service: &str) -> Result<Value, Failure> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /nacos/v1/ns/instance/list?serviceName={service} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("an answer without a body")?;
    let hosts = serde_json::from_str::<Value>(body)?["hosts"].take();
    let all = array(&hosts).iter().map(|host| {
        json!({"ip": host["ip"], "port": host["port"], "weight": host["weight"], "cluster": host["clusterName"], "metadata": host["metadata"]})
    });
    Ok(Value::Array(all.collect()))
}

fn printer(service: &str, group: &str) -> InstanceDefaultListener {
    let name = service.to_owned();
    let print = move |all: Arc<Vec<Arc<Instance>>>, _, _| {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_millis());
        println!("{}", json!({"event": "change", "at": at as u64, "service": name, "instances": plain(&all)}));
    };
    InstanceDefaultListener::new(ServiceInstanceKey::new(service, group), Some(Arc::new(print)))
}

fn address(instance: &Instance) -> (String, String, u32) {
    (instance.get_service_named(), instance.ip.clone(), instance.port)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn instance(value: &Value, service: &str, group: &str) -> Result<Instance, Failure> {
    let flag = |name: &str| value[name].as_bool().ok_or_else(|| format!("no {name}"));
    let metadata = value["metadata"].as_object().ok_or("no metadata")?;
    Ok(Instance {
        ip: text(&value["ip"]),
        port: u32::try_from(value["port"].as_u64().ok_or("no port")?)?,
        weight: value["weight"].as_f64().ok_or("no weight")? as f32,
        healthy: flag("healthy")?,
        enabled: flag("enabled")?,
        ephemeral: flag("ephemeral")?,
        cluster_name: text(&value["cluster"]),
        service_name: service.to_owned(),
        group_name: group.to_owned(),
        namespace_id: "public".to_owned(),
        metadata: Some(metadata.iter().map(|(key, value)| (key.clone(), text(value))).collect()),
        beat_string: None,
    })
}

fn plain(found: &[Arc<Instance>]) -> Value {
    let all = found.iter().map(|i| {
        json!({"ip": i.ip, "port": i.port, "weight": i.weight, "healthy": i.healthy, "enabled": i.enabled,
            "ephemeral": i.ephemeral, "cluster": i.cluster_name, "metadata": i.metadata})
    });
    Value::Array(all.collect())
}
