use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Method, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use wiremock::{
    Mock, MockServer, Request, ResponseTemplate,
    matchers::{any, header, path},
};

use crate::{
    ClientConfig, Credentials, LoginError, LoginStatus,
    auth::{Auth, Token},
    exchange::Http,
};

const V3: &str = "/nacos/v3/auth/user/login";
const V1: &str = "/nacos/v1/auth/users/login";
const GRANT: &str = r#"{"accessToken":"tok-1","tokenTtl":18000,"globalAdmin":true}"#;

fn page(status: u16, message: &str) -> ResponseTemplate {
    let json = serde_json::json!({ "timestamp": "", "status": status, "error": "", "message": message, "path": "" });
    ResponseTemplate::new(status).set_body_json(json)
}

async fn server(at: &str, answer: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(path(at)).respond_with(answer).mount(&server).await;
    Mock::given(any()).respond_with(page(404, "No message available")).with_priority(9).mount(&server).await;
    server
}

fn auth_for(servers: &[String]) -> Auth {
    let config = ClientConfig::builder().servers(servers).username("nacos").password("s3&cret");
    let auth = Auth::new(&config.build().unwrap());
    auth.start().unwrap();
    auth
}

async fn token(auth: &Auth) -> Result<String, LoginError> {
    let token = tokio::time::timeout(Duration::from_secs(20), auth.pass()).await.expect("an end of the login");
    token.map(|token| token.expect("a client that logs in").text().to_owned())
}

async fn asked(server: &MockServer) -> Vec<String> {
    let requests = server.received_requests().await.unwrap();
    requests.iter().map(|request| request.url.path().to_owned()).collect()
}

/// A server that refuses as 1.4.1 does: with a status that HTTP does not have.
async fn statusless() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(b"HTTP/1.1 0 \r\nConnection: close\r\n\r\n").await;
        }
    });
    addr
}

#[tokio::test]
async fn cg47_the_password_and_the_user_go_in_the_body_alone() {
    let server = server(V3, ResponseTemplate::new(200).set_body_string(GRANT)).await;
    let auth = auth_for(&[server.address().to_string()]);
    assert_eq!(token(&auth).await.unwrap(), "tok-1");
    let requests = server.received_requests().await.unwrap();
    let request = &requests[0];
    assert_eq!((request.method.as_str(), request.url.query()), ("POST", None));
    assert_eq!(String::from_utf8_lossy(&request.body), "username=nacos&password=s3%26cret");
    assert!(request.headers["content-type"].to_str().unwrap().starts_with("application/x-www-form-urlencoded"));
    assert!(matches!(auth.status(), LoginStatus::LoggedIn { path: "/v3/auth/user/login", .. }));
}

/// Nacos tells how it wants to be shown its token, and r-nacos takes the whole header for the token.
#[tokio::test]
async fn a_token_is_shown_as_the_server_that_granted_it_wants_it() {
    let grant = || ResponseTemplate::new(200).set_body_string(GRANT);
    for (grant, shown) in [(grant().insert_header("Authorization", "Bearer tok-1"), "Bearer tok-1"), (grant(), "tok-1")]
    {
        let server = server(V1, grant).await;
        let page = r#"{"code":0,"data":[]}"#;
        let namespaces = Mock::given(path("/nacos/v1/console/namespaces")).and(header("authorization", shown));
        namespaces.respond_with(ResponseTemplate::new(200).set_body_string(page)).mount(&server).await;
        let auth = auth_for(&[server.address().to_string()]);
        let token = auth.pass().await.unwrap().unwrap();
        let config = ClientConfig::builder().servers([server.address().to_string()]).build().unwrap();
        let http = Http::new(&config, "test");
        let target = "/v1/console/namespaces".to_owned();
        let request = crate::exchange::Request { method: Method::GET, target, form: Bytes::new() };
        let answer = http.exchange(config.servers.get(0), &request, Some(&token)).await.unwrap();
        assert_eq!(answer.status, 200, "{shown}");
    }
}

#[tokio::test]
async fn g25_a_server_without_the_newest_path_is_asked_by_the_next_and_that_is_remembered() {
    for absent in [404, 405, 410, 501] {
        let server = MockServer::start().await;
        Mock::given(path(V1)).respond_with(ResponseTemplate::new(200).set_body_string(GRANT)).mount(&server).await;
        Mock::given(any()).respond_with(page(absent, "")).with_priority(9).mount(&server).await;
        let auth = auth_for(&[server.address().to_string()]);
        let old: Token = auth.pass().await.unwrap().unwrap();
        assert_eq!(asked(&server).await, [V3, V1]);
        assert_eq!(auth.renewed(&old).await.unwrap().unwrap().text(), "tok-1");
        assert_eq!(asked(&server).await, [V3, V1, V1], "after {absent}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_or_is_no_registry_is_passed_over() {
    let good = server(V1, ResponseTemplate::new(200).set_body_string(GRANT)).await;
    for bad in
        [page(403, "unknown user!"), page(500, ""), page(503, ""), ResponseTemplate::new(200).set_body_string("<html>")]
    {
        let bad = server(V3, bad).await;
        for servers in [[&bad, &good], [&good, &bad]] {
            let auth = auth_for(&servers.map(|server| server.address().to_string()));
            assert_eq!(token(&auth).await.unwrap(), "tok-1");
        }
    }
    let auth = auth_for(&["127.0.0.1:1".to_owned(), good.address().to_string()]);
    assert_eq!(token(&auth).await.unwrap(), "tok-1");
}

#[tokio::test]
async fn a_refused_login_is_another_error_than_a_server_that_is_away() {
    // As 1.x and 2.x, 3.x by the newest path, and 2.x for an unknown user say it.
    for (status, message) in
        [(403, "unknown user!"), (500, "No message available"), (500, "caused: User nacos not found;")]
    {
        let server = server(V3, page(status, message)).await;
        let auth = auth_for(&[server.address().to_string(), "127.0.0.1:1".to_owned()]);
        match token(&auth).await.unwrap_err() {
            LoginError::Refused { username, status: said, .. } => {
                assert_eq!((username.as_str(), said), ("nacos", status))
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(auth.status(), LoginStatus::Failing { attempts: 1, has_token: false, .. }));
    }
    let auth = auth_for(&[statusless().await]);
    assert!(matches!(token(&auth).await, Err(LoginError::Refused { status: 0, .. })));
    let auth = auth_for(&["127.0.0.1:1".to_owned()]);
    let error = token(&auth).await.unwrap_err();
    assert!(matches!(&error, LoginError::Unreachable { reason } if reason.contains("127.0.0.1:1")), "{error:?}");
    assert!(error.is_retryable());
}

#[tokio::test]
async fn cg47_a_refusal_that_is_cut_short_ends_in_no_half_of_the_password() {
    for echo in ["s3&cret", "s3%26cret"] {
        for room in 0..12 {
            let message = format!("{}{echo}", "x".repeat(300 - room));
            let server = server(V3, page(403, &message)).await;
            let error = token(&auth_for(&[server.address().to_string()])).await.unwrap_err();
            let LoginError::Refused { message, .. } = &error else { panic!("{error:?}") };
            assert!(!message.contains("s3") && message.chars().count() < 310, "{room}: {message}");
        }
    }
}

#[tokio::test]
async fn answers_without_a_token_of_use_are_none() {
    for body in
        ["", "{}", r#"{"accessToken":""}"#, r#"{"accessToken":"a\nb"}"#, r#"{"accessToken":null,"tokenTtl":1}"#, "[]"]
    {
        let server = server(V3, ResponseTemplate::new(200).set_body_string(body)).await;
        let auth = auth_for(&[server.address().to_string()]);
        let error = token(&auth).await.unwrap_err();
        assert!(matches!(error, LoginError::Unreachable { .. }), "{body}: {error:?}");
    }
    for body in [
        r#"{"accessToken":"AUTH_DISABLED"}"#,
        r#"{"accessToken":"x","tokenTtl":"60"}"#,
        r#"{"accessToken":"x","tokenTtl":{}}"#,
    ] {
        let server = server(V3, ResponseTemplate::new(200).set_body_string(body)).await;
        token(&auth_for(&[server.address().to_string()])).await.unwrap();
    }
}

#[tokio::test]
async fn cg46_a_password_that_is_corrected_by_the_callback_is_tried_within_seconds() {
    let server = MockServer::start().await;
    let answer = |request: &Request| {
        let body = String::from_utf8_lossy(&request.body);
        if body.contains("password=new") {
            ResponseTemplate::new(StatusCode::OK).set_body_string(GRANT)
        } else {
            page(403, "unknown user!")
        }
    };
    Mock::given(path(V3)).respond_with(answer).mount(&server).await;
    let password = Arc::new(Mutex::new("old"));
    let asked_for = Arc::clone(&password);
    let config = ClientConfig::builder().servers([server.address().to_string()]).credentials(move || {
        let password = *asked_for.lock().unwrap();
        async move { Ok(Credentials::new("nacos", password)) }
    });
    let auth = Auth::new(&config.build().unwrap());
    auth.start().unwrap();
    assert!(matches!(token(&auth).await, Err(LoginError::Refused { .. })));
    let mut watch = auth.watch().unwrap();
    *password.lock().unwrap() = "new";
    tokio::time::timeout(Duration::from_secs(30), watch.logged_in()).await.expect("a login");
    assert_eq!(token(&auth).await.unwrap(), "tok-1");
}

#[tokio::test]
async fn a_callback_that_fails_panics_or_names_nobody_is_an_error_and_is_asked_again() {
    let server = server(V3, ResponseTemplate::new(200).set_body_string(GRANT)).await;
    for what in ["fails", "panics", "names nobody"] {
        let well = Arc::new(AtomicBool::new(false));
        let ask = Arc::clone(&well);
        let config = ClientConfig::builder().servers([server.address().to_string()]).credentials(move || {
            let well = ask.load(Ordering::Acquire);
            async move {
                match what {
                    _ if well => Ok(Credentials::new("nacos", "p")),
                    "fails" => Err("the vault is sealed".into()),
                    "panics" => panic!("in the callback"),
                    _ => Ok(Credentials::new(" ", "p")),
                }
            }
        });
        let auth = Auth::new(&config.build().unwrap());
        auth.start().unwrap();
        let error = token(&auth).await.unwrap_err();
        assert!(matches!(error, LoginError::Credentials { .. }), "{what}: {error:?}");
        well.store(true, Ordering::Release);
        let mut watch = auth.watch().unwrap();
        tokio::time::timeout(Duration::from_secs(30), watch.logged_in()).await.expect("a login");
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_login_that_nobody_makes_is_let_go() {
    let config = ClientConfig::builder().servers(["127.0.0.1:1"]).username("nacos").build().unwrap();
    let begun = tokio::time::Instant::now();
    let error = Auth::new(&config).pass().await.unwrap_err();
    let LoginError::Unfinished { waited } = error else { panic!("{error:?}") };
    assert!(error.is_retryable() && waited < config.timeouts().request && begun.elapsed() == waited, "{error}");
}

#[test]
fn cg51_the_end_of_a_runtime_on_which_the_login_never_ran_lets_everybody_go() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = ClientConfig::builder().servers(["127.0.0.1:1"]).username("nacos").build().unwrap();
    let (auth, idle) = (Auth::new(&config), runtime());
    let entered = idle.enter();
    auth.start().unwrap();
    drop(entered);
    drop(idle);
    assert_eq!(runtime().block_on(auth.pass()).unwrap_err(), LoginError::Closed);
}

#[tokio::test]
async fn a_blank_user_does_not_log_in() {
    for (user, password) in [("", "x"), (" ", "x")] {
        let config =
            ClientConfig::builder().servers(["127.0.0.1:1"]).username(user).password(password).build().unwrap();
        let auth = Auth::new(&config);
        auth.start().unwrap();
        assert!(auth.pass().await.unwrap().is_none() && !config.logs_in());
        assert_eq!(auth.status(), LoginStatus::Off);
    }
}

#[tokio::test]
async fn cg51_the_end_of_the_client_lets_everybody_go() {
    // Accepts and says nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let auth = auth_for(&[silent.local_addr().unwrap().to_string()]);
    let waiting = tokio::spawn({
        let auth = auth.clone();
        async move { auth.pass().await }
    });
    tokio::task::yield_now().await;
    assert!(auth.close(Duration::from_secs(10)).await, "its task ended by itself");
    assert!(matches!(waiting.await.unwrap(), Err(LoginError::Closed)));
    assert!(auth.start().is_err());
}
