//! Calls that are not answered, are answered with an error, or with something else than expected.

use std::time::Duration;

use nacos_client::{ConfirmError, NamingService, QueryError, RegistrationStatus, Select, ServerRefusal, ServiceHandle};
use nacos_proto::code;
use nacos_proto::grpc::{InstanceRequest, ServiceQueryRequest};
use nacos_proto::{Payload, grpc::Message};
use nacos_server_min::fault::AnswerFault;

use crate::support::client::{LONG, connected, mine, ports, quick, told};
use crate::support::proxy::{Flow, Way};
use crate::support::tap::{Tap, tapped};
use crate::support::wait::{in_time, wait_until};
use crate::support::witness::foreign;
use crate::support::world::{Registry, World, in_our_worlds};

in_our_worlds!(
    cg06_every_call_ends_by_its_deadline,
    cg08_a_refusal_costs_one_request_and_no_connection,
    g04_a_failure_is_shown_with_its_code_and_text,
);

/// Ways of a server not to answer.
const SILENCES: [&str; 5] = ["frozen", "black hole", "deaf", "ignores requests", "drips"];

fn fall_silent(how: &str, registry: &Registry) {
    match how {
        "frozen" => registry.server().fault().freeze(),
        "black hole" => registry.proxy.black_hole(),
        "deaf" => registry.proxy.flow(Way::ToServer, Flow::BlackHole),
        "drips" => registry.proxy.flow(Way::ToClient, Flow::Drip(Duration::from_millis(100))),
        _ => registry.server().fault().answers(AnswerFault::silence()),
    }
}

async fn cg06_every_call_ends_by_its_deadline(world: World) {
    let mut tasks = tokio::task::JoinSet::new();
    for how in SILENCES {
        tasks.spawn(async move { every_call_ends(how, world.registry().await).await });
    }
    tasks.join_all().await;
}

async fn every_call_ends(how: &'static str, registry: Registry) {
    let nacos = registry.config().deadline(Duration::from_millis(200)).build().unwrap();
    let orders = nacos.service("orders").unwrap();
    let registration = orders.register(mine(8080)).unwrap();
    registration.confirmed_within(LONG).await.expect("it is registered");
    in_time(how, async { while orders.snapshot().await.is_err() {} }).await;
    fall_silent(how, &registry);

    orders.snapshot().await.expect("what is known needs no server");
    registration.update(|instance| instance.weight(2.0)).unwrap();
    let updated = in_time(how, registration.confirmed()).await.expect_err(how);
    assert!(matches!(updated, ConfirmError::Deadline { .. }) && updated.is_retryable(), "{how}: {updated:?}");
    let other = nacos.service("other").unwrap();
    let registered = in_time(how, nacos.register_instance("other", mine(8081))).await.expect_err(how);
    assert!(matches!(registered, ConfirmError::Deadline { .. }), "{how}: {registered:?}");
    let errors = [
        in_time(how, other.snapshot()).await.map(drop).expect_err(how),
        in_time(how, other.ready()).await.expect_err(how),
        in_time(how, other.query()).await.map(drop).expect_err(how),
        in_time(how, orders.refresh()).await.map(drop).expect_err(how),
        in_time(how, nacos.services_page("DEFAULT_GROUP", 1, 10)).await.map(drop).expect_err(how),
    ];
    for error in errors {
        let late = matches!(error, QueryError::Deadline { .. } | QueryError::NotConnected { .. });
        assert!(late && error.is_retryable(), "{how}: {error:?}");
    }
    let withdrawn = in_time(how, registration.withdraw()).await.expect_err(how);
    assert!(matches!(withdrawn, ConfirmError::Deadline { .. }), "{how}: {withdrawn:?}");
    in_time(how, nacos.shutdown(Duration::from_millis(500))).await;
}

async fn cg08_a_refusal_costs_one_request_and_no_connection(world: World) {
    let (registry, tap, nacos) = tapped(world).await;
    connected(&nacos).await;
    let fault = registry.server().fault();
    let shapes: [fn(i32, &'static str) -> AnswerFault; 3] = [
        |code, text| AnswerFault::typed(code, text),
        |code, text| AnswerFault::raised(code, text),
        |code, text| AnswerFault::error(code, text),
    ];
    for (shape, fault_of) in (1..).zip(shapes) {
        for refusal in [400, 403, 404, 409] {
            let name = format!("s{shape}-{refusal}");
            fault.answers(fault_of(refusal, "never").service(&name));
            let handle = nacos.service(&*name).unwrap();
            let registration = handle.register(mine(8080)).unwrap();
            let error = in_time(&name, registration.confirmed()).await.expect_err("refused");
            let (ConfirmError::Refused(said) | ConfirmError::Denied(said)) = &error else {
                panic!("{name}: {error:?}")
            };
            assert_eq!((said.code, error.is_retryable()), (refusal, false), "{name}");
            assert_eq!(matches!(error, ConfirmError::Denied(_)), refusal == 403, "{name}: {error:?}");
            let error = in_time(&name, handle.query()).await.expect_err("refused");
            let (QueryError::Refused(said) | QueryError::Denied(said)) = &error else { panic!("{name}: {error:?}") };
            assert_eq!((said.code, error.is_retryable()), (refusal, false), "{name}");
            // Others go on meanwhile; would it be asked again at once, that would be seen.
            for other in 0..5 {
                let other = format!("{name}-{other}");
                nacos.register_instance(&*other, mine(8080)).await.expect("it is none of its business");
            }
            assert_eq!(said_about::<InstanceRequest>(&tap, &name), 1, "{name}");
            assert_eq!(said_about::<ServiceQueryRequest>(&tap, &name), 1, "{name}");
        }
    }
    assert_eq!(nacos.stats().connects, 1, "{:?}", nacos.stats());
    assert_eq!(tap.count("ConnectionSetupRequest"), 1);
}

/// How many requests of that type were about the service.
fn said_about<M: Message>(tap: &Tap, service: &str) -> usize {
    let name = |payload: &Payload| -> Option<String> {
        let body: serde_json::Value = serde_json::from_slice(payload.json()).ok()?;
        Some(body.get("serviceName")?.as_str()?.to_owned())
    };
    tap.said_of(M::TYPE).iter().filter(|said| name(&said.payload).as_deref() == Some(service)).count()
}

async fn g04_a_failure_is_shown_with_its_code_and_text(world: World) {
    let registry = world.registry().await;
    let nacos = registry.config().deadline(Duration::from_millis(400)).build().unwrap();
    connected(&nacos).await;
    let fault = registry.server().fault();
    let mut number = 0;
    for (code, text) in [(400, "text of the 400"), (403, "text of the 403"), (500, "text of the 500"), (503, "busy")] {
        for failure in [AnswerFault::typed(code, text), AnswerFault::error(code, text), AnswerFault::raised(code, text)]
        {
            number += 1;
            let name = format!("s{number}");
            let handle = nacos.service(&*name).unwrap();
            fault.answers(failure.clone());
            let (query, list, subscribe) =
                tokio::join!(handle.query(), nacos.services_page("DEFAULT_GROUP", 1, 10), handle.snapshot());
            for (what, error) in [
                ("query", query.map(drop).expect_err("it failed")),
                ("list", list.map(drop).expect_err("it failed")),
                ("subscribe", subscribe.map(drop).expect_err("it failed")),
            ] {
                let said = refusal(&error).unwrap_or_else(|| panic!("{what} {code}: {error:?}"));
                assert_eq!((said.code, said.message.contains(text)), (code, true), "{what}: {error:?}");
            }
            registrations_fail(&handle, code, text).await;
            // A service has either ephemeral or persistent instances.
            let persistent = nacos.service(format!("p{number}")).unwrap().register(mine(8083).persistent()).unwrap();
            wait_until("the failure is seen", || shows(&persistent.status(), code, text)).await;
            fault.clear_answers();
        }
    }
    assert_eq!(nacos.stats().connects, 1, "{:?}", nacos.stats());
    let handle = nacos.service("after-all-that").unwrap();
    handle.register(mine(8080)).unwrap().confirmed_within(LONG).await.expect("the connection is as good as before");
}

fn refusal(error: &QueryError) -> Option<&ServerRefusal> {
    match error {
        QueryError::Refused(said) | QueryError::Denied(said) | QueryError::Server(said) => Some(said),
        _ => None,
    }
}

/// Single and batch registrations fail with the code and the text.
async fn registrations_fail(handle: &ServiceHandle, code: i32, text: &str) {
    let single = handle.register(mine(8080)).unwrap();
    wait_until("the failure is seen", || shows(&single.status(), code, text)).await;
    drop(single);
    let both = [handle.register(mine(8081)).unwrap(), handle.register(mine(8082)).unwrap()];
    wait_until("the failure is seen", || both.iter().all(|one| shows(&one.status(), code, text))).await;
}

fn shows(status: &RegistrationStatus, code: i32, text: &str) -> bool {
    match status {
        RegistrationStatus::Pending => false,
        RegistrationStatus::Refused(said) => said.code == code && said.message.contains(text),
        RegistrationStatus::Failing { last_error, .. } => {
            last_error.contains(&code.to_string()) && last_error.contains(text)
        }
        other => panic!("a failure is no {other:?}"),
    }
}

#[tokio::test]
async fn g04_an_answer_that_cannot_be_read_is_no_success() {
    type Spoil = fn(Payload) -> Payload;
    let bodies: [(&str, Spoil); 5] = [
        ("broken JSON", |answer| Payload::new(answer.kind(), b"{\"resultCode\":2".to_vec().into())),
        ("no JSON", |answer| Payload::new(answer.kind(), b"\xff\xfe".to_vec().into())),
        ("null", |answer| Payload::new(answer.kind(), b"null".to_vec().into())),
        ("another type", |answer| Payload::new("HealthCheckResponse", answer.body.unwrap_or_default().value)),
        ("a type nobody knows", |answer| Payload::new("NoSuchResponse", answer.body.unwrap_or_default().value)),
    ];
    for (what, spoil) in bodies {
        let (registry, tap, _) = tapped(World::Standard).await;
        let nacos = NamingService::builder().servers([tap.entry()]);
        let nacos = nacos.deadline(Duration::from_millis(300)).build().unwrap();
        connected(&nacos).await;
        tap.rewrite(move |answer| {
            let spoilt = answer.kind().ends_with("Response") && !answer.kind().starts_with("HealthCheck");
            Some(if spoilt { spoil(answer) } else { answer })
        });
        // A push would be as good as the answer.
        registry.server().fault().drop_pushes();
        let orders = nacos.service("orders").unwrap();
        for error in [
            orders.query().await.map(drop).expect_err(what),
            orders.snapshot().await.map(drop).expect_err(what),
            nacos.services_page("DEFAULT_GROUP", 1, 10).await.map(drop).expect_err(what),
        ] {
            assert!(matches!(error, QueryError::Protocol(_)), "{what}: {error:?}");
        }
        let registration = orders.register(mine(8080)).unwrap();
        let error = registration.confirmed().await.expect_err(what);
        assert!(matches!(error, ConfirmError::Deadline { last_error: Some(_), .. }), "{what}: {error:?}");
        assert_eq!(nacos.stats().connects, 1, "{what}: the connection is as good as before");
        tap.rewrite(Some);
        registration.confirmed_within(LONG).await.expect("readable answers count again");
        registry.witness().await.sees("orders", &[8080]).await;
    }
}

#[tokio::test]
async fn g17_a_server_without_batches_keeps_the_first_instance() {
    let registry = World::Standard.registry().await;
    let nacos = registry.config().timeouts(quick()).build().unwrap();
    let orders = nacos.service("orders").unwrap();
    registry.server().fault().answers(AnswerFault::error(code::NO_HANDLER, "none").request("BatchInstanceRequest"));
    let first = orders.register(mine(8080)).unwrap();
    first.confirmed().await.expect("a single instance needs no batch");
    let second = orders.register(mine(8081)).unwrap();
    let error = second.confirmed().await.expect_err("there is no batch");
    assert!(matches!(error, ConfirmError::Unsupported { needs: "2.1.1" }), "{error:?}");
    assert!(matches!(second.status(), RegistrationStatus::Unsupported { needs: "2.1.1" }), "{:?}", second.status());
    assert_eq!(first.status(), RegistrationStatus::Confirmed);
    let witness = registry.witness().await;
    witness.sees("orders", &[8080]).await;
    // Other services are none of its business, and the second takes the place that the first leaves.
    nacos.register_instance("other", mine(8082)).await.expect("it is registered");
    first.withdraw().await.expect("it is gone");
    second.confirmed_within(LONG).await.expect("it is the only one now");
    witness.sees("orders", &[8081]).await;
    assert_eq!(nacos.stats().connects, 1, "a missing feature is no reason to leave");
}

#[tokio::test]
async fn g17_a_server_that_announces_no_persistent_instances_is_asked_for_none() {
    let registry = World::Standard.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    tap.rewrite(|answer| {
        let announced = answer.kind() == "SetupAckRequest";
        Some(if announced { Payload::new("SetupAckRequest", b"{\"abilityTable\":{}}".to_vec().into()) } else { answer })
    });
    let nacos = NamingService::builder().servers([tap.entry()]).timeouts(quick()).build().unwrap();
    let orders = nacos.service("orders").unwrap();
    let persistent = orders.register(mine(8080).persistent()).unwrap();
    let error = persistent.confirmed().await.expect_err("it is not announced");
    assert!(matches!(error, ConfirmError::Unsupported { .. }), "{error:?}");
    let ephemeral = nacos.service("other").unwrap().register(mine(8081)).unwrap();
    ephemeral.confirmed().await.expect("that needs no ability");
    assert_eq!(tap.count("PersistentInstanceRequest"), 0);
    assert_eq!(nacos.stats().connects, 1);
}

#[tokio::test]
async fn g17_messages_of_types_that_nobody_knows_are_passed_over() {
    let registry = World::Standard.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    let nacos = NamingService::builder().servers([tap.entry()]).timeouts(quick()).build().unwrap();
    let mut changes = nacos.service("orders").unwrap().subscribe(Select::all());
    told(&mut changes, "the empty list", |list| list.is_empty()).await;
    for kind in ["FuzzyWatchNotifyRequest", "NoSuchRequest", "", "NotifySubscriberResponse"] {
        for body in ["{}", "{\"requestId\":\"4711\",\"module\":\"naming\"}", "", "nope"] {
            tap.inject(&Payload::new(kind, body.as_bytes().to_vec().into()));
        }
    }
    // Pushes that are none: unreadable ones are refused, the next good one counts.
    for body in ["nope", "", "null", "{}", "{\"requestId\":\"4712\",\"serviceInfo\":7}"] {
        tap.inject(&Payload::new("NotifySubscriberRequest", body.as_bytes().to_vec().into()));
    }
    tap.inject(&Payload::default());
    let witness = registry.witness().await;
    witness.register("orders", foreign(9090)).await;
    told(&mut changes, "what came afterwards", |list| ports(list) == [9090]).await;
    assert_eq!(nacos.stats().connects, 1, "{:?}", nacos.stats());
}
