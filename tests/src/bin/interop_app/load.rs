use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nacos_discovery::ServedBy;
use nacos_discovery::adapters::reqwest::ReqwestBalanced;
use nacos_tests::line_protocol::with_causes;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::Failure;

/// What is to be called, by whom.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Calls {
    service: String,
    path: String,
    #[serde(default = "get")]
    method: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// How many call at the same time.
    threads: u32,
    /// How many calls; without it until the end is asked for.
    calls: Option<i64>,
    /// Whether no cluster is preferred, although the settings name one.
    #[serde(default)]
    pub(crate) any_cluster: bool,
}

fn get() -> String {
    "GET".to_owned()
}

/// Who answered how often, and what went wrong how often.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Tally {
    answers: BTreeMap<String, u64>,
    failures: BTreeMap<String, u64>,
}

/// Callers at work.
pub(crate) struct Load {
    callers: JoinSet<()>,
    shared: Arc<Shared>,
}

struct Shared {
    left: AtomicI64,
    tally: Mutex<Tally>,
}

impl Load {
    pub(crate) fn start(web: &ReqwestBalanced, calls: &Calls) -> Result<Self, Failure> {
        let method: Method = calls.method.parse()?;
        let left = AtomicI64::new(calls.calls.unwrap_or(i64::MAX));
        let shared = Arc::new(Shared { left, tally: Mutex::default() });
        let mut callers = JoinSet::new();
        for _ in 0..calls.threads {
            callers.spawn(call(web.clone(), method.clone(), calls.clone(), Arc::clone(&shared)));
        }
        Ok(Self { callers, shared })
    }

    pub(crate) fn so_far(&self) -> Tally {
        self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until all calls are made.
    pub(crate) async fn join(self) -> Tally {
        let Self { callers, shared } = self;
        callers.join_all().await;
        shared.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the calls under way are through.
    pub(crate) async fn end(self) -> Tally {
        self.shared.left.store(0, Ordering::SeqCst);
        self.join().await
    }
}

async fn call(web: ReqwestBalanced, method: Method, calls: Calls, shared: Arc<Shared>) {
    while shared.left.fetch_sub(1, Ordering::SeqCst) > 0 {
        let outcome = once(&web, &method, &calls).await;
        // A call that fails at once, for want of an instance, waits for nothing: the end of the process could not come between.
        tokio::task::yield_now().await;
        let mut tally = shared.tally.lock().unwrap_or_else(PoisonError::into_inner);
        let count = match outcome {
            Ok(name) => tally.answers.entry(name),
            Err(failure) => tally.failures.entry(with_causes(&*failure)),
        };
        *count.or_default() += 1;
    }
}

/// Who answered; it must be the instance that the balancer chose, by the name in the metadata that the instance published.
async fn once(web: &ReqwestBalanced, method: &Method, calls: &Calls) -> Result<String, Failure> {
    let mut request = web.request(method.clone(), format!("lb://{}{}", calls.service, calls.path));
    for (name, value) in &calls.headers {
        request = request.header(name, value);
    }
    let response = request.send().await?.error_for_status()?;
    let chosen = response.extensions().get::<ServedBy>().ok_or("the response does not say who served it")?;
    let chosen = chosen.instance().registered_metadata().get("name").cloned().unwrap_or_default();
    let name = response.text().await?;
    if name == chosen { Ok(name) } else { Err(format!("{chosen:?} was chosen, {name:?} answered").into()) }
}
