//! One request, put to each server once until one takes it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, time::Instant};

use super::{
    pulse::Pulse,
    server::{Answer, Failure, Request, Server},
    verdict::Rejection,
    wire::Ends,
};
use crate::{
    auth::{Auth, Token},
    servers::Rotation,
    transport::{CallError, Refusal, RefusalShape},
};
use nacos_proto::code;

/// The servers of a client, in the order in which they are tried: the one that answered last first.
#[derive(Debug)]
pub(super) struct Servers {
    list: Vec<Server>,
    auth: Auth,
    ring: Mutex<Ring>,
    start: Instant,
    /// Whether anybody serves.
    pub(super) pulse: Pulse,
}

#[derive(Debug)]
struct Ring {
    first: usize,
    rotation: Rotation,
}

/// On which terms a request is put to servers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    /// For each exchange.
    pub(super) limit: Duration,
    /// Where it needs a place while it is under way; who waits for a token has none.
    pub(super) places: Option<&'a Semaphore>,
}

impl Terms<'_> {
    /// No place is needed.
    pub(super) const fn within(limit: Duration) -> Self {
        Self { limit, places: None }
    }
}

/// Who took a request.
#[derive(Debug)]
pub(super) struct Place {
    /// The server's entry.
    pub(super) server: Arc<str>,
    /// The connection.
    pub(super) ends: Option<Ends>,
}

/// Nobody took a request.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) error: CallError,
    /// Whose error it is.
    pub(super) server: Arc<str>,
}

impl Refused {
    pub(super) fn into_error(self) -> CallError {
        self.error
    }
}

impl Servers {
    /// A round over `list`, which is not empty, beginning at `first`.
    pub(super) fn new(list: Vec<Server>, auth: Auth, first: usize) -> Self {
        let rotation = Rotation::new(list.len(), first);
        let first = first % list.len().max(1);
        let start = Instant::now();
        Self { list, auth, ring: Mutex::new(Ring { first, rotation }), start, pulse: Pulse::default() }
    }

    /// The entry of the server that is asked first.
    pub(super) fn first(&self) -> Arc<str> {
        let first = self.ring().first;
        self.list.get(first).map_or_else(|| Arc::from(""), |server| Arc::clone(&server.name))
    }

    /// Puts `request` to one server after the other until `judge` takes an answer or finds it final. With a token if this client logs in, and once more with
    /// a newer one if it is denied.
    pub(super) async fn ask<T>(
        &self,
        request: &Request,
        terms: Terms<'_>,
        judge: impl Fn(&Answer) -> Result<T, Rejection>,
    ) -> Result<(T, Place), Refused> {
        let no_token = |error| Refused { error: CallError::Login(error), server: self.first() };
        let Some(token) = self.auth.pass().await.map_err(no_token)? else {
            let asked = self.ask_with(request, None, terms, &judge).await;
            return asked.map_err(|refused| Refused { error: refused.error.without_login(), ..refused });
        };
        match self.ask_with(request, Some(&token), terms, &judge).await {
            Err(denied) if denied.error.is_denial() => {
                let Some(newer) = self.auth.renewed(&token).await.map_err(no_token)? else { return Err(denied) };
                let result = self.ask_with(request, Some(&newer), terms, &judge).await;
                self.auth.made_again(&newer, result.as_ref().is_err_and(|refused| refused.error.is_denial()));
                result
            }
            result => result,
        }
    }

    /// The same once and without a token, for what servers let everybody ask.
    pub(super) async fn ask_openly<T>(
        &self,
        request: &Request,
        limit: Duration,
        judge: impl Fn(&Answer) -> Result<T, Rejection>,
    ) -> Result<(T, Place), Refused> {
        self.ask_with(request, None, Terms::within(limit), &judge).await
    }

    async fn ask_with<T>(
        &self,
        request: &Request,
        token: Option<&Token>,
        terms: Terms<'_>,
        judge: &impl Fn(&Answer) -> Result<T, Rejection>,
    ) -> Result<(T, Place), Refused> {
        let _place = match terms.places {
            // Nobody closes them.
            Some(places) => places.acquire().await.ok(),
            None => None,
        };
        let order = {
            let ring = self.ring();
            ring.rotation.order(ring.first, self.start.elapsed())
        };
        let mut worst: Option<(Weight, Refused)> = None;
        for index in order {
            let Some(server) = self.list.get(index) else { continue };
            let exchange = server.exchange(request, token, terms.limit).await;
            let (error, weight) = match exchange {
                Ok(answer) => match judge(&answer) {
                    Ok(value) => {
                        self.works(index);
                        return Ok((value, Place { server: Arc::clone(&server.name), ends: answer.ends }));
                    }
                    Err(Rejection::Final(error)) => {
                        self.works(index);
                        return Err(Refused { error, server: Arc::clone(&server.name) });
                    }
                    Err(Rejection::Fault(error)) => {
                        self.pulse.heard();
                        (error, Weight::Fault)
                    }
                    Err(Rejection::Away(error)) => (error, Weight::Foreign),
                },
                Err(Failure::Link(link)) => (CallError::Unreachable(link), Weight::Link),
                Err(Failure::Unreadable(text)) => (CallError::Decode(text), Weight::Foreign),
                Err(Failure::Unsendable) => {
                    return Err(Refused { error: unsendable(), server: Arc::clone(&server.name) });
                }
            };
            // A fault may be one of the request: the server stays where it is in the order.
            if weight != Weight::Fault {
                self.ring().rotation.failed(index, self.start.elapsed());
            }
            if worst.as_ref().is_none_or(|(worst, _)| *worst <= weight) {
                worst = Some((weight, Refused { error, server: Arc::clone(&server.name) }));
            }
        }
        let (weight, refused) = worst.expect("a list holds at least one server");
        if weight != Weight::Fault {
            self.pulse.failed();
        }
        Err(refused)
    }

    fn works(&self, index: usize) {
        self.pulse.heard();
        let mut ring = self.ring();
        ring.rotation.worked(index);
        ring.first = index;
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        // Every critical section leaves a whole value, even if it panics.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How much an error says about the request, when several servers failed: the one that says most is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Foreign,
    Link,
    Fault,
}

fn unsendable() -> CallError {
    let message = "the request is too long for HTTP".to_owned();
    CallError::Refused(Refusal { code: code::INVALID_PARAM, message, shape: RefusalShape::Status })
}
