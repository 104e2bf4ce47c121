//! Errors and what is shown of values: typed, true about retrying, and never a panic, whatever the text.

use std::error::Error;
use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use nacos_client::{
    ConfirmError, Instance, InstanceAddr, InstanceKey, Namespace, NamingService, QueryError, RegistrationStatus,
    Select, ServiceKey,
};
use nacos_proto::grpc::{InstanceRequest, Message, ServiceQueryRequest};
use nacos_server_min::fault::AnswerFault;
use proptest::prelude::*;

use crate::support::client::{LONG, connected, mine};
use crate::support::consumer::service;
use crate::support::tap::Tap;
use crate::support::wait::{in_time, wait_until};
use crate::support::world::{World, in_our_worlds, unique};

in_our_worlds!(
    cg57_what_errors_say_of_retrying_is_what_the_client_did,
    cg57_what_a_confirmation_says_of_retrying_is_what_the_client_does,
);

/// Answers of a server: the code, as a general error or as the request's own answer, and whether it may change its mind.
const ANSWERS: [(i32, bool); 8] =
    [(400, false), (403, false), (404, false), (302, false), (502, false), (500, true), (503, true), (300, true)];

fn answers(code: i32) -> [AnswerFault; 2] {
    [AnswerFault::raised(code, "said no"), AnswerFault::typed(code, "said no")]
}

async fn cg57_what_errors_say_of_retrying_is_what_the_client_did(world: World) {
    let registry = world.registry().await;
    let tap = Tap::to(registry.grpc()).await;
    let client = |deadline| NamingService::builder().servers([tap.entry()]).deadline(deadline).build();
    let (patient, hasty) = (client(LONG).unwrap(), client(Duration::from_secs(1)).unwrap());
    connected(&patient).await;
    connected(&hasty).await;
    let name = unique("orders");
    let (orders, soon) = (service(&patient, &name), service(&hasty, &name));
    let asked = || tap.count(ServiceQueryRequest::TYPE);
    for (code, retryable) in ANSWERS {
        for answer in answers(code) {
            // Said once: is it asked again, and answered then?
            registry.server().fault().answers(answer.request(ServiceQueryRequest::TYPE).times(1));
            let before = asked();
            let answered = in_time("the query", orders.query()).await;
            assert_eq!((answered.is_ok(), asked() - before), (retryable, 1 + usize::from(retryable)), "{code}");
            if let Err(error) = answered {
                is_told(code, retryable, &error);
            }
        }
        if retryable {
            // Said for ever: the error says that it may help to ask later.
            registry.server().fault().answers(AnswerFault::raised(code, "said no").request(ServiceQueryRequest::TYPE));
            is_told(code, retryable, &in_time("the query", soon.query()).await.expect_err("the server says no"));
            registry.server().fault().clear_answers();
        }
    }
    orders.query().await.expect("and then it answers");
    let connects = (patient.stats().connects, hasty.stats().connects);
    assert_eq!(connects, (1, 1), "no answer was taken for a broken connection");
}

fn is_told(code: i32, retryable: bool, error: &QueryError) {
    assert_eq!(error.is_retryable(), retryable, "{code}: {error:?}");
    match error {
        QueryError::Refused(said) | QueryError::Denied(said) | QueryError::Server(said) => {
            // Whoever is denied and has no user is told to set one, too.
            assert!(said.code == code && said.message.starts_with("said no"), "{code}: {said:?}");
            assert!(error.source().is_some(), "the refusal is the source");
        }
        QueryError::Unsupported { .. } => assert_eq!(code, 302),
        other => panic!("{code}: {other:?}"),
    }
}

async fn cg57_what_a_confirmation_says_of_retrying_is_what_the_client_does(world: World) {
    let registry = world.registry().await;
    let nacos = registry.client();
    connected(&nacos).await;
    for (code, retryable) in ANSWERS {
        let name = unique("orders");
        let fault = AnswerFault::raised(code, "said no").request(InstanceRequest::TYPE).service(&name);
        registry.server().fault().answers(fault);
        let sent = nacos.stats().writes;
        let registration = service(&nacos, &name).register(mine(1)).expect("it is valid");
        if retryable {
            let attempts = || match registration.status() {
                RegistrationStatus::Failing { attempts, .. } => attempts,
                _ => 0,
            };
            wait_until("it is tried again", || attempts() >= 2).await;
            let error = registration.confirmed_within(Duration::from_millis(1)).await.expect_err("the server says no");
            assert!(error.is_retryable(), "{code}: {error:?}");
            assert!(matches!(error, ConfirmError::Deadline { last_error: Some(_), .. }), "{code}: {error:?}");
            registry.server().fault().clear_answers();
            registration.confirmed_within(LONG).await.expect("waiting again, as the error says, helps");
            registration.withdraw().await.expect("it is acknowledged");
        } else {
            let error = registration.confirmed_within(LONG).await.expect_err("the server says no");
            assert!(!error.is_retryable(), "{code}: {error:?}");
            match (&error, registration.status()) {
                (ConfirmError::Refused(said) | ConfirmError::Denied(said), RegistrationStatus::Refused(known)) => {
                    assert_eq!((said.code, &known), (code, said));
                }
                (ConfirmError::Unsupported { .. }, RegistrationStatus::Unsupported { .. }) => assert_eq!(code, 302),
                other => panic!("{code}: {other:?}"),
            }
            assert_eq!(nacos.stats().writes - sent, 1, "{code}: and it was asked once");
            registry.server().fault().clear_answers();
        }
    }
    assert_eq!(nacos.stats().connects, 1, "no answer was taken for a broken connection");
}

/// Sources of tests and examples that use the client.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn cg57_no_test_or_example_compares_the_text_of_an_error() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace");
    let mut files = Vec::new();
    for folder in ["examples", "nacos-client/src", "nacos-discovery/src", "tests/e2e"] {
        sources(&root.join(folder), &mut files);
    }
    assert!(files.len() > 20);
    let compared = ["error", "err", "e"].map(|name| {
        ["contains(", "starts_with(", "ends_with(", "as_str() ==", "eq("].map(|by| format!("{name}.to_string().{by}"))
    });
    for file in files.iter().filter(|file| !file.ends_with("e2e/errors.rs")) {
        let source = std::fs::read_to_string(file).expect("sources are text");
        // That a message does not repeat its source is about texts.
        let lines = source.lines().filter(|line| !line.contains("source.to_string()"));
        for line in lines {
            let found = compared.iter().flatten().find(|pattern| line.contains(pattern.as_str()));
            assert!(found.is_none(), "{}: {line}", file.display());
        }
    }
}

/// Shows a value in every form, which must not panic; cut forms too.
fn shown(value: &(impl Debug + ?Sized)) -> usize {
    format!("{value:?}{value:#?}{value:.7?}").len()
}

fn displayed(value: &(impl Display + Debug + ?Sized)) -> usize {
    shown(value) + format!("{value}{value:.7}{value:>40}").len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn c01_every_value_can_be_shown_with_any_text(text in "\\PC{0,100}|.{0,100}|[e\u{301}\u{1F469}\u{200D}\u{4E2D}\u{6587}\u{10FFFF}]{0,100}") {
        let addr = InstanceAddr::new(text.as_str(), 8080);
        let instance = Instance::new(addr.clone()).cluster(text.as_str()).metadata(text.as_str(), text.as_str());
        let sizes = [
            displayed(&addr),
            displayed(&instance),
            displayed(&instance.key()),
            displayed(&InstanceKey::new((text.as_str(), 1), &text)),
            displayed(&ServiceKey::new(&text, &text)),
            displayed(&Namespace::new(&text)),
            shown(&Select::all().clusters([text.clone()])),
            shown(&NamingService::builder().servers([text.clone()]).namespace(&text).app_name(&text).label(&text, &text)),
        ];
        prop_assert!(sizes.iter().all(|size| *size > 0));
        // Refused or not, what is said about it can be shown.
        let errors: Vec<Box<dyn Error>> = [
            NamingService::builder().servers([text.clone()]).build().err().map(|e| Box::new(e) as Box<dyn Error>),
            Instance::parse(&text).err().map(|e| Box::new(e) as Box<dyn Error>),
        ]
        .into_iter()
        .flatten()
        .collect();
        prop_assert!(errors.iter().all(|error| displayed(error) > 0));
        let nacos = Arc::new(NamingService::builder().servers(["127.0.0.1:8848"]).build().expect("the settings are valid"));
        match nacos.service((text.as_str(), text.as_str())) {
            Ok(handle) => {
                let refused = handle.register(instance).map(drop).expect_err("there is no runtime");
                prop_assert!(displayed(&refused) + shown(&handle) > 0);
            }
            Err(error) => prop_assert!(displayed(&error) > 0),
        }
    }
}
