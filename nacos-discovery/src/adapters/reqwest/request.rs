use std::fmt;
use std::time::Duration;

use ::reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use ::reqwest::{Body, RequestBuilder, Response};
use http::Extensions;
use nacos_client::IntoServiceKey;
use serde::Serialize;

use super::ReqwestBalanced;
use crate::BalanceError;

/// A request that is being put together: a [`RequestBuilder`] of reqwest, and what the balancer is to know of it.
///
/// What this has no method for, such as a multipart form, reqwest's builder has: [`BalancedRequest::with`].
#[must_use = "a request does nothing until it is sent"]
pub struct BalancedRequest {
    web: ReqwestBalanced,
    builder: RequestBuilder,
    extensions: Extensions,
}

impl BalancedRequest {
    pub(super) fn new(web: ReqwestBalanced, builder: RequestBuilder) -> Self {
        Self { web, builder, extensions: Extensions::new() }
    }

    /// Changes the builder of reqwest itself.
    pub fn with(mut self, change: impl FnOnce(RequestBuilder) -> RequestBuilder) -> Self {
        self.builder = change(self.builder);
        self
    }

    /// Adds a header.
    pub fn header<K, V>(self, name: K, value: V) -> Self
    where
        HeaderName: TryFrom<K, Error: Into<http::Error>>,
        HeaderValue: TryFrom<V, Error: Into<http::Error>>,
    {
        self.with(|builder| builder.header(name, value))
    }

    /// Sets headers in the place of those of the same names.
    pub fn headers(self, headers: HeaderMap) -> Self {
        self.with(|builder| builder.headers(headers))
    }

    /// Adds `Authorization: Basic`.
    pub fn basic_auth(self, user: impl fmt::Display, password: Option<impl fmt::Display>) -> Self {
        self.with(|builder| builder.basic_auth(user, password))
    }

    /// Adds `Authorization: Bearer`.
    pub fn bearer_auth(self, token: impl fmt::Display) -> Self {
        self.with(|builder| builder.bearer_auth(token))
    }

    /// Adds parameters to the query.
    pub fn query(self, parameters: &(impl Serialize + ?Sized)) -> Self {
        self.with(|builder| builder.query(parameters))
    }

    /// Sets the body.
    pub fn body(self, body: impl Into<Body>) -> Self {
        self.with(|builder| builder.body(body))
    }

    /// Sets a JSON body.
    pub fn json(self, value: &(impl Serialize + ?Sized)) -> Self {
        self.with(|builder| builder.json(value))
    }

    /// Sets the body to a form.
    pub fn form(self, form: &(impl Serialize + ?Sized)) -> Self {
        self.with(|builder| builder.form(form))
    }

    /// Limits the time of an attempt, from the connection to the end of the response's body. Default: the client's.
    pub fn timeout(self, limit: Duration) -> Self {
        self.with(|builder| builder.timeout(limit))
    }

    /// Tells the layers above the client something of this request, such as [`crate::Tried`].
    pub fn extension<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }

    /// Sends it to a service whatever the URL's host is: one of another group, or one whose name fits in no URL.
    pub fn service(self, service: impl IntoServiceKey) -> Self {
        self.extension(service.service_key())
    }

    /// Sends it to an instance, and waits for the head of the response.
    ///
    /// # Errors
    /// [`BalanceError`]. What reqwest says is [`BalanceError::Inner`], with a [`::reqwest::Error`] inside.
    ///
    /// # Cancel safety
    /// Dropping the future gives the request up, which may have been sent.
    pub async fn send(self) -> Result<Response, BalanceError> {
        let Self { web, builder, extensions } = self;
        let request = builder.build().and_then(http::Request::try_from);
        let mut request = request.map_err(BalanceError::refused)?;
        request.extensions_mut().extend(extensions);
        web.execute_http(request).await
    }
}

impl fmt::Debug for BalancedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Neither the URL nor the headers: both may hold secrets.
        f.debug_struct("BalancedRequest").finish_non_exhaustive()
    }
}
