//! Servers that do what a test says, and else what a small registry would.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, io,
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::servers::{Connector, DialError, Host, Link};

const PIPE: usize = 64 * 1024;

/// One request, as a server saw it.
#[derive(Debug, Clone)]
pub(in crate::transport::http) struct Asked {
    pub(in crate::transport::http) at: Instant,
    /// The host that was dialed.
    pub(in crate::transport::http) server: String,
    /// Method and path.
    pub(in crate::transport::http) what: String,
    pub(in crate::transport::http) query: BTreeMap<String, String>,
    /// The form body.
    pub(in crate::transport::http) form: BTreeMap<String, String>,
    pub(in crate::transport::http) authorization: Option<String>,
    /// The content of a full beat.
    pub(in crate::transport::http) beat: Option<Value>,
}

impl Asked {
    pub(in crate::transport::http) fn is_beat(&self) -> bool {
        self.what == "PUT /nacos/v1/ns/instance/beat"
    }

    pub(in crate::transport::http) fn is_register(&self) -> bool {
        self.what == "POST /nacos/v1/ns/instance"
    }

    pub(in crate::transport::http) fn is_deregister(&self) -> bool {
        self.what == "DELETE /nacos/v1/ns/instance"
    }

    pub(in crate::transport::http) fn is_probe(&self) -> bool {
        self.what == "GET /nacos/v1/ns/operator/metrics"
    }

    pub(in crate::transport::http) fn is_login(&self) -> bool {
        self.what.starts_with("POST /nacos/") && self.what.ends_with("/login")
    }

    pub(in crate::transport::http) fn port(&self) -> u16 {
        self.query.get("port").map_or(0, |port| port.parse().unwrap())
    }
}

/// What a server does with one request.
#[derive(Debug, Clone)]
pub(in crate::transport::http) enum Answer {
    Say(u16, String),
    /// Grants a login with this token.
    Grant(String),
    /// Answers later; what it does to the registry it does then.
    After(Duration, Box<Self>),
    /// What the registry says.
    Usual,
    Never,
    /// Closes the connection without an answer.
    Cut,
}

type Script = Box<dyn Fn(&Asked) -> Answer + Send + Sync>;

/// All servers of a test, and the way to them.
#[derive(Clone)]
pub(in crate::transport::http) struct Net(Arc<Mutex<State>>);

struct State {
    script: Arc<Script>,
    log: Vec<Asked>,
    registered: BTreeSet<(String, u16)>,
    refusing: BTreeSet<String>,
    black_holes: BTreeSet<String>,
    connections: usize,
    most_connections: usize,
    /// `clientBeatInterval` of the answers.
    interval: Value,
    light: bool,
}

impl Net {
    /// Servers that follow `script`.
    pub(in crate::transport::http) fn new(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self(Arc::new(Mutex::new(State {
            script: Arc::new(Box::new(script)),
            log: Vec::new(),
            registered: BTreeSet::new(),
            refusing: BTreeSet::new(),
            black_holes: BTreeSet::new(),
            connections: 0,
            most_connections: 0,
            interval: json!(5000),
            light: true,
        })))
    }

    /// Servers that do what they should.
    pub(in crate::transport::http) fn usual() -> Self {
        Self::new(|_| Answer::Usual)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    pub(in crate::transport::http) fn script(&self, script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) {
        self.state().script = Arc::new(Box::new(script));
    }

    /// What was asked since the last look.
    pub(in crate::transport::http) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state().log)
    }

    pub(in crate::transport::http) fn refuse(&self, server: &str) {
        self.state().refusing.insert(server.to_owned());
    }

    pub(in crate::transport::http) fn black_hole(&self, server: &str) {
        self.state().black_holes.insert(server.to_owned());
    }

    pub(in crate::transport::http) fn accept(&self, server: &str) {
        self.state().refusing.remove(server);
        self.state().black_holes.remove(server);
    }

    /// All instances are forgotten, as after a restart.
    pub(in crate::transport::http) fn forget(&self) {
        self.state().registered.clear();
    }

    pub(in crate::transport::http) fn registered(&self) -> Vec<u16> {
        self.state().registered.iter().map(|(_, port)| *port).collect()
    }

    pub(in crate::transport::http) fn most_connections(&self) -> usize {
        self.state().most_connections
    }

    pub(in crate::transport::http) fn beats_are_answered(&self, interval: Value, light: bool) {
        let mut state = self.state();
        (state.interval, state.light) = (interval, light);
    }

    async fn serve(&self, server: String, request: Request<Incoming>) -> Option<Response<Full<Bytes>>> {
        let asked = read(server, request).await;
        let script = {
            let mut state = self.state();
            state.log.push(asked.clone());
            Arc::clone(&state.script)
        };
        let mut answer = script(&asked);
        loop {
            answer = match answer {
                Answer::Say(status, body) => {
                    return Some(Response::builder().status(status).body(Full::new(Bytes::from(body))).unwrap());
                }
                Answer::Grant(token) => {
                    let json = json!({"accessToken": token, "tokenTtl": 18_000, "globalAdmin": true});
                    let response = Response::builder().header("authorization", format!("Bearer {token}"));
                    return Some(response.body(Full::new(Bytes::from(json.to_string()))).unwrap());
                }
                Answer::After(delay, answer) => {
                    tokio::time::sleep(delay).await;
                    *answer
                }
                Answer::Usual => self.state().usual(&asked),
                Answer::Never => std::future::pending().await,
                Answer::Cut => return None,
            };
        }
    }
}

impl State {
    fn usual(&mut self, asked: &Asked) -> Answer {
        let text = |name: &str| asked.query.get(name).cloned().unwrap_or_default();
        let id = (text("serviceName"), asked.port());
        let say = |body: Value| Answer::Say(200, body.to_string());
        if asked.is_probe() {
            return say(json!({"status": "UP"}));
        }
        if asked.is_register() {
            self.registered.insert(id);
            return Answer::Say(200, "ok".to_owned());
        }
        if asked.is_deregister() {
            self.registered.remove(&id);
            return Answer::Say(200, "ok".to_owned());
        }
        if asked.is_beat() {
            let known = self.registered.contains(&id);
            if !known && asked.beat.is_none() {
                return say(json!({"clientBeatInterval": 5000, "code": 20404}));
            }
            self.registered.insert(id);
            return say(json!({"clientBeatInterval": self.interval, "code": 10200, "lightBeatEnabled": self.light}));
        }
        if asked.what.ends_with("/instance/list") {
            let hosts: Vec<Value> = self
                .registered
                .iter()
                .filter(|(service, _)| *service == id.0)
                .map(|(_, port)| json!({"ip": "10.0.0.9", "port": port, "healthy": true, "weight": 1.0}))
                .collect();
            return say(json!({"name": id.0, "cacheMillis": 10000, "hosts": hosts, "lastRefTime": 1}));
        }
        if asked.what.ends_with("/service/list") {
            return say(json!({"count": 3, "doms": ["orders"]}));
        }
        Answer::Say(501, String::new())
    }
}

async fn read(server: String, request: Request<Incoming>) -> Asked {
    let (head, body) = request.into_parts();
    let decoded = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
    let pairs = |text: &str| {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect::<BTreeMap<_, _>>()
    };
    let query = pairs(head.uri.query().unwrap_or_default());
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let form = pairs(std::str::from_utf8(&body).unwrap());
    let authorization = head.headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    Asked {
        at: Instant::now(),
        authorization,
        server,
        what: format!("{} {}", head.method, head.uri.path()),
        query,
        beat: form.get("beat").map(|json| serde_json::from_str(json).unwrap()),
        form,
    }
}

impl fmt::Debug for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Net")
    }
}

impl Connector for Net {
    fn connect(&self, host: Host, port: u16, _: Duration) -> BoxFuture<'static, Result<Link, DialError>> {
        let net = self.clone();
        let server = host.to_string();
        Box::pin(async move {
            if net.state().black_holes.contains(&server) {
                std::future::pending::<()>().await;
            }
            if net.state().refusing.contains(&server) {
                let source = io::ErrorKind::ConnectionRefused.into();
                return Err(DialError::Connect { peer: Arc::from(server), source });
            }
            let (ours, theirs) = tokio::io::duplex(PIPE);
            {
                let mut state = net.state();
                state.connections += 1;
                state.most_connections = state.most_connections.max(state.connections);
            }
            let peer = Arc::from(format!("{server}:{port}"));
            tokio::spawn(async move {
                let answer = |request| {
                    let (net, server) = (net.clone(), server.clone());
                    async move {
                        // An error closes the connection.
                        net.serve(server, request).await.ok_or_else(|| io::Error::other("cut"))
                    }
                };
                let served = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(theirs), service_fn(answer));
                // How a connection ended is for the client to notice.
                drop(served.await);
                net.state().connections -= 1;
            });
            Ok(Link { io: Box::new(ours), peer, local_ip: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 9))) })
        })
    }
}
