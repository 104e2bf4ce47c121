//! One login: each server once, by the path that it has.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{Method, header};
use nacos_proto::http::{LoginAnswer, read};

use super::{Credentials, LoginError, Scheme, Token};
use crate::{
    config::ClientConfig,
    exchange::{Answer, Http, NoAnswer, Request},
    servers::ServerList,
    transport::http::{Query, said_in_full, shortened},
};

/// Newest first: 3.x has all of them, and may drop the older ones; who has not the first one says so.
const PATHS: [&str; 3] = ["/v3/auth/user/login", "/v1/auth/users/login", "/v1/auth/login"];
const AGENT: &str = concat!("Nacos-Rust-Client:v", env!("CARGO_PKG_VERSION"));
/// Longest life that is read, so that no sum of times overflows.
const LONGEST_LIFE_S: i64 = 1 << 40;

/// A token as a server gave it.
pub(super) struct Grant {
    pub(super) token: String,
    /// What is left of its life, if the server says so.
    pub(super) life: Option<Duration>,
    pub(super) path: &'static str,
    pub(super) scheme: Scheme,
}

/// Logs in at one of the servers.
#[derive(Debug)]
pub(super) struct Logins {
    http: Http,
    servers: ServerList,
    /// The path that worked last, for each server.
    paths: Vec<AtomicUsize>,
    /// The server that answered last.
    first: AtomicUsize,
}

/// What one server said.
enum Said {
    Granted(Grant),
    /// It has no such path.
    NoPath,
    Refused {
        status: u16,
        /// At its whole length.
        message: String,
    },
    /// This is no answer to a login.
    Foreign(String),
}

impl Logins {
    pub(super) fn new(config: &ClientConfig) -> Self {
        let servers = config.servers.clone();
        let paths = (0..servers.len()).map(|_| AtomicUsize::new(0)).collect();
        let first = AtomicUsize::new(fastrand::usize(..servers.len()));
        // After one silent server there is time for another within the deadline of a call.
        let limit = config.timeouts.http.min(config.timeouts.request * 2 / 3);
        Self { http: Http::new(config, AGENT).within(limit), servers, paths, first }
    }

    /// The same by other means than TCP.
    #[cfg(test)]
    pub(super) fn over(self, connector: std::sync::Arc<dyn crate::servers::Connector>) -> Self {
        Self { http: self.http.over(connector), ..self }
    }

    /// Asks one server after the other, beginning with the one that answered last. A refusal of one is not taken for that of all.
    pub(super) async fn log_in(&self, credentials: &Credentials) -> Result<Grant, LoginError> {
        let first = self.first.load(Ordering::Relaxed);
        let mut failures = Vec::new();
        let mut refused = None;
        for step in 0..self.servers.len() {
            let index = (first + step) % self.servers.len();
            match self.ask(index, credentials).await {
                Said::Granted(grant) => {
                    self.first.store(index, Ordering::Relaxed);
                    return Ok(grant);
                }
                Said::Refused { status, message } => {
                    // Hidden first: half a password is no password to be found.
                    let message = shortened(&credentials.hidden_in(&message));
                    refused.get_or_insert_with(|| LoginError::Refused {
                        username: credentials.username().to_owned(),
                        status,
                        message,
                    });
                }
                Said::NoPath => {
                    let text = "it has no path to log in by; check the context path";
                    failures.push(format!("{}: {text}", self.servers.get(index)));
                }
                Said::Foreign(text) => {
                    failures.push(credentials.hidden_in(&format!("{}: {text}", self.servers.get(index))));
                }
            }
        }
        Err(refused.unwrap_or_else(|| LoginError::Unreachable { reason: failures.join("; ") }))
    }

    async fn ask(&self, index: usize, credentials: &Credentials) -> Said {
        let Some(known) = self.paths.get(index) else { return Said::NoPath };
        let begin = known.load(Ordering::Relaxed);
        for step in 0..PATHS.len() {
            let at = (begin + step) % PATHS.len();
            let Some(path) = PATHS.get(at) else { continue };
            let request = Request { method: Method::POST, target: (*path).to_owned(), form: form(credentials) };
            let said = match self.http.exchange(self.servers.get(index), &request, None).await {
                Ok(answer) => judge(&answer, path),
                // So 1.4 refuses, where one of its parts overrides another.
                Err(error @ NoAnswer::NoStatus) => Said::Refused { status: 0, message: error.to_string() },
                Err(error) => Said::Foreign(error.to_string()),
            };
            match said {
                Said::NoPath => {}
                said => {
                    if !matches!(said, Said::Foreign(_)) {
                        known.store(at, Ordering::Relaxed);
                    }
                    return said;
                }
            }
        }
        Said::NoPath
    }
}

/// Both in the body: servers of all generations merge it with the query, and a query is written into logs.
fn form(credentials: &Credentials) -> Bytes {
    let form = Query::form().with("username", credentials.username()).with("password", credentials.password());
    Bytes::from(form.finish())
}

fn judge(answer: &Answer, path: &'static str) -> Said {
    let status = answer.status.as_u16();
    match status {
        200..=299 => match grant(answer, path) {
            Some(grant) => Said::Granted(grant),
            // Not shown: what cannot be read may hold a token.
            None => Said::Foreign(format!("status {status} without a token, which no Nacos server answers")),
        },
        404 | 405 | 410 | 501 => Said::NoPath,
        300..=399 | 408 | 429 | 502..=504 => Said::Foreign(format!("status {status} to a login")),
        // Also 500: some servers say so to a wrong password or an unknown user.
        _ => Said::Refused { status, message: said_in_full(&answer.body) },
    }
}

fn grant(answer: &Answer, path: &'static str) -> Option<Grant> {
    let scheme = if answer.headers.contains_key(header::AUTHORIZATION) { Scheme::Bearer } else { Scheme::Bare };
    let answer: LoginAnswer = read(&answer.body, "login").ok()?;
    let token = answer.access_token.filter(|token| !token.trim().is_empty())?;
    Token::new(0, &token, scheme)?;
    let life = answer.token_ttl.map(|seconds| seconds.min(LONGEST_LIFE_S));
    let life = life.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
    Some(Grant { token, life, path, scheme })
}
