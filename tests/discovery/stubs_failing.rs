//! Calls of real stubs that fail: what stubs are told, what is repeated, and who is blamed.

use std::error::Error;

use futures_util::stream;
use http::Method;
use nacos_discovery::{
    BalanceError, EjectionState, Idempotent, NoInstanceReason, RetrySettings, ServiceSettings, TransportFailure,
};
use nacos_tests::wait::in_time;
use tonic::{Code, Request, Status};

use crate::calling::*;
use crate::echo::Asked;
use crate::echo_server::*;
use crate::fault_server::{Behaviour, FaultServer, Refusing};

fn of_balancer(status: &Status) -> &BalanceError {
    status.source().and_then(|source| source.downcast_ref()).expect("what the balancer says")
}

#[tokio::test]
async fn while_an_instance_is_down_no_call_of_any_kind_fails() {
    let (down, up) = (Refusing::new(), EchoServer::start().await);
    let directory = directory([preferred(down.instance()), up.instance()], ServiceSettings::default());
    let mut stub = stub(&directory);
    for _ in 0..20 {
        assert_eq!(stub.once(asked("a")).await.unwrap().into_inner().by, up.address().to_string());
        let gathered = stub.gather(stream::iter(["a", "b"].map(asked))).await.unwrap();
        assert_eq!(gathered.into_inner().text, "a b");
        let mut chat = stub.chat(stream::iter([asked("a")])).await.unwrap().into_inner();
        assert_eq!(chat.message().await.unwrap().unwrap().text, "a");
        let mut many = stub.many(Asked { text: String::new(), count: 1 }).await.unwrap().into_inner();
        assert_eq!(many.message().await.unwrap().unwrap().text, "0");
    }
    assert_eq!(in_flight(&directory), 0);
}

#[tokio::test]
async fn a_call_that_nobody_can_take_is_unavailable_and_says_why() {
    let nobody = directory([], ServiceSettings::default());
    let status = stub(&nobody).once(asked("")).await.unwrap_err();
    let BalanceError::NoInstance(none) = of_balancer(&status) else { panic!("{status:?}") };
    assert_eq!((status.code(), &none.reason), (Code::Unavailable, &NoInstanceReason::NoneRegistered));
    assert_eq!(status.message(), none.to_string());

    let refusing = Refusing::new();
    let down = directory([refusing.instance()], ServiceSettings::default());
    let status = stub(&down).once(asked("")).await.unwrap_err();
    let error = of_balancer(&status);
    assert_eq!((status.code(), error.failure()), (Code::Unavailable, Some(TransportFailure::Connect)));
    assert_eq!(status.message(), error.to_string());
    assert!(status.message().contains(&refusing.address().to_string()), "{status:?}");

    // Without a connector that speaks TLS.
    let server = EchoServer::start().await;
    let secure = directory([server.instance().metadata("secure", "true")], ServiceSettings::default());
    let status = stub(&secure).once(asked("")).await.unwrap_err();
    assert_eq!((status.code(), server.calls(), in_flight(&secure)), (Code::Unavailable, 0, 0));
}

#[tokio::test]
async fn a_server_that_speaks_no_http_2_is_told_as_a_failure_of_the_instance() {
    let server = FaultServer::start(Behaviour::Answer(200, Vec::new())).await;
    let directory = directory([server.instance()], ServiceSettings::default());
    let status = in_time("the end", stub(&directory).once(asked(""))).await.unwrap_err();
    assert!(matches!(status.code(), Code::Unavailable | Code::Internal), "{status:?}");
    assert_eq!((failures(&directory), in_flight(&directory)), (1, 0));
}

#[tokio::test]
async fn statuses_in_trailers_eject_an_instance_and_those_of_the_request_do_not() {
    let servers = [EchoServer::start().await, EchoServer::start().await];
    let directory = directory(servers.iter().map(EchoServer::instance), ServiceSettings::default());
    let mut stub = stub(&directory);
    servers[0].answer(Some(Code::NotFound));
    for _ in 0..40 {
        let _ = stub.once(asked("")).await;
    }
    let ejected = |state: EjectionState| matches!(state, EjectionState::Ejected { .. });
    let count = || called(&directory).all().iter().filter(|endpoint| ejected(endpoint.ejection())).count();
    assert_eq!(count(), 0);

    servers[0].answer(Some(Code::Internal));
    let before = servers[0].calls();
    let mut failed = 0;
    for _ in 0..100 {
        // A status after messages counts as one before them.
        let many = Asked { text: String::new(), count: 2 };
        let outcome = match stub.many(many).await {
            Ok(answers) => collected(answers.into_inner()).await,
            Err(status) => Err(status),
        };
        failed += usize::from(outcome.is_err_and(|status| status.code() == Code::Internal));
    }
    let reached = servers[0].calls() - before;
    assert_eq!((failed, count()), (reached, 1), "what fails is told as it is");
    assert!((5..100).contains(&reached), "{reached}");
    assert_eq!(in_flight(&directory), 0);
}

async fn collected(mut answers: tonic::Streaming<crate::echo::Told>) -> Result<Vec<String>, Status> {
    let mut texts = Vec::new();
    while let Some(told) = answers.message().await? {
        texts.push(told.text);
    }
    Ok(texts)
}

#[tokio::test]
async fn a_status_behind_messages_counts_against_the_instance() {
    let server = EchoServer::start().await;
    let directory = directory([server.instance()], ServiceSettings::default());
    let failing = Asked { text: FAIL.to_owned(), count: 2 };
    let answers = stub(&directory).many(failing).await.unwrap().into_inner();
    assert_eq!(collected(answers).await.unwrap_err().code(), Code::Internal);
    assert_eq!((failures(&directory), in_flight(&directory)), (1, 0));
}

#[tokio::test]
async fn unavailable_is_repeated_with_the_whole_message_only_if_the_settings_say_so() {
    for (retry, repeated) in [
        (RetrySettings::default(), false),
        (RetrySettings::default().with_grpc_unavailable(), true),
        (RetrySettings::off().with_grpc_unavailable(), false),
    ] {
        let (bad, good) = (EchoServer::start().await, EchoServer::start().await);
        bad.answer(Some(Code::Unavailable));
        let settings = ServiceSettings::default().with_retry(retry);
        let directory = directory([preferred(bad.instance()), spare(good.instance())], settings);
        let told = stub(&directory).once(asked("all of it")).await;
        assert_eq!((bad.calls(), good.calls()), (1, usize::from(repeated)));
        match told {
            Ok(told) => assert_eq!((repeated, told.into_inner().text.as_str()), (true, "all of it")),
            Err(status) => assert_eq!((repeated, status.code()), (false, Code::Unavailable)),
        }
        assert_eq!(in_flight(&directory), 0);
    }
}

/// What a server breaks off is repeated only where a call says of itself that this does no harm.
#[tokio::test]
async fn sc13_a_call_that_reached_an_instance_is_sent_once_unless_it_is_marked() {
    let (bad, good) = (FaultServer::start(Behaviour::Reset).await, EchoServer::start().await);
    let directory = directory([preferred(bad.instance()), spare(good.instance())], ServiceSettings::default());
    let mut stub = stub(&directory);
    stub.once(asked("once")).await.unwrap_err();
    assert_eq!((bad.touched(), good.calls()), (1, 0), "all calls are {}s", Method::POST);
    let mut marked = Request::new(asked("again"));
    marked.extensions_mut().insert(Idempotent::new());
    assert_eq!(stub.once(marked).await.unwrap().into_inner().text, "again");
    assert_eq!((bad.touched(), good.calls()), (2, 1));
}

#[tokio::test]
async fn a_stream_whose_instance_dies_ends_as_unavailable_and_the_next_call_goes_elsewhere() {
    let (dying, other) = (EchoServer::start().await, EchoServer::start().await);
    let directory = directory([preferred(dying.instance()), spare(other.instance())], ServiceSettings::default());
    let mut stub = stub(&directory);
    let endless = Asked { text: SILENT.to_owned(), count: 1 };
    let mut answers = stub.many(endless).await.unwrap().into_inner();
    assert_eq!(answers.message().await.unwrap().unwrap().by, dying.address().to_string());
    drop(dying);
    let status = in_time("the end", answers.message()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    assert_eq!(in_flight(&directory), 0);
    let told = in_time("the next call", stub.once(asked(""))).await.unwrap().into_inner();
    assert_eq!(told.by, other.address().to_string());
}

#[tokio::test]
async fn a_message_that_the_stub_cannot_send_is_told_as_such_and_blames_nobody() {
    let server = EchoServer::start().await;
    let directory = directory([server.instance()], ServiceSettings::default());
    let mut stub = stub(&directory).max_encoding_message_size(10);
    let status = in_time("the end", stub.once(asked("far more than that"))).await.unwrap_err();
    // What the stub refused is lost on its way through HTTP/2, but not that it was the stub.
    assert_eq!(status.code(), Code::Internal, "{status:?}");
    assert!(status.message().contains("larger than the stub allows"), "{status:?}");
    assert_eq!((failures(&directory), in_flight(&directory)), (0, 0));
    stub.once(asked("")).await.unwrap();
}
