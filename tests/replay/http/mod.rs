//! The recorded HTTP calls, made again: v1 and v2 as Nacos 2.5.1 answered them, v3 as Nacos 3.0.3 did.

mod comparer;
pub(crate) mod exceptions;
mod groups;
mod player;
mod udp;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use nacos_server_min::Server;
use nacos_tests::compare::{self, Difference, Options};
use nacos_tests::http;
use nacos_tests::vectors::{self, Exchange};
use tokio::task::JoinSet;

use crate::exceptions::Against;
use crate::tally::Tally;

/// What was found, by call.
type Verdicts = BTreeMap<String, Vec<Difference>>;

/// Makes the calls in order and compares the answers.
async fn hold(server: SocketAddr, calls: &[Exchange]) -> Verdicts {
    let mut verdicts = Verdicts::new();
    for call in calls {
        let ours = http::repeat(server, call).await.unwrap_or_else(|e| panic!("{}: {e}", call.call));
        let options = Options::default().shape(groups::SHAPE.contains(&call.call.as_str()));
        verdicts.insert(call.call.clone(), compare::replies(&call.reply(), &ours, server, options));
    }
    verdicts
}

/// Holds every chain with a server of its own, all at once.
async fn replay(calls: Vec<Exchange>) -> Verdicts {
    let mut running = JoinSet::new();
    for chain in groups::chains(calls) {
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
