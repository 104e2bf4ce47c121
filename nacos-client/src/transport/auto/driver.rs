//! The task that opens and closes the transports of both protocols, and watches the clock for the machine.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    machine::Input,
    relay::{Relay, Work},
};
use crate::{
    transport::{Phase, TransportStatus},
    wake,
};

/// How long a transport may take to end; what it has registered is taken back first.
const ENDING: Duration = Duration::from_secs(5);

/// Runs until `stop` is cancelled; who cancels it closes the transports.
pub(super) async fn run(relay: Arc<Relay>, stop: CancellationToken) {
    let _closed = Closed(Arc::clone(&relay));
    // Each ends within `ENDING`, or is aborted with this task.
    let mut ending = JoinSet::new();
    loop {
        // Watched before they are looked at, so that no change falls between.
        let [grpc, http] = relay.watch();
        relay.look();
        let work = relay.take_work();
        if !work.is_empty() {
            work.into_iter().for_each(|work| perform(work, &mut ending));
            continue; // there are others to watch now
        }
        let (wake, released) = relay.waits_for();
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = relay.wake.notified() => {}
            () = released_now(released) => relay.step(Input::Released),
            Some(Ok(generation)) = ending.join_next(), if !ending.is_empty() => relay.ended(generation),
            () = wake::at(wake) => relay.step(Input::Elapsed),
            () = changed(grpc) => {}
            () = changed(http) => {}
        }
    }
}

fn perform(work: Work, ending: &mut JoinSet<u64>) {
    match work {
        Work::Start(transport, ear) => {
            // It was just made, and this is a runtime: only a close in the same moment can be in the way.
            if let Err(error) = transport.start(Arc::new(ear)) {
                tracing::debug!(%error, "a transport was closed before it began");
            }
        }
        Work::End { generation, transport, abandon } => {
            let end = if abandon { transport.abandon(ENDING) } else { transport.close(ENDING) };
            ending.spawn(async move {
                end.await;
                generation
            });
        }
    }
}

/// Says, however the task ends, that the transport is closed.
struct Closed(Arc<Relay>);

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.status.send_modify(|status| status.phase = Phase::Closed);
    }
}

async fn released_now(token: Option<CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

async fn changed(status: Option<watch::Receiver<TransportStatus>>) {
    if let Some(mut status) = status
        && status.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}
