//! Whether a server can be reached, and what it is.

use std::time::SystemTime;

use nacos_client::{
    ConnectionStatus, LoginStatus, Namespace, Protocol,
    maintain::{MaintainError, ServerState, ServiceFilter},
};

use super::check::Check;
use crate::{
    failure::{Failure, described},
    registry::{Registry, leave},
};

/// The clock in an answer has whole seconds, and the answer was under way.
const CLOCK_TOLERANCE: u64 = 2;

const NO_LOGIN: &str = "the server lets only known users in: set --username, and NACOS_PASSWORD or --password-file";
const NO_RIGHT: &str = "give this user a role with the right to read and write there, or take another user";
const BAD_LOGIN: &str = "check --username and the password; logins go to the HTTP port, below the context path";

/// The HTTP port: whether it answers, and who.
pub(super) async fn http(registry: &Registry) -> Result<(Option<ServerState>, Check), Failure> {
    let server = &registry.common.server;
    let state = match registry.operator()?.state().await {
        Ok(state) => state,
        Err(error) => {
            let remedy = match error {
                MaintainError::Unreachable { .. } => {
                    "is the server running, is this its HTTP port (8848 unless it is set), does a firewall or container keep it away?"
                }
                MaintainError::Protocol(_) => {
                    "something else listens there: check port and context path (/nacos unless it is set; --server host:port/path)"
                }
                MaintainError::LoginNeeded(_) => NO_LOGIN,
                MaintainError::Denied(_) => NO_RIGHT,
                MaintainError::Login(_) => BAD_LOGIN,
                _ => "look into the server's log",
            };
            return Ok((None, Check::failed("http", format!("{server}: {}", described(&error)), remedy)));
        }
    };
    let version = state.version.as_deref().unwrap_or("of unknown version");
    let mode = state.mode.as_deref().map_or_else(String::new, |mode| format!(", {mode}"));
    let seen = format!("{server} is Nacos {version}{mode}; operators use its {} interface", state.generation);
    let check = match state.status.as_deref() {
        Some("UP") | None => Check::ok("http", seen),
        Some(other) => Check::failed(
            "http",
            format!("{seen}; its status is {other}"),
            "it takes no calls of naming now: it is starting, or cut off from the others of its cluster; look into its log",
        ),
    };
    Ok((Some(state), check))
}

/// Whether this user is let in, or everybody.
pub(super) async fn auth(registry: &Registry, state: &ServerState) -> Result<Check, Failure> {
    let operator = registry.operator()?;
    let listed = operator.services(&ServiceFilter::all().name("nacosctl-doctor")).await;
    Ok(match (listed, operator.login()) {
        (Err(MaintainError::LoginNeeded(refusal)), _) => Check::failed("auth", format!("denied: {refusal}"), NO_LOGIN),
        (Err(MaintainError::Denied(refusal)), _) => Check::failed("auth", format!("denied: {refusal}"), NO_RIGHT),
        (Err(MaintainError::Login(error)), _) => Check::failed("auth", error.to_string(), BAD_LOGIN),
        (_, LoginStatus::LoggedIn { path, .. }) => {
            let user = registry.common.username.as_deref().unwrap_or("a user");
            Check::ok("auth", format!("logged in as {user} by {path}"))
        }
        _ if state.auth == Some(true) => Check::warning(
            "auth",
            "the server knows users, and let this call pass",
            "calls of naming may be denied: set --username, and NACOS_PASSWORD or --password-file",
        ),
        _ => Check::ok("auth", "everybody is let in"),
    })
}

/// The distance between the server's clock and ours.
pub(super) fn clock(state: &ServerState, now: SystemTime) -> Check {
    let Some(clock) = state.clock else { return Check::skipped("clock", "the server does not tell its time") };
    let (ahead, distance) = match clock.duration_since(now) {
        Ok(ahead) => (true, ahead),
        Err(behind) => (false, behind.duration()),
    };
    let seconds = distance.as_secs();
    if seconds <= CLOCK_TOLERANCE {
        return Check::ok("clock", "the server's clock and this machine's agree");
    }
    let seen = format!("the server's clock is {seconds} s {}", if ahead { "ahead" } else { "behind" });
    Check::warning("clock", seen, "let both machines keep time by NTP: tokens and the order of lists depend on it")
}

/// The gRPC port: whether it is where clients look for it.
pub(super) async fn grpc(registry: &Registry, state: &ServerState) -> Result<Check, Failure> {
    let server = &registry.common.server;
    let naming = registry.speaking(Protocol::Grpc).naming()?;
    let connected = naming.connected(registry.timeout()).await;
    let status = naming.status().current();
    leave(naming).await;
    let error = match (connected, status) {
        (Ok(()), ConnectionStatus::Connected { peer, .. }) => {
            return Ok(Check::ok("grpc", format!("{server}: connected to {peer}")));
        }
        (Ok(()), _) => return Ok(Check::ok("grpc", format!("{server}: connected"))),
        (Err(error), _) => described(&error),
    };
    if state.version.as_deref().is_some_and(|version| version.starts_with("1.")) {
        return Ok(Check::ok("grpc", format!("{server}: none, as 1.x has none; clients use HTTP")));
    }
    Ok(Check::warning(
        "grpc",
        format!("{server}: {error}"),
        "clients of 2.x and 3.x look for it at the HTTP port + 1000: open and map both, or name another one with \
         --server 'host:port?grpc_port=N'. A server of 1.x has none; use --protocol http there",
    ))
}

/// What a client speaks with this registry.
pub(super) async fn protocol(registry: &Registry) -> Result<Check, Failure> {
    let naming = registry.naming()?;
    let connected = naming.connected(registry.timeout()).await;
    let status = naming.status().current();
    leave(naming).await;
    Ok(match (connected, status) {
        (Ok(()), ConnectionStatus::Connected { server, protocol, .. }) => {
            Check::ok("protocol", format!("clients speak {protocol}, now with {server}"))
        }
        (Ok(()), _) => Check::ok("protocol", "clients connect"),
        (Err(error), _) => Check::failed("protocol", described(&error), "see `http` and `grpc`; try --protocol http"),
    })
}

/// Whether the namespace is one that there is, and no name is given for an id.
pub(super) async fn namespace(registry: &Registry) -> Result<Check, Failure> {
    let asked = &registry.common.namespace;
    let wanted = Namespace::new(asked);
    let known = match registry.operator()?.namespaces().await {
        Ok(known) => known,
        Err(error) => return Ok(Check::skipped("namespace", format!("{wanted}: {}", described(&error)))),
    };
    if known.iter().any(|one| one.id == wanted) {
        return Ok(Check::ok("namespace", format!("{wanted} is declared")));
    }
    if let Some(named) = known.iter().find(|one| one.name.eq_ignore_ascii_case(asked.trim())) {
        let seen = format!("{asked} is the name of a namespace, whose id is {}", named.id);
        return Ok(Check::failed("namespace", seen, format!("clients need the id: --namespace {}", named.id)));
    }
    let ids: Vec<&str> = known.iter().map(|one| one.id.as_str()).collect();
    let seen = format!("{wanted} is not declared; those that are: {}", ids.join(", "));
    Ok(Check::warning(
        "namespace",
        seen,
        "naming works all the same, but only among clients of the same id; is it spelled right?",
    ))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use nacos_client::{ClientConfig, maintain::Maintain};
    use nacos_server_min::Server;

    use crate::doctor::check::Verdict;

    #[tokio::test]
    async fn clocks_may_be_two_seconds_apart() {
        let server = Server::builder().start().await.expect("a server");
        let config = ClientConfig::builder().servers([server.server_addr()]).build().expect("a config");
        let state = Maintain::new(config).state().await.expect("a state");
        let clock = state.clock.expect("a clock");
        assert_eq!(super::clock(&state, clock + Duration::from_secs(2)).verdict, Verdict::Ok);
        let ahead = super::clock(&state, clock - Duration::from_secs(3));
        assert_eq!((ahead.verdict, ahead.seen.as_str()), (Verdict::Warning, "the server's clock is 3 s ahead"));
        assert!(super::clock(&state, clock + Duration::from_secs(60)).seen.ends_with("60 s behind"));
        assert!(clock > UNIX_EPOCH);
        server.shutdown().await;
    }
}
