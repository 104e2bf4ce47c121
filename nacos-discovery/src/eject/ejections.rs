use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::{EjectionEvent, EjectionKind};
use crate::ServiceInstance;

/// Events that wait for slow readers. A service of a hundred instances that all fail causes half of it at once.
const WAITING: usize = 128;

/// Where ejections are told. Nobody has to listen; whoever does cannot hold up anything here.
#[derive(Debug, Clone)]
pub(crate) struct EjectionSender {
    events: broadcast::Sender<EjectionEvent>,
}

impl EjectionSender {
    pub(crate) fn new() -> Self {
        Self { events: broadcast::Sender::new(WAITING) }
    }

    pub(super) fn send(&self, instance: &ServiceInstance, kind: EjectionKind, at: Instant) {
        if self.events.receiver_count() > 0 {
            // Fails when the last reader has gone meanwhile.
            let _ = self.events.send(EjectionEvent { instance: instance.clone(), kind, at, missed: 0 });
        }
    }

    pub(crate) fn subscribe(&self) -> Ejections {
        Ejections::new(self.events.subscribe())
    }
}

/// The ejections and restorations of all services of a [`crate::Directory`], from the call that made this stream on. It ends
/// with the directory.
///
/// A reader that is slow misses the oldest events, and learns how many from [`EjectionEvent::missed`] of the next one.
pub struct Ejections {
    events: BoxStream<'static, EjectionEvent>,
}

impl Ejections {
    fn new(receiver: broadcast::Receiver<EjectionEvent>) -> Self {
        let events = stream::unfold(receiver, |mut receiver| async move {
            let mut missed = 0;
            loop {
                match receiver.recv().await {
                    Ok(event) => return Some((EjectionEvent { missed, ..event }, receiver)),
                    Err(RecvError::Lagged(more)) => missed += more,
                    Err(RecvError::Closed) => return None,
                }
            }
        });
        Self { events: events.boxed() }
    }
}

impl Stream for Ejections {
    type Item = EjectionEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<EjectionEvent>> {
        self.events.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for Ejections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ejections").finish_non_exhaustive()
    }
}
