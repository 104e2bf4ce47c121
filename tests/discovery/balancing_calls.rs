//! From the start of a call to its end: what is in flight, what the end means, and who is told.

use std::error::Error;
use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use nacos_client::Instance;
use nacos_discovery::{
    AddressFamily, BalanceLayer, CallInfo, Classify, Completed, Completion, Directory, Hooks, Reply, ServedBy,
    ServiceInstance, ServiceSettings, TransportFailure, Tried,
};
use tower_layer::Layer;

use crate::balancing_support::*;

/// Writes down what it is told.
#[derive(Debug, Clone, Default)]
struct Diary(Arc<Mutex<Vec<String>>>);

impl Diary {
    fn write(&self, line: String) {
        self.0.lock().expect("no panic while it is written").push(line);
    }

    /// What was written since it was read last.
    fn read(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("no panic while it is written"))
    }

    fn last(&self) -> String {
        self.read().pop().expect("it was told something")
    }
}

impl Hooks for Diary {
    fn start(&self, call: &CallInfo) {
        assert!(call.instance().is_none());
        self.write(format!("start {} {} {} {}", call.service().name(), call.method(), call.path(), call.attempt()));
    }

    fn selected(&self, call: &CallInfo, instance: &ServiceInstance) {
        assert_eq!(call.instance(), Some(instance));
        self.write(format!("selected {}", instance.port()));
    }

    fn complete(&self, call: &CallInfo, completed: &Completed<'_>, took: Duration) {
        let port = call.instance().map(ServiceInstance::port);
        self.write(match completed {
            Completed::Success { status, outcome, .. } => format!("success {status} {outcome:?} {port:?} {took:?}"),
            Completed::Failed { outcome, status, error, .. } => {
                format!("failed {outcome:?} {:?} {}", status.map(|status| status.as_u16()), error.is_some())
            }
            Completed::Discard { error, .. } => format!("discard {error}"),
            Completed::Cancelled { status, .. } => format!("cancelled {:?}", status.map(|status| status.as_u16())),
            other => format!("{other:?}"),
        });
    }
}

/// A world of one instance whose answers are scripted: the balancer with its client, the directory, and a diary.
fn told<F, Fut>(settings: ServiceSettings, answer: F) -> (nacos_discovery::Balance<Strict<F>>, Directory, Diary)
where
    F: Fn(Request<String>) -> Fut + Clone,
{
    let directory = listing(settings, at([1000]));
    let diary = Diary::default();
    let service = BalanceLayer::new(&directory).hooks(diary.clone()).layer(Strict::new(8, answer));
    (service, directory, diary)
}

fn answer(status: u16, body: Script) -> Response<Script> {
    Response::builder().status(status).body(body).expect("a response")
}

async fn read<B: Body + Unpin>(body: &mut B) -> Vec<bool> {
    let mut frames = Vec::new();
    while let Some(frame) = body.frame().await {
        frames.push(frame.is_ok());
    }
    frames
}

#[tokio::test(start_paused = true)]
async fn sc07_however_a_call_ends_nothing_stays_in_flight() {
    type Make = fn() -> io::Result<Response<Script>>;
    let cases: [(&str, Make, &str); 10] = [
        ("a body to its end", || Ok(answer(200, Script::empty().data().unseen())), "success 200"),
        ("a body whose end is seen", || Ok(answer(200, Script::empty().data())), "success 200"),
        ("no body", || Ok(answer(204, Script::empty())), "success 204"),
        ("trailers", || Ok(answer(200, Script::empty().data().trailers("0").endless())), "success 200"),
        (
            "a body that breaks off",
            || Ok(answer(200, Script::empty().data().broken())),
            "failed Transport(Broken) Some(200) false",
        ),
        ("no answer", || Err(io::ErrorKind::ConnectionReset.into()), "failed Transport(Broken) None true"),
        ("no connection", || Err(io::ErrorKind::ConnectionRefused.into()), "failed Transport(Connect) None true"),
        ("no answer in time", || Err(io::ErrorKind::TimedOut.into()), "failed Transport(Timeout) None true"),
        ("another protocol", || Ok(answer(101, Script::empty().endless())), "success 101"),
        ("a failure", || Ok(answer(500, Script::empty().unseen())), "success 500 Internal Server Error ServerFailure"),
    ];
    for (what, make, end) in cases {
        let (service, directory, diary) = told(ServiceSettings::default(), move |_| std::future::ready(make()));
        let result = send(&service, get("/a?token=t")).await;
        if let Ok(response) = result {
            let mut body = response.into_body();
            // As servers do that pass a body on: nobody asks a body for frames that says it is at its end.
            while !body.is_end_stream() && in_flight(&directory) > 0 {
                let _ = body.frame().await;
            }
            assert_eq!(in_flight(&directory), 0, "{what}: while the body is still there");
        }
        assert_eq!(in_flight(&directory), 0, "{what}");
        let lines = diary.read();
        assert_eq!(lines[..2], ["start Order_Service GET /a 1", "selected 1000"], "{what}");
        assert!(lines.len() == 3 && lines[2].starts_with(end), "{what}: {lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sc07_a_caller_that_gives_up_is_no_failure_of_the_instance_and_leaves_nothing_in_flight() {
    // While the answer is waited for.
    let (service, directory, diary) =
        told(ServiceSettings::default(), async |_| pending::<io::Result<Response<Script>>>().await);
    let call = send(&service, get("/"));
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    assert_eq!((in_flight(&directory), diary.last().as_str()), (0, "cancelled None"));

    // Before it was polled at all.
    let mut ready = service.clone();
    poll_fn(|cx| tower_service::Service::<Request<String>>::poll_ready(&mut ready, cx)).await.unwrap();
    let call = tower_service::Service::call(&mut ready, get("/"));
    assert_eq!(in_flight(&directory), 1, "the instance is picked and called at once");
    drop(call);
    assert_eq!((in_flight(&directory), diary.last().as_str()), (0, "cancelled None"));

    // While the body is read.
    let (service, directory, diary) =
        told(ServiceSettings::default(), async |_| Ok(answer(200, Script::empty().data().endless())));
    let mut body = send(&service, get("/")).await.unwrap().into_body();
    assert!(body.frame().await.is_some_and(|frame| frame.is_ok()) && body.frame().now_or_never().is_none());
    assert_eq!(in_flight(&directory), 1);
    drop(body);
    assert_eq!((in_flight(&directory), diary.last().as_str()), (0, "cancelled Some(200)"));

    // While the first list is waited for.
    let directory = silent(ServiceSettings::default());
    let service = BalanceLayer::new(&directory)
        .hooks(diary.clone())
        .layer(Strict::new(8, async |_| Ok(answer(200, Script::empty()))));
    assert!(send(&service, get("/")).now_or_never().is_none());
    assert_eq!(diary.read(), ["start Order_Service GET / 1", "cancelled None"]);
}

/// Many callers look at the status alone. If only their failures counted, a failure in a hundred would take an instance out.
#[tokio::test(start_paused = true)]
async fn where_the_body_is_not_read_the_head_is_what_counts() {
    for (status, end) in
        [(200, "success 200 OK Success { latency: 0ns }"), (500, "success 500 Internal Server Error ServerF")]
    {
        let endless = move |_| std::future::ready(Ok(answer(status, Script::empty().data().endless())));
        let (service, directory, diary) = told(ServiceSettings::default(), endless);
        let response = send(&service, get("/")).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(response);
        let told = diary.last();
        assert!(told.starts_with(end) && in_flight(&directory) == 0, "{told}");
    }
    // What gRPC means by it is not known then.
    let (service, _, diary) = told(ServiceSettings::default(), async |_| {
        Ok(Response::builder().header("content-type", "application/grpc").body(Script::empty().endless()).unwrap())
    });
    drop(send(&service, get("/")).await.unwrap());
    assert_eq!(diary.last(), "cancelled Some(200)");
}

#[tokio::test]
async fn sc07_a_panic_of_the_client_below_leaves_nothing_in_flight() {
    let (service, directory, diary) = told(ServiceSettings::default(), async |request: Request<String>| {
        assert!(request.uri().path() == "/", "as it was asked to");
        Ok(answer(200, Script::empty()))
    });
    let task = tokio::spawn({
        let service = service.clone();
        async move { send(&service, get("/panic")).await.is_ok() }
    });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!((in_flight(&directory), diary.last().as_str()), (0, "cancelled None"));
    assert!(send(&service, get("/")).await.is_ok());
}

#[tokio::test]
async fn hooks_that_panic_lose_neither_the_call_nor_what_others_are_told() {
    #[derive(Debug)]
    struct Panics;

    impl Hooks for Panics {
        fn start(&self, _: &CallInfo) {
            panic!("in start");
        }

        fn selected(&self, _: &CallInfo, _: &ServiceInstance) {
            panic!("in selected");
        }

        fn complete(&self, _: &CallInfo, _: &Completed<'_>, _: Duration) {
            panic!("in complete");
        }
    }

    let directory = listing(ServiceSettings::default(), at([1000]));
    let diary = Diary::default();
    let client = Strict::new(8, async |_| Ok(answer(200, Script::empty().data().endless())));
    let service = BalanceLayer::new(&directory).hooks(Panics).hooks(diary.clone()).layer(client);
    let response = send(&service, get("/")).await.unwrap();
    assert_eq!(in_flight(&directory), 1);
    drop(response);
    assert_eq!(in_flight(&directory), 0);
    let told = diary.read();
    assert_eq!(told[..2], ["start Order_Service GET / 1", "selected 1000"]);
    assert!(told.len() == 3 && told[2].starts_with("success 200"), "{told:?}");
}

#[tokio::test]
async fn a_call_without_an_instance_is_told_as_discarded() {
    let (service, directory, diary) = told(ServiceSettings::default(), async |_| Ok(answer(200, Script::empty())));
    orders(&directory).apply(&list(2, []));
    assert!(send(&service, get("/a")).await.is_err());
    let none = "discard no instance of DEFAULT_GROUP@@Order_Service can take the request: none is registered";
    assert_eq!(diary.read(), ["start Order_Service GET /a 1", none]);
    assert!(send(&service, Request::post("lb://unwatchable/").body(String::new()).unwrap()).await.is_err());
    assert_eq!(diary.read(), ["start unwatchable POST / 1", "discard the service cannot be discovered"]);
}

#[tokio::test]
async fn what_an_answer_means_is_read_from_status_headers_trailers_and_errors() {
    let grpc = |body: Script, status: Option<&str>| {
        let response = Response::builder().header("content-type", "application/grpc");
        status.into_iter().fold(response, |response, status| response.header("grpc-status", status)).body(body).unwrap()
    };
    let busy =
        |status: u16| Response::builder().status(status).header("retry-after", "7").body(Script::empty()).unwrap();
    for (response, means) in [
        (answer(404, Script::empty()), "Success"),
        (answer(502, Script::empty()), "ServerFailure"),
        (answer(429, Script::empty()), "Overloaded { retry_after: None }"),
        (busy(429), "Overloaded { retry_after: Some(7s) }"),
        (busy(503), "Overloaded { retry_after: Some(7s) }"),
        (answer(503, Script::empty()), "ServerFailure"),
        (grpc(Script::empty(), Some("14")), "ServerFailure"),
        (grpc(Script::empty(), Some("5")), "Success"),
        (grpc(Script::empty().data().trailers("0"), None), "Success"),
        (grpc(Script::empty().data().trailers("13"), None), "ServerFailure"),
        (grpc(Script::empty().data().trailers("8"), None), "Overloaded"),
        (grpc(Script::empty().data().unseen(), None), "Transport(Broken)"),
    ] {
        let what = format!("{response:?}");
        let response = Arc::new(Mutex::new(Some(response)));
        let (service, _, diary) = told(ServiceSettings::default(), move |_| {
            let response = response.lock().unwrap().take();
            async move { response.ok_or_else(|| io::ErrorKind::Other.into()) }
        });
        let response = send(&service, get("/")).await.unwrap();
        let _ = read(&mut response.into_body()).await;
        let end = diary.last();
        assert!(end.contains(&format!(" {means}")), "{what}: {end}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_latency_goes_to_the_end_of_the_body_or_to_the_head_as_the_settings_say() {
    let slow = async |_| {
        tokio::time::sleep(Duration::from_millis(30)).await;
        Ok(answer(200, Script::empty().data().unseen()))
    };
    for (completion, latency, open) in [(Completion::Body, 50, 1), (Completion::Headers, 30, 0)] {
        let (service, directory, diary) = told(ServiceSettings::default().with_completion(completion), slow);
        let mut body = send(&service, get("/")).await.unwrap().into_body();
        assert_eq!(in_flight(&directory), open);
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(read(&mut body).await, [true]);
        let end = diary.last();
        assert!(end.contains(&format!("Success {{ latency: {latency}ms }} Some(1000) {latency}ms")), "{end}");
    }
}

#[tokio::test]
async fn who_knows_the_client_or_the_service_better_judges_first() {
    #[derive(Debug)]
    struct Expert;

    impl Classify for Expert {
        fn error(&self, error: &(dyn Error + 'static)) -> Option<TransportFailure> {
            let io = error.downcast_ref::<io::Error>()?;
            (io.kind() == io::ErrorKind::NotConnected).then_some(TransportFailure::Connect)
        }

        fn reply(&self, status: StatusCode, headers: &http::HeaderMap) -> Option<Reply> {
            (status == StatusCode::OK && headers.contains_key("x-busy"))
                .then_some(Reply::Overloaded { retry_after: None })
        }
    }

    let directory = listing(ServiceSettings::default(), at([1000]));
    let diary = Diary::default();
    let client = Strict::new(8, async |request: Request<String>| match request.uri().path() {
        "/lost" => Err(io::ErrorKind::NotConnected.into()),
        _ => Ok(Response::builder().header("x-busy", "1").body(Script::empty()).unwrap()),
    });
    let service = BalanceLayer::new(&directory).classify(Expert).hooks(diary.clone()).layer(client);
    let error = send(&service, get("/lost")).await.unwrap_err();
    assert_eq!((error.failure(), error.status()), (Some(TransportFailure::Connect), StatusCode::BAD_GATEWAY));
    assert!(error.to_string().starts_with("the call of http://127.0.0.1:1000 failed"), "{error}");
    send(&service, get("/busy")).await.unwrap();
    let end = diary.last();
    assert!(end.starts_with("success 200 OK Overloaded"), "{end}");
}

#[tokio::test]
async fn whoever_tried_an_instance_does_not_get_it_again_and_attempts_are_counted() {
    let directory = listing(ServiceSettings::default(), at([1000, 1001, 1002]));
    let diary = Diary::default();
    let client = Strict::new(8, async |_| Err::<Response<Script>, _>(io::ErrorKind::ConnectionRefused.into()));
    let service = BalanceLayer::new(&directory).hooks(diary.clone()).layer(client);
    let tried = Tried::new();
    for attempt in 1..=3 {
        let mut request = get("/");
        request.extensions_mut().insert(tried.clone());
        let error = send(&service, request).await.unwrap_err();
        assert_eq!(error.failure(), Some(TransportFailure::Connect));
        assert_eq!(diary.read()[0], format!("start Order_Service GET / {attempt}"));
    }
    let mut ports: Vec<_> = tried.instances().iter().map(ServiceInstance::port).collect();
    ports.sort_unstable();
    assert_eq!(ports, [1000, 1001, 1002]);
    let mut request = get("/");
    request.extensions_mut().insert(tried.clone());
    let error = send(&service, request).await.unwrap_err();
    assert!(error.to_string().contains("all 3 were tried"), "{error}");
    assert_eq!(in_flight(&directory), 0);
}

#[tokio::test]
async fn failures_that_the_balancer_reads_eject_the_instance_and_cancelled_calls_do_not() {
    let directory = listing(ServiceSettings::default(), at([1000, 1001]));
    let client = Strict::new(64, async |request: Request<String>| match (port(&request), request.uri().path()) {
        (1000, "/wait") => pending().await,
        (1000, _) => Ok(answer(500, Script::empty())),
        _ => Ok(answer(200, Script::empty())),
    });
    let service = BalanceLayer::new(&directory).layer(client.clone());
    for _ in 0..100 {
        let mut call = pin!(send(&service, get("/wait")));
        let _ = poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_ready())).await;
    }
    let bad = async |count: usize| {
        let mut bad = 0;
        for _ in 0..count {
            bad += usize::from(send(&service, get("/")).await.unwrap().status() == 500);
        }
        bad
    };
    let first = bad(100).await;
    assert!((5..50).contains(&first), "a hundred calls that were given up had not ejected it, failures did: {first}");
    assert_eq!(bad(100).await, 0);
}

#[tokio::test]
async fn the_response_tells_who_served_it() {
    let secure = Instance::new(("2001:db8::1", 8443)).metadata("secure", "true");
    let directory = listing(ServiceSettings::default().with_address_family(AddressFamily::Dual), [secure]);
    let client = Strict::new(1, async |_| Ok(answer(200, Script::empty())));
    let response = send(&BalanceLayer::new(&directory).layer(client), get("/")).await.unwrap();
    let served = response.extensions().get::<ServedBy>().expect("it says so");
    assert_eq!(served.to_string(), "https://[2001:db8::1]:8443");
    assert_eq!((served.instance().service().name(), served.instance().port()), (ORDERS, 8443));
}
