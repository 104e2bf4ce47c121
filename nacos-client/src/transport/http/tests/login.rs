//! Calls and beats of a client that logs in, on a paused clock.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use crate::{
    ClientConfig, LoginError,
    auth::Auth,
    model::ServiceKey,
    transport::{
        Call, CallClass, CallError, NamingTransport, Reply, Session,
        http::{
            HttpSettings, HttpTransport,
            testing::{Answer, Asked, Client, Net, instance, key, register, settings},
        },
    },
};

const S: Duration = Duration::from_secs(1);

/// Lets in who carries the newest token.
#[derive(Clone, Default)]
struct Door {
    logins: Arc<AtomicUsize>,
    /// Logins fail.
    shut: Arc<AtomicBool>,
    /// No token is good.
    nobody: Arc<AtomicBool>,
}

impl Door {
    fn net(&self) -> Net {
        let door = self.clone();
        Net::new(move |asked| door.answer(asked))
    }

    fn answer(&self, asked: &Asked) -> Answer {
        let page = |message: &str| format!(r#"{{"status":403,"error":"Forbidden","message":"{message}"}}"#);
        if asked.is_login() {
            if !asked.what.contains("/v1/auth/users/login") {
                return Answer::Say(404, page("No message available"));
            }
            if self.shut.load(Ordering::Acquire) {
                return Answer::Say(403, page("unknown user!"));
            }
            assert_eq!((asked.form["username"].as_str(), asked.form["password"].as_str()), ("nacos", "secret"));
            let number = self.logins.fetch_add(1, Ordering::AcqRel) + 1;
            return Answer::Grant(format!("t{number}"));
        }
        let newest = format!("Bearer t{}", self.logins());
        let known = asked.authorization.as_ref() == Some(&newest) && !self.nobody.load(Ordering::Acquire);
        if asked.is_probe() || known { Answer::Usual } else { Answer::Say(403, page("token invalid!")) }
    }

    fn logins(&self) -> usize {
        self.logins.load(Ordering::Acquire)
    }

    /// As a server whose secret was changed.
    fn change_locks(&self) {
        self.logins.fetch_add(100, Ordering::AcqRel);
    }
}

fn user(net: &Net, servers: &[&str]) -> HttpSettings {
    let config = ClientConfig::builder().servers(servers.iter().copied()).username("nacos").password("secret");
    let auth = Auth::over(&config.build().unwrap(), Arc::new(net.clone()));
    auth.start().unwrap();
    HttpSettings { auth, ..settings(servers) }
}

fn logged_in_client(net: &Net) -> Client {
    Client::start_with(user(net, &["one"]), net)
}

/// A client that logs in at a door, which is open, and has an instance registered behind it.
async fn logged_in() -> (Door, Net, Client, Arc<dyn Session>) {
    let door = Door::default();
    let net = door.net();
    let mut client = logged_in_client(&net);
    let session = client.connected().await;
    assert!(matches!(register(&session, 1).await, Ok(Reply::Done)));
    (door, net, client, session)
}

#[tokio::test(start_paused = true)]
async fn the_first_calls_wait_for_the_token_and_carry_it_in_a_header_alone() {
    let (door, net, _client, session) = logged_in().await;
    assert!(matches!(session.call(Call::Query { key: key() }).await, Ok(Reply::Service(Some(_)))));
    sleep(20 * S).await;
    let asked = net.asked();
    assert!(asked.iter().any(Asked::is_beat));
    for asked in asked.iter().filter(|asked| !asked.is_login() && !asked.is_probe()) {
        assert_eq!(asked.authorization.as_deref(), Some("Bearer t1"), "{asked:?}");
        let parameters: Vec<_> = asked.query.values().chain(asked.form.values()).collect();
        assert!(!parameters.iter().any(|value| value.contains("t1") || value.contains("secret")), "{asked:?}");
    }
    assert_eq!(door.logins(), 1);
}

#[tokio::test(start_paused = true)]
async fn cg45_a_thousand_calls_that_are_denied_at_once_lead_to_one_login() {
    let (door, _, _client, session) = logged_in().await;
    sleep(5 * S).await;
    door.change_locks();
    let begin = Instant::now();
    let calls = join_all((0..1000).map(|_| session.call(Call::Query { key: key() }))).await;
    assert!(calls.iter().all(Result::is_ok));
    assert_eq!(door.logins(), 102, "one login before and one after");
    assert!(begin.elapsed() < 3 * S, "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn calls_that_wait_for_a_token_keep_no_place_of_those_that_need_none() {
    let logins = AtomicUsize::new(0);
    let net = Net::new(move |asked| match asked.query.get("serviceName") {
        _ if asked.is_login() && logins.fetch_add(1, Ordering::AcqRel) == 0 => Answer::Grant("t1".to_owned()),
        _ if asked.is_login() => Answer::Never,
        Some(name) if name.contains("closed") => Answer::Say(403, String::new()),
        _ => Answer::Usual,
    });
    let mut client = logged_in_client(&net);
    let session = client.connected().await;
    assert!(session.call(Call::Query { key: key() }).await.is_ok());
    let closed = Call::Query { key: ServiceKey::new("g", "closed") };
    let mut denied = join_all((0..100).map(|_| session.call(closed.clone())));
    tokio::select! {
        biased;
        _ = &mut denied => panic!("there is no other login"),
        () = sleep(S / 2) => {}
    }
    let open = timeout(S / 10, session.call(Call::Query { key: key() })).await.expect("a place").unwrap();
    assert!(matches!(open, Reply::Service(Some(_))));
    assert!(denied.await.iter().all(Result::is_err));
}

#[tokio::test(start_paused = true)]
async fn cg8_a_denied_call_is_made_once_more_and_a_denied_user_is_told_so() {
    let (door, net, _client, session) = logged_in().await;
    sleep(5 * S).await;
    net.asked();
    door.nobody.store(true, Ordering::Release);
    let error = session.call(Call::Query { key: key() }).await.unwrap_err();
    assert!(error.is_denial() && error.class() == CallClass::Unauthorized, "{error:?}");
    let CallError::Refused(said) = &error else { panic!("{error:?}") };
    assert!(!said.message.contains("set username"), "{error}");
    let asked = net.asked();
    let lists = asked.iter().filter(|asked| asked.what.ends_with("/instance/list")).count();
    assert_eq!((lists, door.logins()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn beats_go_on_after_the_token_has_changed() {
    let door = Door::default();
    let net = door.net();
    let mut client = logged_in_client(&net);
    let session = client.connected().await;
    for port in 1..=20 {
        assert!(matches!(register(&session, port).await, Ok(Reply::Done)));
    }
    for round in 1..=3 {
        sleep(20 * S).await;
        door.change_locks();
        net.asked();
        sleep(20 * S).await;
        let good = format!("Bearer t{}", door.logins());
        let beats =
            net.asked().into_iter().filter(|asked| asked.is_beat() && asked.authorization.as_ref() == Some(&good));
        for port in 1..=20 {
            let count = beats.clone().filter(|beat| beat.port() == port).count();
            assert!(count >= 3, "{count} beats of {port} after change {round}");
        }
        assert_eq!(door.logins(), 101 * round + 1, "one login for each change");
    }
    assert_eq!(client.transport.counts().beats_failed, 0, "each denied beat was made once more");
    assert!(client.is_quiet(), "the epoch goes on");
}

#[tokio::test(start_paused = true)]
async fn a_refused_login_fails_calls_at_once_and_heals() {
    let door = Door::default();
    door.shut.store(true, Ordering::Release);
    let net = door.net();
    let mut client = logged_in_client(&net);
    let session = client.connected().await;
    let begin = Instant::now();
    let error = register(&session, 1).await.unwrap_err();
    assert!(matches!(&error, CallError::Login(LoginError::Refused { status: 403, .. })), "{error:?}");
    assert_eq!(error.class(), CallClass::Unauthorized);
    assert!(begin.elapsed() < S && net.registered().is_empty());
    door.shut.store(false, Ordering::Release);
    // The same credentials are tried again, 30 s apart at most.
    sleep(31 * S).await;
    assert!(matches!(register(&session, 1).await, Ok(Reply::Done)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_to_logins_does_not_hold_calls_for_ever() {
    let net = Net::new(|asked| if asked.is_login() { Answer::Never } else { Answer::Usual });
    let mut client = logged_in_client(&net);
    let session = client.connected().await;
    let error = timeout(3 * S, session.call(Call::Query { key: key() })).await.expect("an end").unwrap_err();
    assert!(matches!(&error, CallError::Login(LoginError::Unreachable { .. })), "{error:?}");
    assert_eq!(error.class(), CallClass::Transient);
}

#[tokio::test(start_paused = true)]
async fn the_token_is_replaced_before_its_life_ends_and_no_call_notices() {
    let (door, net, client, session) = logged_in().await;
    sleep(18_000 * S).await;
    assert_eq!(door.logins(), 2);
    assert!(matches!(register(&session, 2).await, Ok(Reply::Done)));
    let denied = net.asked().iter().filter(|asked| asked.authorization.is_none() && asked.is_beat()).count();
    assert_eq!((denied, client.transport.counts().beats_failed), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_beats_is_deregistered_with_a_token_at_the_end() {
    let door = Door::default();
    let net = door.net();
    let mut client = Client::over(HttpTransport::with_connector(user(&net, &["one"]), Arc::new(net.clone())));
    let session = client.connected().await;
    assert!(matches!(register(&session, 1).await, Ok(Reply::Done)));
    door.change_locks();
    assert!(client.transport.close(10 * S).await);
    assert!(net.registered().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_log_in_asks_once_and_is_told_what_to_do() {
    let net = Door::default().net();
    let mut client = Client::start(&net);
    let session = client.connected().await;
    net.asked();
    let call = Call::Register { key: key(), instance: instance(1) };
    let error = session.call(call).await.unwrap_err();
    let CallError::Refused(said) = &error else { panic!("{error:?}") };
    assert!(error.is_denial() && said.message.contains("set username and password"), "{error}");
    assert_eq!(net.asked().len(), 1);
}
