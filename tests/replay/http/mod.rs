//! The recorded HTTP calls, made again: v1 and v2 as Nacos 2.5.1 answered them, v3 as Nacos 3.0.3 did.

mod comparer;
pub(crate) mod exceptions;
mod groups;
mod player;
mod udp;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use nacos_server_min::{Behaviour, Server};
use nacos_tests::compare::{self, Difference, Options};
use nacos_tests::http;
use nacos_tests::vectors::{self, Exchange};
use tokio::runtime;
use tokio::task::JoinSet;

use crate::exceptions::Against;
use crate::tally::Tally;

/// What was found, by call.
type Verdicts = BTreeMap<String, Vec<Difference>>;

/// Makes the calls in order and compares the answers.
async fn hold(server: SocketAddr, calls: &[Exchange]) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for call in calls {
        verdicts.insert(call.call.clone(), hold_one(server, call).await);
    }
    verdicts
}

async fn hold_one(server: SocketAddr, call: &Exchange) -> Vec<Difference> {
    let ours = http::repeat(server, call).await.unwrap_or_else(|e| panic!("{}: {e}", call.call));
    let options = Options::default().shape(groups::SHAPE.contains(&call.call.as_str()));
    compare::replies(&call.reply(), &ours, server, options)
}

/// As [`hold`], with the recorded pauses. The clock stands still but for them: when nobody has anything to do, it jumps.
fn hold_in_time(behaviour: Behaviour, calls: &[Exchange]) -> Verdicts {
    let runtime = runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let server = Server::builder().behaviour(behaviour).start().await.expect("a server starts on free ports");
        let mut verdicts = Verdicts::new();
        for call in calls {
            tokio::time::sleep(Duration::from_millis(call.delay_ms)).await;
            verdicts.insert(call.call.clone(), hold_one(server.http_addr(), call).await);
        }
        server.shutdown().await;
        verdicts
    })
}

/// Holds every chain with a server of its own, all at once.
async fn replay(calls: Vec<Exchange>) -> Verdicts {
    let mut running = JoinSet::new();
    for chain in groups::chains(calls) {
        if chain.iter().any(|call| call.group() == groups::TIMED) {
            running.spawn_blocking(move || hold_in_time(Behaviour::Standard, &chain));
            continue;
        }
        running.spawn(async move {
            let server = Server::builder().start().await.expect("a server starts on free ports");
            let verdicts = hold(server.http_addr(), &chain).await;
            server.shutdown().await;
            verdicts
        });
    }
    let mut verdicts = Verdicts::new();
    while let Some(chain) = running.join_next().await {
        verdicts.extend(chain.expect("a chain comes to its end"));
    }
    verdicts
}

#[test]
fn silent_instances_go_when_those_of_nacos_2_5_1_did() {
    let calls: Vec<Exchange> = vectors::http_2_5_1().into_iter().filter(|call| call.group() == groups::TIMED).collect();
    assert!(calls.iter().map(|call| call.delay_ms).sum::<u64>() > 30_000);
    let differing: Verdicts =
        hold_in_time(Behaviour::Nacos25, &calls).into_iter().filter(|(_, found)| !found.is_empty()).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn v1_and_v2_answer_as_nacos_2_5_1_did() {
    let verdicts = replay(vectors::http_2_5_1()).await;
    Tally::check(&[Tally::with(Against::Http25, &verdicts, exceptions::TABLE)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn v3_answers_as_nacos_3_0_3_did() {
    let verdicts = replay(vectors::http_3_0_3()).await;
    Tally::check(&[Tally::with(Against::Http303, &verdicts, exceptions::TABLE)]);
}
