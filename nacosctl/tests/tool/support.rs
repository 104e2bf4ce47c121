//! Running the tool, and registries for it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Stdio;

use nacos_client::{Instance, NamingService, Registration};
use nacos_server_min::Server;
use nacos_tests::wait::in_time;
use serde_json::Value;
use tokio::process::{Child, Command};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    /// The output as one document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The same run, which must have ended so.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// The tool, not yet started.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nacosctl"));
    // What the tests are run with is not for the tool.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("NACOS")) {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Starts the tool.
pub(crate) fn start(arguments: &[&str]) -> Child {
    command(arguments).spawn().expect("the tool starts")
}

/// Waits for the end of the tool.
pub(crate) async fn end(child: Child) -> Run {
    let output = in_time("the end of the tool", child.wait_with_output()).await.expect("the tool ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Run { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

/// Runs the tool to its end.
pub(crate) async fn run(arguments: &[&str]) -> Run {
    end(start(arguments)).await
}

/// Runs the tool against a server.
pub(crate) async fn ctl(server: &str, arguments: &[&str]) -> Run {
    let all: Vec<&str> = ["--server", server].into_iter().chain(arguments.iter().copied()).collect();
    run(&all).await
}

/// A registry, and how the tool is told of it.
pub(crate) struct World {
    pub(crate) server: Server,
    pub(crate) addr: String,
    /// Stands before the server and offers no more than 2.x.
    _front: Option<MockServer>,
}

impl World {
    /// A server with all generations of the interface.
    pub(crate) async fn new() -> Self {
        let server = Server::builder().start().await.expect("a server");
        Self { addr: server.server_addr(), server, _front: None }
    }

    /// The same, seen as 2.x: no path of 3.x.
    pub(crate) async fn old() -> Self {
        let world = Self::new().await;
        let front = MockServer::start().await;
        let forward = Forward { to: world.server.http_addr() };
        Mock::given(matchers::any()).respond_with(forward).mount(&front).await;
        let addr = format!("{}?grpc_port={}", front.address(), world.server.grpc_addr().port());
        Self { addr, _front: Some(front), ..world }
    }

    /// Runs the tool against it.
    pub(crate) async fn ctl(&self, arguments: &[&str]) -> Run {
        ctl(&self.addr, arguments).await
    }

    /// A client that is not the tool.
    pub(crate) fn client(&self) -> NamingService {
        self.client_in("public")
    }

    /// The same in another namespace.
    pub(crate) fn client_in(&self, namespace: &str) -> NamingService {
        let builder = NamingService::builder().servers([self.server.server_addr()]).namespace(namespace);
        builder.build().expect("a client")
    }
}

/// Registers an instance and waits until it is.
pub(crate) async fn register(client: &NamingService, service: (&str, &str), instance: Instance) -> Registration {
    let registration = client.service(service).expect("a name").register(instance).expect("a registration");
    in_time("the registration", registration.confirmed()).await.expect("a confirmation");
    registration
}

/// Passes requests on to a server, but for the paths of 3.x.
struct Forward {
    to: SocketAddr,
}

impl Respond for Forward {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let path = request.url.path();
        if path.starts_with("/nacos/v3/") {
            let page = serde_json::json!({ "status": 404, "error": "Not Found", "path": path });
            return ResponseTemplate::new(404).set_body_json(page);
        }
        let target = request.url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        let head = format!("{} {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", request.method, self.to);
        let mut stream = TcpStream::connect(self.to).expect("a connection");
        stream.write_all(head.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok()).expect("a status");
        ResponseTemplate::new(status).set_body_string(body)
    }
}
