//! The driver around `nacos-client` for the interoperability tests: one JSON command per line in, one answer per line out,
//! events as they come. The protocol is described in `tests/interop/README.md`.
#![forbid(unsafe_code)]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nacos_client::{
    ConnectionStatus, EmptyPolicy, Instance, NamingService, Protocol, Registration, Select, ServiceHandle, ServiceKey,
    Subscription,
};
use nacos_tests::line_protocol::{answer, lines, print};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

type Failure = Box<dyn Error + Send + Sync>;

/// How long the client may take to connect or to end.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Deserialize)]
struct Command {
    id: u64,
    cmd: String,
    #[serde(default)]
    service: String,
    #[serde(default)]
    group: String,
    #[serde(default)]
    clusters: Vec<String>,
    healthy: Option<bool>,
    instance: Option<PlainInstance>,
    #[serde(default)]
    instances: Vec<PlainInstance>,
}

/// An instance in the form all drivers share.
#[derive(Clone, Serialize, Deserialize)]
struct PlainInstance {
    ip: String,
    port: u16,
    weight: f64,
    healthy: bool,
    enabled: bool,
    ephemeral: bool,
    cluster: String,
    metadata: BTreeMap<String, String>,
}

impl From<PlainInstance> for Instance {
    fn from(plain: PlainInstance) -> Self {
        let mut instance = Self::new((plain.ip.as_str(), plain.port))
            .weight(plain.weight)
            .healthy(plain.healthy)
            .enabled(plain.enabled)
            .cluster(plain.cluster);
        instance.ephemeral = plain.ephemeral;
        instance.metadata = plain.metadata;
        instance
    }
}

impl From<&Instance> for PlainInstance {
    fn from(instance: &Instance) -> Self {
        Self {
            ip: instance.ip.clone(),
            port: instance.port,
            weight: instance.weight,
            healthy: instance.healthy,
            enabled: instance.enabled,
            ephemeral: instance.ephemeral,
            cluster: instance.cluster.clone(),
            metadata: instance.metadata.clone(),
        }
    }
}

struct Driver {
    nacos: NamingService,
    registrations: HashMap<ServiceKey, Vec<Registration>>,
    subscriptions: HashMap<ServiceKey, JoinHandle<()>>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("usage: ADDRESS [DIRECTORY [auto|grpc|http]]")?;
    let protocol = match arguments.nth(1).as_deref() {
        None | Some("auto") => Protocol::Auto,
        Some("grpc") => Protocol::Grpc,
        Some("http") => Protocol::Http,
        Some(other) => return Err(format!("unknown protocol {other}").into()),
    };
    // The other SDKs have their protection against empty lists off as well: each list must show as it is.
    let nacos = NamingService::builder()
        .servers([address])
        .protocol(protocol)
        .app_name("interop")
        .empty_policy(EmptyPolicy::Accept)
        .build()?;
    nacos.connected(PATIENCE).await?;
    let mut driver = Driver { nacos, registrations: HashMap::new(), subscriptions: HashMap::new() };
    print(&json!({"event": "ready"}))?;
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        let command: Command = serde_json::from_str(&line)?;
        let (id, last) = (command.id, command.cmd == "exit");
        print(&answer(id, driver.execute(command).await))?;
        if last {
            break;
        }
    }
    Ok(())
}

impl Driver {
    async fn execute(&mut self, command: Command) -> Result<Value, Failure> {
        let handle = || self.nacos.service((command.group.as_str(), command.service.as_str()));
        match command.cmd.as_str() {
            "register" => {
                let handle = handle()?;
                self.register(&handle, command.instance.ok_or("no instance")?.into()).await?;
            }
            "batch" => {
                let handle = handle()?;
                self.batch(&handle, command.instances.into_iter().map(Into::into).collect()).await?;
            }
            "deregister" => {
                let handle = handle()?;
                self.deregister(&handle, &command.instance.ok_or("no instance")?.into()).await?;
            }
            "list" => {
                let select = match command.healthy {
                    Some(true) => Select::pickable(),
                    Some(false) => Select::unhealthy(),
                    None => Select::all(),
                };
                let select = select.clusters(command.clusters);
                let found = handle()?.query().await?;
                return Ok(plain(found.iter().filter(|instance| select.matches(instance))));
            }
            "subscribe" => {
                let handle = handle()?;
                let changes = handle.subscribe(Select::all().clusters(command.clusters));
                // Ends with the client, or is aborted by `unsubscribe`.
                let task = tokio::spawn(report(changes, command.service));
                if let Some(earlier) = self.subscriptions.insert(handle.key().clone(), task) {
                    earlier.abort();
                }
            }
            "unsubscribe" => {
                let task = self.subscriptions.remove(handle()?.key()).ok_or("not subscribed")?;
                task.abort();
                // Joined, so that no event can follow the answer.
                let _aborted = task.await;
            }
            "services" => {
                let page = self.nacos.get_services_of_server(1, 10_000, &command.group).await?;
                return Ok(json!({"count": page.count, "names": page.names}));
            }
            "status" => {
                let protocol = match self.nacos.status().current() {
                    ConnectionStatus::Connected { protocol: Protocol::Grpc, .. } => "grpc",
                    ConnectionStatus::Connected { protocol: Protocol::Http, .. } => "http",
                    other => return Err(format!("not connected: {other:?}").into()),
                };
                return Ok(json!({"protocol": protocol, "beating": self.nacos.stats().beating}));
            }
            "exit" => {
                let report = self.nacos.shutdown(PATIENCE).await;
                return Ok(json!({"clean": report.clean, "deregistered": report.deregistered}));
            }
            _ => return Err("unknown command".into()),
        }
        Ok(Value::Null)
    }

    /// Makes `instance` the only one of this process in the service, as a register of the other SDKs does.
    async fn register(&mut self, service: &ServiceHandle, instance: Instance) -> Result<(), Failure> {
        let held = self.registrations.entry(service.key().clone()).or_default();
        held.truncate(1);
        match held.first() {
            Some(held) => held.update(|_| instance)?,
            None => held.push(service.register(instance)?),
        }
        for registration in held {
            registration.confirmed().await?;
        }
        Ok(())
    }

    /// Makes `instances` those of this process in the service.
    async fn batch(&mut self, service: &ServiceHandle, instances: Vec<Instance>) -> Result<(), Failure> {
        let new = instances.into_iter().map(|instance| service.register(instance)).collect::<Result<Vec<_>, _>>()?;
        let held = self.registrations.entry(service.key().clone()).or_default();
        // Those that are not in the new set are withdrawn by the drop.
        drop(std::mem::replace(held, new));
        for registration in held {
            registration.confirmed().await?;
        }
        Ok(())
    }

    async fn deregister(&mut self, service: &ServiceHandle, instance: &Instance) -> Result<(), Failure> {
        let held = self.registrations.entry(service.key().clone()).or_default();
        let own = held.iter().position(|held| held.instance().is_some_and(|held| held.key() == instance.key()));
        match own {
            Some(index) => held.swap_remove(index).withdraw().await?,
            None => {
                let key = service.key();
                self.nacos.deregister_instance((key.group(), key.name()), instance).await?;
            }
        }
        Ok(())
    }
}

/// Prints every change until the client ends.
async fn report(mut changes: Subscription, service: String) {
    while let Some(change) = changes.next().await {
        let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64() * 1000.0);
        let event = json!({
            "event": "change", "at": at, "service": service, "cause": format!("{:?}", change.cause()),
            "instances": plain(change.instances()),
        });
        // Nobody reads any more: the process is about to end.
        if print(&event).is_err() {
            return;
        }
    }
}

fn plain<'a>(instances: impl IntoIterator<Item = &'a Arc<Instance>>) -> Value {
    instances.into_iter().map(|instance| json!(PlainInstance::from(&**instance))).collect()
}
