//! The recorded conversation with Nacos 2.5.1, held again with our server: as Nacos 2.5.1 behaves, and as ours does by default.
//! What the default server says is compared with Nacos 3.0.3 too, where that one's codes are those of 2.5.1.
//!
//! The recorded HTTP calls are made again beside it, by `http`.
//!
//! ```text
//!  vectors ──▶ script ──▶ director ──▶ what was seen ──▶ verdict ──▶ tally: equal / excepted / total
//!  (steps)    (pace)     (one server     (per step)     (compare)     ▲
//!                         a scenario)                                 └─ exceptions: the table
//! ```

mod comparer;
mod director;
mod exceptions;
mod http;
mod messages;
mod peer;
mod player;
mod script;
mod tally;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

use exceptions::Against;
use peer::Peer;
use script::Mode;
use tally::Tally;
use tokio::task::JoinSet;
use tokio::time::timeout;
use verdict::{Canon, Seen};

/// The longest scenario takes half of this, when the dice fall badly.
const LONGEST: Duration = Duration::from_secs(180);

/// Holds every scenario with a server of its own, all at once.
async fn replay(mode: Mode) -> Vec<Seen> {
    let mut running = JoinSet::new();
    for scenario in script::scenarios().into_iter().map(Arc::new) {
        running.spawn(async move {
            let run = async { director::run(&scenario, mode, Peer::start(mode).await).await };
            timeout(LONGEST, run).await.unwrap_or_else(|_| panic!("{} comes to no end", scenario.name))
        });
    }
    let mut seen = Vec::new();
    while let Some(scenario) = running.join_next().await {
        seen.extend(scenario.expect("a scenario runs to its end"));
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn as_nacos_2_5_1_behaves() {
    let seen = replay(Mode::Nacos25).await;
    Tally::check(&[Tally::of(Against::Nacos25, &Canon::nacos_2_5_1(), &seen)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn as_our_server_behaves_by_default() {
    let seen = replay(Mode::Default).await;
    let canon = Canon::nacos_2_5_1();
    let older = Tally::of(Against::Default, &canon, &seen);
    let newer = Tally::of(Against::Default303, &Canon::nacos_3_0_3_where_it_agrees_with(&canon), &seen);
    Tally::check(&[older, newer]);
}
