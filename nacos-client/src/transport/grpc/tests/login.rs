//! Calls of a client that logs in: over HTTP, as all do.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use nacos_proto::{
    Payload, code,
    grpc::{ErrorResponse, InstanceResponse, QueryServiceResponse},
};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::path};

use crate::{
    ClientConfig, LoginError,
    auth::Auth,
    transport::{
        Call, CallClass, CallError, Reply,
        grpc::{
            GrpcSettings,
            testing::{Answer, Client, Script, key, register, settings, standard},
        },
    },
};

/// Lets in who carries the newest token.
#[derive(Clone, Default)]
struct Door(Arc<AtomicUsize>);

impl Door {
    async fn logins_at(&self) -> MockServer {
        let server = MockServer::start().await;
        let newest = Arc::clone(&self.0);
        let answer = move |_: &wiremock::Request| {
            let number = newest.fetch_add(1, Ordering::AcqRel) + 1;
            let json = format!(r#"{{"accessToken":"t{number}","tokenTtl":18000,"globalAdmin":true}}"#);
            ResponseTemplate::new(200).set_body_string(json)
        };
        Mock::given(path("/nacos/v3/auth/user/login")).respond_with(answer).mount(&server).await;
        server
    }

    fn script(&self) -> Script {
        let newest = Arc::clone(&self.0);
        Script {
            answer: Box::new(move |_, request| {
                let token = request.metadata.as_ref().and_then(|metadata| metadata.headers.get("accessToken"));
                let good = format!("t{}", newest.load(Ordering::Acquire));
                match request.kind() {
                    // Everybody may ask these.
                    "ServerCheckRequest" | "HealthCheckRequest" => Answer::Reply(standard(request, true)),
                    _ if token == Some(&good) => Answer::Reply(standard(request, true)),
                    "InstanceRequest" => {
                        let denied = InstanceResponse::failure(code::NO_RIGHT, "token invalid!");
                        Answer::Reply(Payload::encode_json(&denied))
                    }
                    "ServiceQueryRequest" => {
                        let denied = QueryServiceResponse::failure(code::NO_RIGHT, "token invalid!");
                        Answer::Reply(Payload::encode_json(&denied))
                    }
                    _ => Answer::Reply(Payload::encode_json(&ErrorResponse::raised(code::NO_RIGHT, "token invalid!"))),
                }
            }),
            ..Script::default()
        }
    }

    fn change_locks(&self) {
        self.0.fetch_add(100, Ordering::AcqRel);
    }

    fn logins(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

fn user(logins_at: &MockServer) -> GrpcSettings {
    let config = ClientConfig::builder().servers([logins_at.address().to_string()]).username("nacos").password("p");
    let auth = Auth::new(&config.build().unwrap());
    auth.start().unwrap();
    GrpcSettings { auth, ..settings(&["one", "two"]) }
}

#[tokio::test]
async fn cg45_a_thousand_calls_that_are_denied_at_once_lead_to_one_login() {
    let door = Door::default();
    let logins_at = door.logins_at().await;
    let mut client = Client::start_with(user(&logins_at), door.script());
    let (session, _peer) = client.connection().await;
    session.call(register()).await.unwrap();
    door.change_locks();
    let calls =
        join_all((0..1000).map(|n| session.call(if n % 2 == 0 { register() } else { Call::Query { key: key() } })));
    for result in calls.await {
        result.unwrap();
    }
    assert_eq!(door.logins(), 102, "one login before and one after");
    assert!(client.events.try_recv().is_err(), "the connection lives on");
}

#[tokio::test]
async fn a_denial_in_any_shape_leads_to_a_login_and_the_call_is_made_again() {
    let door = Door::default();
    let logins_at = door.logins_at().await;
    let mut client = Client::start_with(user(&logins_at), door.script());
    let (session, mut peer) = client.connection().await;
    for (number, call) in
        [register(), Call::Query { key: key() }, Call::Subscribe { key: key() }].into_iter().enumerate()
    {
        door.change_locks();
        let reply = session.call(call).await.unwrap();
        assert!(matches!(reply, Reply::Done | Reply::Service(Some(_))), "{number}: {reply:?}");
    }
    assert_eq!(peer.request_of("InstanceRequest").await.metadata.unwrap().headers["app"], "shop");
}

#[tokio::test]
async fn calls_that_wait_for_a_token_keep_no_place_of_those_that_need_none() {
    let logins_at = MockServer::start().await;
    let logins = AtomicUsize::new(0);
    let answer = move |_: &wiremock::Request| {
        let silence = Duration::from_secs(60 * u64::from(logins.fetch_add(1, Ordering::AcqRel) > 0));
        ResponseTemplate::new(200).set_body_string(r#"{"accessToken":"t1","tokenTtl":18000}"#).set_delay(silence)
    };
    Mock::given(path("/nacos/v3/auth/user/login")).respond_with(answer).mount(&logins_at).await;
    let denied = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&denied);
    let script = Script {
        answer: Box::new(move |_, request| match request.kind() {
            "InstanceRequest" => {
                count.fetch_add(1, Ordering::AcqRel);
                let denied = InstanceResponse::failure(code::NO_RIGHT, "authorization failed!");
                Answer::Reply(Payload::encode_json(&denied))
            }
            _ => Answer::Reply(standard(request, true)),
        }),
        ..Script::default()
    };
    let mut client = Client::start_with(user(&logins_at), script);
    let (session, _peer) = client.connection().await;
    session.call(Call::Query { key: key() }).await.unwrap();
    let waiting = join_all((0..200).map(|_| session.call(register())));
    let open = async {
        while denied.load(Ordering::Acquire) < 200 {
            tokio::task::yield_now().await;
        }
        session.call(Call::Query { key: key() }).await
    };
    tokio::select! {
        _ = waiting => panic!("there is no other login"),
        open = open => assert!(matches!(open, Ok(Reply::Service(Some(_))))),
    }
}

#[tokio::test]
async fn cg8_whoever_stays_denied_is_told_so_after_one_more_request() {
    let door = Door::default();
    let logins_at = door.logins_at().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let script = Script {
        answer: Box::new(move |_, request| match request.kind() {
            "ServerCheckRequest" | "HealthCheckRequest" => Answer::Reply(standard(request, true)),
            _ => {
                count.fetch_add(1, Ordering::AcqRel);
                let denied = InstanceResponse::failure(code::NO_RIGHT, "authorization failed!");
                Answer::Reply(Payload::encode_json(&denied))
            }
        }),
        ..Script::default()
    };
    let mut client = Client::start_with(user(&logins_at), script);
    let (session, _peer) = client.connection().await;
    let error = session.call(register()).await.unwrap_err();
    assert!(error.is_denial() && error.class() == CallClass::Unauthorized, "{error:?}");
    assert_eq!((asked.load(Ordering::Acquire), door.logins()), (2, 2));
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    let door = Door::default();
    let shut = MockServer::start().await;
    let answer = ResponseTemplate::new(403).set_body_string("unknown user!");
    Mock::given(path("/nacos/v3/auth/user/login")).respond_with(answer).mount(&shut).await;
    let mut client = Client::start_with(user(&shut), door.script());
    let (session, _peer) = client.connection().await;
    let error = session.call(register()).await.unwrap_err();
    assert!(matches!(&error, CallError::Login(LoginError::Refused { .. })), "{error:?}");
}

#[tokio::test]
async fn the_end_of_the_connection_ends_the_wait_for_a_token() {
    // Accepts and says nothing.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = ClientConfig::builder().servers([silent.local_addr().unwrap().to_string()]).username("nacos");
    let auth = Auth::new(&config.build().unwrap());
    auth.start().unwrap();
    let settings = GrpcSettings { auth, ..settings(&["one", "two"]) };
    let mut client = Client::start_with(settings, Script::default());
    let (session, peer) = client.connection().await;
    let call = tokio::spawn(async move { session.call(register()).await });
    peer.cut();
    assert!(matches!(call.await.unwrap(), Err(CallError::Link(_))));
}

#[tokio::test]
async fn a_client_that_does_not_log_in_is_told_what_to_do() {
    let mut client = Client::start(Door::default().script());
    let (session, mut peer) = client.connection().await;
    let error = session.call(register()).await.unwrap_err();
    let CallError::Refused(said) = &error else { panic!("{error:?}") };
    assert!(error.is_denial() && said.message.contains("set username and password"), "{error}");
    let headers = peer.request_of("InstanceRequest").await.metadata.unwrap().headers;
    assert!(!headers.contains_key("accessToken"));
}
