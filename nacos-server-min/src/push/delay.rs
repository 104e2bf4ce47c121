use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use crate::context::Context;
use crate::registry::{Propagation, Service, ServiceRef, Subscriber};

/// Subscribers hear of a change at once.
#[derive(Debug)]
pub(crate) struct Direct;

impl Propagation for Direct {
    fn changed(&self, service: &Arc<Service>, subscribers: &[Subscriber]) {
        for subscriber in subscribers {
            if let Some(sink) = subscriber.client.sink() {
                sink.changed(service);
            }
        }
    }

    fn subscribed(&self, _service: &Arc<Service>, _subscriber: &Subscriber) {}
}

enum Targets {
    All,
    /// Client numbers.
    Some(Vec<u64>),
}

struct Pending {
    service: Arc<Service>,
    fire_at: Duration,
    targets: Targets,
}

/// With the recorded habits: changes of one service are merged for half a second, and only then its view is renewed.
pub(crate) struct DelayEngine {
    pending: Mutex<HashMap<usize, Pending>>,
    added: Notify,
    context: Weak<Context>,
}

impl DelayEngine {
    /// The context owns the engine, through the registry.
    pub(crate) fn new(context: Weak<Context>) -> Self {
        Self { pending: Mutex::default(), added: Notify::new(), context }
    }

    fn add(&self, service: &Arc<Service>, target: Option<u64>) {
        let Some(context) = self.context.upgrade() else { return };
        let Some(oddities) = &context.oddities else { return };
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = pending.entry(ServiceRef::address(service)).or_insert_with(|| {
            self.added.notify_one();
            // The first change decides when it fires, however many follow.
            let fire_at = context.clock.ticks() + oddities.merge_delay();
            Pending { service: Arc::clone(service), fire_at, targets: Targets::Some(Vec::new()) }
        });
        match (target, &mut entry.targets) {
            (None, targets) => *targets = Targets::All,
            (Some(client), Targets::Some(clients)) => clients.push(client),
            (Some(_), Targets::All) => {}
        }
    }

    fn due(&self, now: Duration) -> Vec<Pending> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let due: Vec<usize> = pending.iter().filter(|(_, p)| p.fire_at <= now).map(|(at, _)| *at).collect();
        due.iter().filter_map(|at| pending.remove(at)).collect()
    }

    fn next(&self) -> Option<Duration> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).values().map(|p| p.fire_at).min()
    }

    /// Runs until dropped.
    pub(crate) async fn run(&self, context: Arc<Context>) {
        loop {
            match self.next() {
                None => self.added.notified().await,
                Some(at) => tokio::select! {
                    () = tokio::time::sleep_until(context.clock.at(at)) => {}
                    () = self.added.notified() => {}
                },
            }
            for Pending { service, targets, .. } in self.due(context.clock.ticks()) {
                context.registry.renew(&service, context.clock.wall_ms());
                for subscriber in service.subscribers() {
                    let meant = match &targets {
                        Targets::All => true,
                        Targets::Some(clients) => clients.contains(&subscriber.client.number),
                    };
                    if let Some(sink) = subscriber.client.sink().filter(|_| meant) {
                        sink.changed(&service);
                    }
                }
            }
        }
    }
}

impl Propagation for DelayEngine {
    fn changed(&self, service: &Arc<Service>, _subscribers: &[Subscriber]) {
        self.add(service, None);
    }

    fn subscribed(&self, service: &Arc<Service>, subscriber: &Subscriber) {
        self.add(service, Some(subscriber.client.number));
    }
}
