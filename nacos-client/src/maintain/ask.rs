//! Putting a question to one server after the other.

use http::Method;
use serde_json::Value;

use super::{
    client::Maintain,
    error::MaintainError,
    judge::{Rejected, judge},
    model::Generation,
};
use crate::{
    auth::Token,
    exchange::{Answer, Request},
    model::ServiceKey,
    transport::http::Query,
};

/// Most entries asked for at once; 3.x allows no more.
const PAGE: u64 = 500;
/// A server that never ends its pages is not followed for ever.
const MOST_PAGES: u64 = 2_000;

const STATE: &str = "/v3/admin/core/state";

impl Maintain {
    /// Asks as a user if there is one, and once more with a newer token if that is denied.
    pub(super) async fn ask(&self, request: &Request) -> Result<Answer, MaintainError> {
        // A runtime is there, as this is polled; after the end of the one it was started on, the login says so.
        if self.auth.start().is_err() {
            return self.ask_openly(request).await;
        }
        let Some(token) = self.auth.pass().await? else { return self.ask_openly(request).await };
        let answer = self.ask_with(request, Some(&token)).await?;
        if !is_denied(&answer) {
            return Ok(answer);
        }
        let Some(newer) = self.auth.renewed(&token).await? else { return Ok(answer) };
        let answer = self.ask_with(request, Some(&newer)).await?;
        self.auth.made_again(&newer, is_denied(&answer));
        Ok(answer)
    }

    /// Asks what servers tell everybody.
    pub(super) async fn ask_openly(&self, request: &Request) -> Result<Answer, MaintainError> {
        self.ask_with(request, None).await
    }

    /// Asks until a server answers that is not about to stop or start.
    async fn ask_with(&self, request: &Request, token: Option<&Token>) -> Result<Answer, MaintainError> {
        let mut failures = Vec::new();
        for index in 0..self.servers.len() {
            let server = self.servers.get(index);
            match self.http.exchange(server, request, token).await {
                Ok(answer) if matches!(answer.status.as_u16(), 502..=504) && index + 1 < self.servers.len() => {
                    failures.push(format!("{server}: status {}", answer.status));
                }
                Ok(answer) => return Ok(answer),
                Err(error) => failures.push(format!("{server}: {error}")),
            }
        }
        Err(MaintainError::Unreachable { reason: failures.join("; ") })
    }

    /// Makes one call about `what`.
    pub(super) async fn call(&self, method: Method, query: Query, what: &str) -> Result<Value, MaintainError> {
        let request = Request::plain(method, query.finish());
        let rejected = match self.try_call(&request).await? {
            Ok(value) => return Ok(value),
            Err(rejected) => rejected,
        };
        Err(self.error(rejected, &request, what))
    }

    /// The error of a call about `what` that was rejected.
    pub(super) fn error(&self, rejected: Rejected, request: &Request, what: &str) -> MaintainError {
        match rejected.error(&request.name(), what) {
            MaintainError::Denied(refusal) if self.auth.is_off() => MaintainError::LoginNeeded(refusal),
            error => error,
        }
    }

    /// Makes one call; the inner error is what a server said.
    pub(super) async fn try_call(&self, request: &Request) -> Result<Result<Value, Rejected>, MaintainError> {
        Ok(judge(&self.ask(request).await?))
    }

    /// Which interface the servers offer; asked once.
    ///
    /// # Errors
    ///
    /// When no server answers, or what answers is no Nacos server.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the next call asks again.
    pub async fn generation(&self) -> Result<Generation, MaintainError> {
        self.generation
            .get_or_try_init(|| async {
                let request = Request::plain(Method::GET, STATE);
                match judge(&self.ask_openly(&request).await?) {
                    Ok(Value::Object(_)) => Ok(Generation::V3),
                    // Closed, but there.
                    Err(Rejected::Denied(_)) => Ok(Generation::V3),
                    // A web server that has a page for every path.
                    Ok(_) => Err(MaintainError::Protocol(format!("no state to {}", request.name()))),
                    Err(Rejected::NoSuchCall | Rejected::Missing | Rejected::Refused(_)) => Ok(Generation::V1),
                    Err(other) => Err(self.error(other, &request, "server state")),
                }
            })
            .await
            .copied()
    }

    /// A query about the namespace.
    pub(super) fn query(&self, path: &str) -> Query {
        Query::of(path).with("namespaceId", self.namespace.as_str())
    }

    /// A query about a service: one full name in v1, two parameters in v3.
    pub(super) fn about(&self, generation: Generation, path: &str, key: &ServiceKey) -> Query {
        let name = match generation {
            Generation::V1 => key.as_str(),
            Generation::V3 => key.name(),
        };
        self.query(path).with("groupName", key.group()).with("serviceName", name)
    }

    /// All entries of a list that comes in pages.
    pub(super) async fn pages(
        &self,
        query: impl Fn() -> Query,
        list: &[&str],
        what: &str,
    ) -> Result<Vec<Value>, MaintainError> {
        let mut all: Vec<Value> = Vec::new();
        for page in 1..=MOST_PAGES {
            let query = query().with_plain("pageNo", page).with_plain("pageSize", PAGE);
            let answer = self.call(Method::GET, query, what).await?;
            let entries = super::read::list(&answer, list).unwrap_or_default();
            all.extend_from_slice(entries);
            let total = super::read::count(&answer, "count").max(super::read::count(&answer, "totalCount"));
            // A server that answers with all of them at once has no count.
            if entries.is_empty() || all.len() as u64 >= total {
                break;
            }
        }
        Ok(all)
    }
}

fn is_denied(answer: &Answer) -> bool {
    matches!(judge(answer), Err(Rejected::Denied(_)))
}
