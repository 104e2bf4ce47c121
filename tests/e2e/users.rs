//! Our server where it lets only users in: what it asks of whom, as real servers do.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use nacos_server_min::{Builder, Server, Settings, StartError};
use nacos_tests::http::{self, Call};
use tokio::net::TcpStream;

use crate::support::wait::in_time;

const DENIED: u16 = 403;
const OK: u16 = 200;

fn builder() -> Builder {
    Server::builder().user("nacos", "s3cret&")
}

async fn call(server: &Server, method: &str, target: &str, form: Option<&str>) -> (u16, String) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let call = Call { method, path, query, form };
    let reply = in_time(target, http::call(server.http_addr(), call)).await.expect("the server answers");
    (reply.status, reply.body)
}

/// A call with one header.
async fn with_header(addr: SocketAddr, target: &str, name: &str, value: &str) -> u16 {
    let stream = TcpStream::connect(addr).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    let request = ::http::Request::get(target).header("host", "nacos").header(name, value);
    let request = request.body(Full::new(Bytes::new())).unwrap();
    tokio::select! {
        answer = sender.send_request(request) => {
            let answer = answer.unwrap();
            let status = answer.status().as_u16();
            drop(answer.into_body().collect());
            status
        }
        end = connection => panic!("no answer: {end:?}"),
    }
}

async fn token(server: &Server) -> String {
    let form = Some("username=nacos&password=s3cret%26");
    let (status, body) = call(server, "POST", "/nacos/v1/auth/login", form).await;
    assert_eq!(status, OK, "{body}");
    let answer: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&answer["tokenTtl"], &answer["globalAdmin"]), (&18_000.into(), &true.into()));
    answer["accessToken"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_user_logs_in_by_every_path_with_parameters_wherever_they_stand() {
    let server = builder().start().await.unwrap();
    for path in ["/nacos/v1/auth/login", "/nacos/v1/auth/users/login", "/nacos/v3/auth/user/login"] {
        let query = format!("{path}?username=nacos&password=s3cret%26");
        let half = format!("{path}?username=nacos");
        for (target, form) in [
            (query.as_str(), None),
            (half.as_str(), Some("password=s3cret%26")),
            (path, Some("username=nacos&password=s3cret%26")),
        ] {
            let (status, body) = call(&server, "POST", target, form).await;
            assert!(status == OK && body.contains("\"accessToken\":\""), "{target}: {status} {body}");
        }
        for wrong in ["username=nacos&password=x", "username=who&password=x", "username=nacos", ""] {
            let (status, body) = call(&server, "POST", path, Some(wrong)).await;
            assert_eq!((status, body.as_str()), (DENIED, "user not found!"), "{wrong}");
        }
    }
    assert_eq!((server.counters().logins, server.counters().logins_refused), (9, 12));
}

/// What is let through without a token, as recorded of real servers.
const WITHOUT_TOKEN: &[(&str, &str, u16)] = &[
    ("GET", "/nacos/v1/ns/instance/list?serviceName=guarded", DENIED),
    ("POST", "/nacos/v1/ns/instance?serviceName=guarded&ip=10.1.1.1&port=80", DENIED),
    ("PUT", "/nacos/v1/ns/instance/beat?serviceName=guarded&ip=10.1.1.1&port=80", DENIED),
    ("DELETE", "/nacos/v1/ns/instance?serviceName=guarded&ip=10.1.1.1&port=80", DENIED),
    ("GET", "/nacos/v1/ns/service/list?pageNo=1&pageSize=10", DENIED),
    ("POST", "/nacos/v1/ns/service?serviceName=guarded2", DENIED),
    ("PUT", "/nacos/v1/ns/operator/switches?entry=distroThreshold&value=0.7", DENIED),
    ("GET", "/nacos/v1/ns/service/names", DENIED),
    ("GET", "/nacos/v1/ns/catalog/services?pageNo=1&pageSize=10", DENIED),
    ("GET", "/nacos/v1/ns/service/subscribers?serviceName=guarded", DENIED),
    ("POST", "/nacos/v1/console/namespaces?customNamespaceId=g&namespaceName=g", DENIED),
    ("GET", "/nacos/v1/core/cluster/nodes", DENIED),
    ("GET", "/nacos/v2/ns/instance/list?serviceName=guarded", DENIED),
    ("GET", "/nacos/v3/client/ns/instance/list?serviceName=guarded", DENIED),
    ("GET", "/nacos/v3/admin/ns/instance/list?serviceName=guarded", DENIED),
    ("GET", "/nacos/v1/ns/operator/metrics", OK),
    ("GET", "/nacos/v1/ns/operator/switches", OK),
    ("GET", "/nacos/v1/ns/health/server", OK),
    ("GET", "/nacos/v1/console/namespaces", OK),
    ("GET", "/nacos/v1/console/health/liveness", OK),
    ("GET", "/nacos/v1/console/health/readiness", OK),
    ("GET", "/nacos/v1/console/server/state", OK),
    ("GET", "/nacos/v3/admin/core/state", OK),
    ("GET", "/nacos/v3/admin/core/state/liveness", OK),
    ("GET", "/nacos/v1/ns/xyz", 501),
    ("GET", "/nacos/v9", 404),
];

#[tokio::test]
async fn a_token_is_asked_of_whom_real_servers_ask_for_one() {
    let server = builder().start().await.unwrap();
    for (method, target, wanted) in WITHOUT_TOKEN {
        let (status, body) = call(&server, method, target, None).await;
        assert_eq!(status, *wanted, "{method} {target}: {body}");
        if *wanted == DENIED {
            let page: serde_json::Value = serde_json::from_str(&body).expect("an error page");
            assert_eq!((&page["message"], &page["error"]), (&"user not found!".into(), &"Forbidden".into()), "{body}");
            assert_eq!(page["path"].as_str(), target.split('?').next());
        }
    }
    let (_, state) = call(&server, "GET", "/nacos/v1/console/server/state", None).await;
    assert!(state.contains("\"auth_enabled\":\"true\""), "{state}");
}

#[tokio::test]
async fn a_token_counts_in_a_header_a_query_and_a_form_and_so_do_user_and_password() {
    let server = builder().start().await.unwrap();
    let token = token(&server).await;
    let list = "/nacos/v1/ns/instance/list?serviceName=guarded";
    let get = async |more: String| call(&server, "GET", &format!("{list}{more}"), None).await.0;
    assert_eq!(get(format!("&accessToken={token}")).await, OK);
    assert_eq!(get("&username=nacos&password=s3cret%26".to_owned()).await, OK);
    assert_eq!(get("&username=nacos&password=zzz".to_owned()).await, DENIED);
    assert_eq!(get("&accessToken=zzz".to_owned()).await, DENIED);
    let addr = server.http_addr();
    assert_eq!(with_header(addr, list, "authorization", &format!("Bearer {token}")).await, OK);
    assert_eq!(with_header(addr, list, "authorization", "Bearer zzz").await, DENIED);
    assert_eq!(with_header(addr, list, "authorization", &token).await, DENIED);
    let register = "/nacos/v1/ns/instance?serviceName=guarded&ip=10.1.1.1&port=80";
    let form = format!("accessToken={token}&metadata=a%3Db");
    assert_eq!(call(&server, "POST", register, Some(&form)).await, (OK, "ok".to_owned()));
    let (_, hosts) = call(&server, "GET", &format!("{list}&accessToken={token}"), None).await;
    assert!(hosts.contains("\"metadata\":{\"a\":\"b\"}"), "the form reached its handler: {hosts}");
    let beat = format!("/nacos/v1/ns/instance/beat?serviceName=guarded&ip=10.1.1.1&port=80&accessToken={token}");
    assert_eq!(call(&server, "PUT", &beat, None).await.0, OK);
    server.fault().forget_tokens();
    let (status, body) = call(&server, "PUT", &beat, None).await;
    assert!(status == DENIED && body.contains("token invalid!"), "{body}");
}

#[tokio::test]
async fn a_form_that_is_too_large_is_told_and_hides_no_token() {
    const LARGEST: usize = 2 * 1024 * 1024;
    let register = "/nacos/v1/ns/instance?serviceName=guarded&ip=10.1.1.1&port=80";
    let form = |start: &str, size: usize| format!("{start}{}", "x".repeat(size - start.len()));
    let users = builder().start().await.unwrap();
    let token = token(&users).await;
    let by_form = format!("accessToken={token}&unused=");
    let by_query = format!("{register}&accessToken={token}");
    assert_eq!(call(&users, "POST", register, Some(&form(&by_form, LARGEST))).await.0, OK);
    assert_eq!(call(&users, "POST", &by_query, Some(&form("unused=", LARGEST))).await.0, OK);
    let everybody = Server::builder().start().await.unwrap();
    for (server, target, start) in [
        (&users, register, by_form.as_str()),
        (&users, by_query.as_str(), "unused="),
        (&users, "/nacos/v1/auth/login", "username=nacos&password=s3cret%26&unused="),
        (&everybody, register, "unused="),
    ] {
        for size in [LARGEST + 1, 2 * LARGEST] {
            let (status, body) = call(server, "POST", target, Some(&form(start, size))).await;
            assert!(status == 413 && body.contains("more than 2097152 bytes"), "{target}: {status} {body}");
        }
    }
}

#[tokio::test]
async fn a03_no_header_and_no_spelling_of_a_path_opens_a_back_door() {
    let server = builder().start().await.unwrap();
    let list = "/nacos/v1/ns/instance/list?serviceName=guarded";
    for (name, value) in [
        ("user-agent", "Nacos-Server:v2.0.0"),
        ("user-agent", "Nacos-Java-Client:v1.4.8"),
        ("serveridentity", "security"),
        ("x-forwarded-for", "127.0.0.1"),
        ("authorization", "Bearer "),
        ("authorization", "Basic bmFjb3M6czNjcmV0Jg=="),
    ] {
        assert_eq!(with_header(server.http_addr(), list, name, value).await, DENIED, "{name}: {value}");
    }
    for target in [
        "/nacos/v1/ns/instance/list/?serviceName=a",
        "/nacos//v1/ns/instance/list?serviceName=a",
        "/nacos/v1/ns//instance/list?serviceName=a",
        "/nacos/v1/auth/login/../../ns/instance/list?serviceName=a",
        "/nacos/v1/auth/login/..;/../ns/instance/list?serviceName=a",
        "/nacos/v1/ns/operator/../instance/list?serviceName=a",
        "/nacos/v1/ns/operator/%2e%2e/instance/list?serviceName=a",
        "/nacos/V1/NS/instance/list?serviceName=a",
        "/nacos/v1/ns/instance/list;/v1/auth/login?serviceName=a",
        "/nacos/v1/ns/instance%2Flist?serviceName=a",
        "/v1/ns/instance/list?serviceName=a",
    ] {
        let (status, body) = call(&server, "GET", target, None).await;
        assert!(status >= 400, "{target}: {status} {body}");
    }
}

#[tokio::test]
async fn where_everybody_is_let_in_a_login_gives_what_is_not_looked_at() {
    let server = Server::builder().start().await.unwrap();
    let (status, body) = call(&server, "POST", "/nacos/v3/auth/user/login", Some("username=a&password=b")).await;
    assert!(status == OK && body.contains("AUTH_DISABLED"), "{body}");
    let list = "/nacos/v1/ns/instance/list?serviceName=a&accessToken=AUTH_DISABLED";
    assert_eq!(call(&server, "GET", list, None).await.0, OK);
}

#[tokio::test]
async fn a03_a_user_without_a_password_is_none() {
    for (name, password) in [("nacos", ""), ("", "x"), (" ", "x")] {
        let error = Server::builder().user(name, password).start().await.unwrap_err();
        assert!(matches!(error, StartError::Settings(_)), "{error:?}");
    }
    let mut settings = Settings::default();
    settings.token_life = Duration::ZERO;
    assert!(builder().settings(settings).start().await.is_err());
}
