use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use ::reqwest::Body;
use ::reqwest_middleware::{Error, Next};
use bytes::Bytes;
use http::{Extensions, Request, Response};
use tower_service::Service;

use super::error::RestError;
use crate::adapters::reqwest::{to_http, to_reqwest};
use crate::{Attempt, Tried};

/// The middlewares below and the client, as one tower service for the attempts of one call.
#[derive(Clone)]
pub(super) struct Rest<'a> {
    next: Next<'a>,
    /// What the middlewares above said of the call.
    given: Arc<Extensions>,
    /// What those below left of the last attempt that ended.
    left: Arc<Mutex<Option<Extensions>>>,
}

impl<'a> Rest<'a> {
    pub(super) fn new(next: Next<'a>, given: Extensions) -> Self {
        Self { next, given: Arc::new(given), left: Arc::default() }
    }

    /// What those above find after the call. Which attempt it was and where it went is none of it: whoever above repeats the call does
    /// not go on with ours.
    pub(super) fn hand_back(&self, extensions: &mut Extensions) {
        let left = mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(mut left) = left else { return };
        keep::<Attempt>(&mut left, extensions);
        keep::<Tried>(&mut left, extensions);
        *extensions = left;
    }
}

/// Makes one kind of extension what it is in another set of them.
fn keep<T: Clone + Send + Sync + 'static>(extensions: &mut Extensions, of: &Extensions) {
    match of.get::<T>() {
        Some(value) => extensions.insert(value.clone()),
        None => extensions.remove::<T>(),
    };
}

impl<'a, B> Service<Request<B>> for Rest<'a>
where
    B: http_body::Body<Data: Into<Bytes>, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = RestError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, RestError>> + Send + 'a>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), RestError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut extensions = Extensions::clone(&self.given);
        keep::<Attempt>(&mut extensions, request.extensions());
        keep::<Tried>(&mut extensions, request.extensions());
        let request = to_reqwest(request);
        let (next, left) = (self.next.clone(), Arc::clone(&self.left));
        Box::pin(async move {
            let request = request.map_err(|error| RestError(Error::Reqwest(error)))?;
            let result = next.run(request, &mut extensions).await;
            *left.lock().unwrap_or_else(PoisonError::into_inner) = Some(extensions);
            result.map(to_http).map_err(RestError)
        })
    }
}
