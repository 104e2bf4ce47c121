use std::sync::{Arc, Weak};

use futures_util::StreamExt;
use tokio::task::JoinHandle;

use super::{Endpoints, Lists};

/// The task that applies the lists of one service. It ends when the lists end, and when this is dropped.
#[derive(Debug)]
pub(super) struct Updater {
    task: JoinHandle<()>,
}

impl Updater {
    pub(super) fn spawn(endpoints: &Arc<Endpoints>, lists: Lists) -> Self {
        Self { task: tokio::spawn(apply_all(Arc::downgrade(endpoints), lists)) }
    }
}

impl Drop for Updater {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn apply_all(endpoints: Weak<Endpoints>, mut lists: Lists) {
    while let Some(list) = lists.next().await {
        let Some(endpoints) = endpoints.upgrade() else { return };
        endpoints.apply(&list);
    }
}
