//! The naming half as a whole, against a scripted registry on paused time.

mod calls;
mod life;
mod listening;
mod moving;
mod polling;
mod registering;
mod simulation;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::mock::Mock;
use super::{NamingService, RegistrationStatus};
use crate::model::{Instance, ServiceKey};
use crate::transport::{Call, Dialect};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// A registry that answers within 2 ms, and a client that has begun to connect.
fn mock() -> Arc<Mock> {
    Mock::new(7, 2 * MS, Dialect::Replacing)
}

/// Makes the client start its transport.
async fn start(nacos: &NamingService) {
    // It cannot be connected yet: starting is what this is for.
    assert!(nacos.connected(Duration::ZERO).await.is_err());
}

/// A connected client.
async fn connected(mock: &Mock) -> NamingService {
    let nacos = mock.client();
    start(&nacos).await;
    mock.connect();
    nacos
}

fn key(name: &str) -> ServiceKey {
    ServiceKey::new("DEFAULT_GROUP", name)
}

fn instance(port: u16) -> Instance {
    Instance::new(("10.0.0.1", port))
}

/// Waits until `test` holds, at most 60 s of paused time.
async fn until(what: &str, mut test: impl FnMut() -> bool) -> Duration {
    let begin = Instant::now();
    let poll = async {
        while !test() {
            tokio::time::sleep(MS).await;
        }
    };
    timeout(60 * SECOND, poll).await.unwrap_or_else(|_| panic!("never: {what}"));
    begin.elapsed()
}

/// How many calls of the log are of a kind.
fn count(log: &[(u64, Call)], kind: fn(&Call) -> bool) -> usize {
    log.iter().filter(|(_, call)| kind(call)).count()
}

fn is_register(call: &Call) -> bool {
    matches!(call, Call::Register { .. } | Call::RegisterBatch { .. })
}

fn is_confirmed(status: &RegistrationStatus) -> bool {
    *status == RegistrationStatus::Confirmed
}
