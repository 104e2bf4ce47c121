//! Answers that no server should give, and some that only HTTP can, over real sockets.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use crate::transport::{
    Call, CallClass, CallError, Reply, Session,
    http::{
        HttpTransport,
        testing::{Client, key, register, settings},
    },
};
use std::sync::Arc;

const LIST: &str = "/nacos/v1/ns/instance/list";
const INSTANCE: &str = "/nacos/v1/ns/instance";

/// A server that is up and knows nothing else.
async fn up() -> MockServer {
    let server = MockServer::start().await;
    let state = ResponseTemplate::new(200).set_body_raw(r#"{"status":"UP"}"#, "text/plain");
    Mock::given(path("/nacos/v1/ns/operator/metrics")).respond_with(state).mount(&server).await;
    server
}

async fn session(servers: &[&str]) -> (Client, Arc<dyn Session>) {
    let mut client = Client::over(HttpTransport::new(settings(servers)));
    let session = client.connected().await;
    (client, session)
}

async fn registers_with(answer: ResponseTemplate) -> Result<Reply, CallError> {
    let server = up().await;
    Mock::given(method("POST")).and(path(INSTANCE)).respond_with(answer).mount(&server).await;
    let (_client, session) = session(&[&server.address().to_string()]).await;
    register(&session, 1).await
}

async fn lists_with(answer: ResponseTemplate) -> Result<Reply, CallError> {
    let server = up().await;
    Mock::given(method("GET")).and(path(LIST)).respond_with(answer).mount(&server).await;
    let (_client, session) = session(&[&server.address().to_string()]).await;
    session.call(Call::Query { key: key() }).await
}

#[tokio::test]
async fn any_success_of_a_write_counts_whatever_its_type_and_body() {
    for answer in [
        ResponseTemplate::new(200).set_body_raw("ok", "text/plain;charset=UTF-8"),
        ResponseTemplate::new(200).set_body_raw("ok", "application/json"),
        ResponseTemplate::new(200).set_body_raw("ok", "text/html;charset=UTF-8"),
        ResponseTemplate::new(200).set_body_raw("ok\n", "text/plain"),
        ResponseTemplate::new(200),
        ResponseTemplate::new(201),
        ResponseTemplate::new(204),
    ] {
        assert!(matches!(registers_with(answer).await, Ok(Reply::Done)));
    }
}

#[tokio::test]
async fn a_page_of_a_proxy_is_no_success() {
    for page in ["<html><body>Welcome</body></html>", "\n<!DOCTYPE html><title>Sign in</title>"] {
        let answer = || ResponseTemplate::new(200).set_body_raw(page, "text/html");
        for result in [registers_with(answer()).await, lists_with(answer()).await] {
            assert!(
                matches!(&result, Err(CallError::Decode(text)) if text.contains("no answer of a Nacos server")),
                "{result:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_denial_says_what_to_do() {
    let page = r#"{"timestamp":"2025-01-02T03:04:05.000+00:00","status":403,"error":"Forbidden","message":"user not found!","path":"/nacos/v1/ns/instance"}"#;
    let error = registers_with(ResponseTemplate::new(403).set_body_raw(page, "application/json")).await.unwrap_err();
    assert_eq!(error.class(), CallClass::Unauthorized);
    let text = error.to_string();
    assert!(text.contains("user not found!") && text.contains("set username and password"), "{text}");
}

#[tokio::test]
async fn a_redirection_is_not_followed_and_says_where_it_leads() {
    let elsewhere = up().await;
    Mock::given(path(INSTANCE)).respond_with(ResponseTemplate::new(200)).expect(0).mount(&elsewhere).await;
    let to = format!("{}{INSTANCE}", elsewhere.uri());
    for status in [301, 302, 307, 308] {
        let error =
            registers_with(ResponseTemplate::new(status).insert_header("location", to.as_str())).await.unwrap_err();
        assert!(matches!(&error, CallError::Decode(text) if text.contains(&to)), "{error}");
    }
}

#[tokio::test]
async fn errors_are_read_in_every_form() {
    let forms = [
        ("caused: Param 'serviceName' is required.;", "text/plain", "Param 'serviceName' is required."),
        (
            "errCode: 400, errMsg: Current service is persistent ",
            "text/plain",
            "errCode: 400, errMsg: Current service is persistent",
        ),
        ("Param 'port' is illegal.\r\n", "", "Param 'port' is illegal."),
        (r#"{"status":400,"message":"bad"}"#, "application/json", "bad"),
        ("", "", ""),
    ];
    for (body, kind, text) in forms {
        match registers_with(ResponseTemplate::new(400).set_body_raw(body, kind)).await {
            Err(CallError::Refused(refusal)) => assert_eq!((refusal.code, &*refusal.message), (400, text)),
            other => panic!("{other:?}"),
        }
    }
    let long = "ü".repeat(100_000);
    match registers_with(ResponseTemplate::new(400).set_body_raw(long, "")).await {
        Err(CallError::Refused(refusal)) => assert!(refusal.message.len() < 1_000),
        other => panic!("{other:?}"),
    }
    let retired = registers_with(ResponseTemplate::new(410)).await.unwrap_err();
    assert!(retired.class() == CallClass::Final && retired.to_string().contains("gRPC"), "{retired}");
    let unknown = registers_with(ResponseTemplate::new(501)).await.unwrap_err();
    assert_eq!(unknown.class(), CallClass::Unsupported);
}

#[tokio::test]
async fn lists_of_any_content_type_are_read_and_empty_or_broken_ones_refused() {
    let list = r#"{"name":"G@@orders","hosts":[]}"#;
    for kind in ["application/json", "text/plain", "application/octet-stream", "nonsense"] {
        let reply = lists_with(ResponseTemplate::new(200).set_body_raw(list, kind)).await;
        assert!(matches!(reply, Ok(Reply::Service(Some(_)))), "{kind}: {reply:?}");
    }
    for body in ["", " ", "null", "[]", "{", "ok"] {
        let reply = lists_with(ResponseTemplate::new(200).set_body_raw(body, "application/json")).await;
        assert!(matches!(reply, Err(CallError::Decode(_))), "{body:?}: {reply:?}");
    }
}

#[tokio::test]
async fn an_answer_without_end_is_not_kept() {
    let huge = vec![b'x'; nacos_proto::MAX_MESSAGE_SIZE + 1];
    let reply = lists_with(ResponseTemplate::new(200).set_body_bytes(huge)).await;
    assert!(matches!(&reply, Err(CallError::Decode(text)) if text.contains("more than")), "{reply:?}");
}

#[tokio::test]
async fn the_agent_is_one_that_servers_push_to() {
    let server = up().await;
    Mock::given(path(LIST))
        .and(wiremock::matchers::header("user-agent", "Nacos-Java-Client:v1.4.8"))
        .and(wiremock::matchers::header("client-version", "1.4.8"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(r#"{"hosts":[]}"#, "application/json"))
        .mount(&server)
        .await;
    let (_client, session) = session(&[&server.address().to_string()]).await;
    assert!(session.call(Call::Query { key: key() }).await.is_ok(), "h10");
}

#[tokio::test]
async fn a_failing_or_slow_server_is_passed_over() {
    for answer in [ResponseTemplate::new(500), ResponseTemplate::new(200).set_delay(Duration::from_secs(60))] {
        let (ill, well) = (up().await, up().await);
        Mock::given(path(LIST)).respond_with(answer).mount(&ill).await;
        let list = ResponseTemplate::new(200).set_body_raw(r#"{"hosts":[]}"#, "application/json");
        Mock::given(path(LIST)).respond_with(list).mount(&well).await;
        let (_client, session) = session(&[&ill.address().to_string(), &well.address().to_string()]).await;
        for _ in 0..2 {
            assert!(session.call(Call::Query { key: key() }).await.is_ok());
        }
    }
}

/// A server that answers the question for its state, and everything else with these bytes and the end of the connection.
async fn raw(bytes: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Ends with the test's runtime.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 8 * 1024];
                while let Ok(read @ 1..) = stream.read(&mut request).await {
                    let probe = String::from_utf8_lossy(request.get(..read).unwrap_or_default()).contains("/metrics");
                    let up = "HTTP/1.1 200 \r\nContent-Length: 15\r\n\r\n{\"status\":\"UP\"}";
                    stream.write_all(if probe { up } else { bytes }.as_bytes()).await.unwrap();
                    if !probe {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn broken_answers_fail_the_call_and_nothing_else() {
    let cases = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"hosts\":[", "the body is cut off"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", "a chunk is cut off"),
        ("HTTP/1.1 200 OK\r\nContent-Le", "the head is cut off"),
        ("", "nothing comes"),
        ("SSH-2.0-OpenSSH_9.2\r\n", "another protocol"),
        ("HTTP/1.1 101 \r\nConnection: close\r\n\r\n", "101 without a body, as servers answer broken selectors"),
        ("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", "a status that does not exist"),
    ];
    for (bytes, case) in cases {
        let address = raw(bytes).await;
        let (mut client, session) = session(&[&address]).await;
        for call in [
            Call::Query { key: key() },
            Call::Deregister { key: key(), instance: crate::transport::http::testing::instance(1) },
        ] {
            let error = session.call(call).await.expect_err(case);
            let expected = matches!(error, CallError::Unreachable(_) | CallError::Decode(_));
            assert!(expected, "{case}: {error:?}");
        }
        assert!(client.is_quiet(), "{case}: the epoch goes on");
    }
}
