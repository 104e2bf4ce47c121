//! What operators and plain HTTP clients do.

use std::net::SocketAddr;

use nacos_tests::http::{self, Call};
use serde_json::Value;

use super::wait::in_time;
use super::world::Registry;

/// Calls the HTTP port. What is no JSON is a text.
pub(crate) async fn ask(http: SocketAddr, method: &str, target: &str) -> (u16, Value) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let call = Call { method, path, query, form: None };
    let reply = in_time(target, http::call(http, call)).await.expect("the server answers");
    (reply.status, serde_json::from_str(&reply.body).unwrap_or(Value::String(reply.body)))
}

impl Registry {
    /// Calls the first generation of the naming API, which must succeed.
    pub(crate) async fn v1(&self, method: &str, target: &str) -> Value {
        let (status, body) = self.http(method, &format!("/nacos/v1/ns{target}")).await;
        assert_eq!(status, 200, "{method} {target}: {body}");
        body
    }

    /// Calls our server's HTTP port.
    pub(crate) async fn http(&self, method: &str, target: &str) -> (u16, Value) {
        ask(self.server().http_addr(), method, target).await
    }
}
