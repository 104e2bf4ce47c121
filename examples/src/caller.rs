use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use nacos_client::Instance;

/// Why a call failed.
pub type CallError = Box<dyn std::error::Error + Send + Sync>;

/// An HTTP client that calls instances.
#[derive(Debug, Clone)]
pub struct Caller(Client<HttpConnector, Empty<Bytes>>);

impl Caller {
    /// A client with a pool of connections.
    pub fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).build_http())
    }

    /// `GET /` of one instance.
    ///
    /// # Errors
    ///
    /// Whatever the connection or the instance made of it; an answer other than 200 is an error too.
    pub async fn call(&self, instance: &Instance) -> Result<String, CallError> {
        let response = self.0.get(format!("http://{}/", instance.addr()).parse()?).await?;
        if response.status() != http::StatusCode::OK {
            return Err(format!("answered {}", response.status()).into());
        }
        let body = response.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

impl Default for Caller {
    fn default() -> Self {
        Self::new()
    }
}
