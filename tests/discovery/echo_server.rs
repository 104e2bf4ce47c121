//! A gRPC server of tonic that does what messages ask for, and tells what reached it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::{Stream, StreamExt, stream};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nacos_client::Instance;
use nacos_discovery::adapters::hyper::HyperSettings;
use nacos_discovery::adapters::tonic::TonicBalanced;
use nacos_discovery::{BalanceLayer, Directory, EjectionState};
use nacos_tests::wait::eventually;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tonic::{Code, Request, Response, Status, Streaming};
use tower_service::Service;

use crate::calling::{CALLED, called};
use crate::echo::echo_client::EchoClient;
use crate::echo::echo_server::{Echo, EchoServer as Generated};
use crate::echo::{Asked, Told};
use crate::support::{FREE, listen};

/// Says nothing more, for ever.
pub(crate) const SILENT: &str = "silent";
/// Ends with `INTERNAL`.
pub(crate) const FAIL: &str = "fail";

type Answers = Pin<Box<dyn Stream<Item = Result<Told, Status>> + Send>>;

#[derive(Debug, Default)]
struct Log {
    calls: AtomicUsize,
    ended: AtomicUsize,
    /// What calls said of their time.
    timeouts: Mutex<Vec<Option<String>>>,
    /// What every call is answered, if anything.
    answer: Mutex<Option<Code>>,
}

/// A server on 127.0.0.1 that runs until it is dropped; its connections break then.
#[derive(Debug)]
pub(crate) struct EchoServer {
    address: SocketAddr,
    log: Arc<Log>,
    serving: AbortHandle,
}

impl EchoServer {
    pub(crate) async fn start() -> Self {
        let (listener, _) = listen().await;
        Self::on(listener)
    }

    /// At the address of one that was dropped, once that is free again.
    pub(crate) async fn again(address: SocketAddr) -> Self {
        Self::on(eventually("the address", async || TcpListener::bind(address).await.ok()).await)
    }

    fn on(listener: TcpListener) -> Self {
        let address = listener.local_addr().expect("it is bound");
        let log = Arc::<Log>::default();
        let echo = Echoing { address, log: Arc::clone(&log) };
        let serving = tokio::spawn(accept(listener, echo)).abort_handle();
        Self { address, log, serving }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn instance(&self) -> Instance {
        Instance::new(self.address)
    }

    /// Calls that began.
    pub(crate) fn calls(&self) -> usize {
        self.log.calls.load(Ordering::SeqCst)
    }

    /// Calls that have ended, in whatever way.
    pub(crate) fn ended(&self) -> usize {
        self.log.ended.load(Ordering::SeqCst)
    }

    /// What calls said of their time.
    pub(crate) fn timeouts(&self) -> Vec<Option<String>> {
        self.log.timeouts.lock().expect("no test failed with it").clone()
    }

    /// What every call is answered from now on; `None` for what it asks for.
    pub(crate) fn answer(&self, code: Option<Code>) {
        *self.log.answer.lock().expect("no test failed with it") = code;
    }
}

impl Drop for EchoServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn accept(listener: TcpListener, echo: Echoing) {
    let mut connections = JoinSet::new();
    let service = Generated::new(echo).max_decoding_message_size(usize::MAX);
    loop {
        let (connection, _) = listener.accept().await.expect("a listener accepts");
        connection.set_nodelay(true).expect("a connection");
        let service = service.clone();
        let answer = service_fn(move |request| {
            let mut service = service.clone();
            async move { Ok::<_, Infallible>(service.call(request).await.unwrap_or_else(|never| match never {})) }
        });
        let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
        connections.spawn(serving.serve_connection(TokioIo::new(connection), answer));
    }
}

/// What is served.
#[derive(Debug)]
struct Echoing {
    address: SocketAddr,
    log: Arc<Log>,
}

/// A call; dropping it is its end.
struct Call(Arc<Log>);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

impl Echoing {
    fn begin<T>(&self, request: &Request<T>) -> Result<Call, Status> {
        let timeout = request.metadata().get("grpc-timeout").map(|value| value.to_str().expect("digits").to_owned());
        self.log.timeouts.lock().expect("no test failed with it").push(timeout);
        self.log.calls.fetch_add(1, Ordering::SeqCst);
        let call = Call(Arc::clone(&self.log));
        let code = *self.log.answer.lock().expect("no test failed with it");
        code.map_or(Ok(call), |code| Err(Status::new(code, "as it was told to")))
    }

    fn told(&self, text: String) -> Told {
        Told { text, by: self.address.to_string() }
    }
}

/// What a message asks for.
async fn do_as(text: &str) -> Result<(), Status> {
    match text {
        SILENT => std::future::pending().await,
        FAIL => Err(Status::internal("it was asked for")),
        _ => Ok(()),
    }
}

#[tonic::async_trait]
impl Echo for Echoing {
    type ManyStream = Answers;
    type ChatStream = Answers;

    async fn once(&self, request: Request<Asked>) -> Result<Response<Told>, Status> {
        let _call = self.begin(&request)?;
        let text = request.into_inner().text;
        do_as(&text).await?;
        Ok(Response::new(self.told(text)))
    }

    /// What is asked for comes after the answers.
    async fn many(&self, request: Request<Asked>) -> Result<Response<Answers>, Status> {
        let call = self.begin(&request)?;
        let asked = request.into_inner();
        let answers: Vec<_> = (0..asked.count).map(|number| Ok(self.told(number.to_string()))).collect();
        let end = stream::once(async move { do_as(&asked.text).await.err() });
        let all = stream::iter(answers).chain(end.filter_map(async |error| error.map(Err)));
        Ok(Response::new(Box::pin(all.inspect(move |_| drop_with(&call)))))
    }

    async fn gather(&self, request: Request<Streaming<Asked>>) -> Result<Response<Told>, Status> {
        let _call = self.begin(&request)?;
        let mut messages = request.into_inner();
        let mut texts = Vec::new();
        while let Some(asked) = messages.message().await? {
            do_as(&asked.text).await?;
            texts.push(asked.text);
        }
        Ok(Response::new(self.told(texts.join(" "))))
    }

    async fn chat(&self, request: Request<Streaming<Asked>>) -> Result<Response<Answers>, Status> {
        let call = self.begin(&request)?;
        let by = self.address.to_string();
        let answers = request.into_inner().then(move |asked| {
            drop_with(&call);
            let by = by.clone();
            async move {
                let text = asked?.text;
                do_as(&text).await?;
                Ok(Told { text, by })
            }
        });
        Ok(Response::new(Box::pin(answers)))
    }
}

/// Makes a closure own the call.
const fn drop_with(_: &Call) {}

/// A stub over the whole stack, for the instances of [`CALLED`].
pub(crate) fn stub(directory: &Directory) -> EchoClient<TonicBalanced> {
    let client = HyperSettings::default().with_http2().build();
    EchoClient::new(TonicBalanced::new(client, &BalanceLayer::for_service(directory, CALLED)))
}

pub(crate) fn asked(text: &str) -> Asked {
    Asked { text: text.to_owned(), count: 0 }
}

/// How many failures in a row the only instance has.
pub(crate) fn failures(directory: &Directory) -> u32 {
    match called(directory).all()[0].ejection() {
        EjectionState::Healthy { failures } => failures,
        state => panic!("{state:?}"),
    }
}

/// An address that no server has any longer.
pub(crate) async fn abandoned() -> SocketAddr {
    TcpListener::bind(FREE).await.and_then(|listener| listener.local_addr()).expect("a free port")
}
