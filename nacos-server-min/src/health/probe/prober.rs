use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::http::Question;
use super::pace::{Answer, PaceRules};
use super::plan::{Key, Plan};
use super::target;
use crate::context::Context;
use crate::registry::{Client, HealthChecker, Instance, Service, ServiceRef};

/// Instances that are asked at a time; each takes a socket.
const AT_ONCE: usize = 256;
/// An instance that has not answered by then does not answer.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often it is looked whether there are others than before.
const LOOK: Duration = Duration::from_millis(100);

/// An instance to ask.
struct Target {
    client: Arc<Client>,
    service: Arc<Service>,
}

/// What came of a question.
struct Asked {
    key: Key,
    /// The instance as it was when it was asked.
    instance: Arc<Instance>,
    answer: Answer,
    rules: PaceRules,
}

struct Prober {
    context: Arc<Context>,
    plan: Plan,
    targets: HashMap<Key, Target>,
    /// Those that are asked just now; they end with the prober.
    asking: JoinSet<Asked>,
    /// The state of the registry that `targets` was made from.
    seen: Option<u64>,
    mysql_noted: bool,
}

/// Asks persistent instances whether they are there, until dropped.
pub(crate) async fn probe_instances(context: Arc<Context>) {
    let (plan, targets, asking) = (Plan::default(), HashMap::new(), JoinSet::new());
    let mut prober = Prober { context, plan, targets, asking, seen: None, mysql_noted: false };
    loop {
        let now = prober.context.clock.ticks();
        if prober.context.switches().health_check_enabled {
            prober.look(now);
            while prober.asking.len() < AT_ONCE {
                let Some(key) = prober.plan.due(now) else { break };
                prober.ask(key);
            }
        }
        let full = prober.asking.len() >= AT_ONCE;
        let next =
            prober.plan.next().filter(|next| !full && *next > now).map_or(now + LOOK, |next| next.min(now + LOOK));
        tokio::select! {
            Some(asked) = prober.asking.join_next() => match asked {
                Ok(asked) => prober.judge(&asked),
                // Then nobody knows what is wrong, and the supervisor has to know.
                Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Err(_) => {}
            },
            () = tokio::time::sleep_until(prober.context.clock.at(next)) => {}
        }
    }
}

impl Prober {
    /// Learns which instances there are, if that has changed.
    fn look(&mut self, now: Duration) {
        let registry = &self.context.registry;
        let present = registry.persistent_changes();
        if self.seen.replace(present) == Some(present) {
            return;
        }
        let target = |(client, service): (Arc<Client>, Arc<Service>)| {
            ((client.number, ServiceRef::address(&service)), Target { client, service })
        };
        self.targets = registry.persistent().into_iter().map(target).collect();
        // As real servers do, so that instances which came together are not asked together for ever.
        let longest = self.context.switches().tcp_pace().max;
        let first = || Duration::from_secs(2) + longest.mul_f64(fastrand::f64() * fastrand::f64());
        self.plan.sync(&self.targets, now, first);
    }

    fn ask(&mut self, key: Key) {
        let Some(question) = self.question(key) else {
            let rules = self.context.switches().tcp_pace();
            self.plan.answered(key, None, &rules);
            return;
        };
        self.context.counters.health_probes.add();
        // Ends within `PATIENCE`.
        self.asking.spawn(question);
    }

    /// `None` if this instance is not to be asked.
    fn question(&mut self, key: Key) -> Option<impl Future<Output = Asked> + Send + use<>> {
        let Target { client, service } = self.targets.get(&key)?;
        let (instance, cluster) = self.context.registry.described_instance(client, service)?;
        let (by_http, rules) = match &cluster.checker {
            HealthChecker::None => return None,
            HealthChecker::Tcp => (None, self.context.switches().tcp_pace()),
            HealthChecker::Mysql { .. } => {
                if !std::mem::replace(&mut self.mysql_noted, true) {
                    tracing::warn!(
                        "health checks by MySQL are not implemented: whether its port answers is all that is asked"
                    );
                }
                (None, self.context.switches().tcp_pace())
            }
            HealthChecker::Http { path, headers, expected } => {
                let question = Question { path: path.clone(), headers: headers.clone(), expected: *expected };
                (Some(question), self.context.switches().http_pace())
            }
        };
        let Some(target) = target::target(&instance, &cluster, self.context.settings.probes) else {
            self.context.counters.health_probes_denied.add();
            return None;
        };
        Some(async move { Asked { key, instance, answer: ask(target, by_http).await, rules } })
    }

    fn judge(&mut self, Asked { key, instance, answer, rules }: &Asked) {
        let Some(healthy) = self.plan.answered(*key, Some(*answer), rules) else { return };
        let Some(Target { client, service }) = self.targets.get(key) else { return };
        if instance.healthy != healthy && self.context.registry.judge(client, service, instance, healthy) {
            self.context.counters.health_changes.add();
            self.plan.anew(*key);
            let (ip, port) = (&instance.host, instance.port);
            tracing::debug!(service = service.name, %ip, port, healthy, "a persistent instance changed its health");
        }
    }
}

async fn ask(target: SocketAddr, by_http: Option<Question>) -> Answer {
    let began = Instant::now();
    let asked = timeout(PATIENCE, async {
        let stream = match TcpStream::connect(target).await {
            Ok(stream) => stream,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Answer::Refused,
            Err(_) => return Answer::Bad,
        };
        match by_http {
            None => Answer::Good { took: began.elapsed() },
            Some(question) => question.ask(stream, target, began).await,
        }
    });
    asked.await.unwrap_or(Answer::Slow)
}
