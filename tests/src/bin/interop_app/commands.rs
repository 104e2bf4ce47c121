use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use nacos_discovery::adapters::reqwest::ReqwestBalanced;
use nacos_discovery::route::RouteDocument;
use nacos_discovery::serve::Serving;
use nacos_discovery::{BalanceLayer, BalanceSettings, Directory, Discovery, ServiceInstance, ServiceSettings};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Failure;
use crate::load::{Calls, Load};

/// How long one call may take.
const CALL_LIMIT: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
pub(crate) struct Command {
    pub(crate) id: u64,
    #[serde(flatten)]
    what: What,
}

#[derive(Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
enum What {
    /// Makes calls and says who answered.
    Call(Calls),
    /// Makes calls under this name until `end`.
    Load {
        load: String,
        #[serde(flatten)]
        calls: Calls,
    },
    SoFar {
        load: String,
    },
    End {
        load: String,
    },
    /// Who provides a service.
    Instances {
        service: String,
    },
    /// Changes what is registered.
    Update {
        weight: f64,
        metadata: BTreeMap<String, String>,
    },
    /// Routes calls by these rules, in the place of all before.
    Routes {
        document: RouteDocument,
    },
}

/// What the commands act on.
pub(crate) struct Application<'a> {
    discovery: Discovery,
    serving: &'a Option<Serving>,
    own_cluster: ReqwestBalanced,
    any_cluster: ReqwestBalanced,
    /// That of `any_cluster`.
    anywhere: Directory,
    loads: HashMap<String, Load>,
}

impl<'a> Application<'a> {
    pub(crate) fn new(discovery: Discovery, serving: &'a Option<Serving>) -> Result<Self, Failure> {
        let client = reqwest::Client::builder().timeout(CALL_LIMIT).build()?;
        let own_cluster = discovery.reqwest(client.clone());
        let anywhere = BalanceSettings::new(ServiceSettings::default().without_own_cluster());
        let anywhere = discovery.directory_with(anywhere);
        let any_cluster = ReqwestBalanced::new(client, &BalanceLayer::new(anywhere.clone()));
        Ok(Self { discovery, serving, own_cluster, any_cluster, anywhere, loads: HashMap::new() })
    }

    pub(crate) async fn execute(&mut self, command: Command) -> Result<Value, Failure> {
        match command.what {
            What::Call(calls) => Ok(json!(self.start(&calls)?.join().await)),
            What::Load { load, calls } => {
                self.loads.insert(load, self.start(&calls)?);
                Ok(Value::Null)
            }
            What::SoFar { load } => Ok(json!(self.loads.get(&load).ok_or("no such load")?.so_far())),
            What::End { load } => Ok(json!(self.loads.remove(&load).ok_or("no such load")?.end().await)),
            What::Instances { service } => {
                let list = self.discovery.client().instances(&self.discovery.service_key(&service)).await?;
                Ok(list.iter().map(plain).collect())
            }
            What::Update { weight, metadata } => {
                let registered = self.serving.as_ref().ok_or("not registered")?.registered();
                let change = |instance: &mut nacos_client::Instance| {
                    instance.weight = weight;
                    instance.metadata.extend(metadata.clone());
                };
                registered.update(|registration| change(&mut registration.instance)).await?;
                Ok(Value::Null)
            }
            What::Routes { document } => {
                self.discovery.directory().set_routes(document.clone())?;
                self.anywhere.set_routes(document)?;
                Ok(Value::Null)
            }
        }
    }

    fn start(&self, calls: &Calls) -> Result<Load, Failure> {
        Load::start(if calls.any_cluster { &self.any_cluster } else { &self.own_cluster }, calls)
    }
}

/// An instance in the form all drivers share.
fn plain(instance: &ServiceInstance) -> Value {
    json!({
        "ip": instance.host(), "port": instance.port(), "weight": instance.weight(), "healthy": instance.healthy(),
        "enabled": instance.enabled(), "ephemeral": instance.ephemeral(), "cluster": instance.cluster(),
        "metadata": instance.registered_metadata(),
    })
}
