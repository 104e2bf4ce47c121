//! A server that plays the recording: it answers as recorded, pushes what the recording has after the client's last step, and
//! can be told to get one step wrong. It shows that the director and the verdict see what there is to see.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use nacos_proto::{Payload, STREAM_PATH};
use nacos_tests::vectors::{Action, Step};
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::script::Scenario;

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Out = mpsc::UnboundedSender<Frame<Bytes>>;

#[derive(Debug)]
pub(crate) struct Player {
    address: SocketAddr,
    task: JoinHandle<()>,
}

/// How far the recording has been played.
struct Play {
    scenario: Scenario,
    /// A step to get wrong, and the text to replace there.
    fault: Option<(String, String, String)>,
    served: Mutex<Vec<bool>>,
    streams: Mutex<HashMap<String, Out>>,
}

impl Player {
    /// `fault` names a step, and what is replaced by what in the message of that step.
    pub(crate) async fn start(scenario: Scenario, fault: Option<(&str, &str, &str)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let fault = fault.map(|(step, from, to)| (step.to_owned(), from.to_owned(), to.to_owned()));
        let served = Mutex::new(vec![false; scenario.steps.len()]);
        let play = Arc::new(Play { scenario, fault, served, streams: Mutex::default() });
        // Ends with the player; the connections end with their clients.
        let task = tokio::spawn(async move {
            let opened = play.steps(Action::Open);
            for conn in opened {
                let Ok((tcp, _)) = listener.accept().await else { return };
                tokio::spawn(serve(Arc::clone(&play), conn, tcp));
            }
        });
        Self { address, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(play: Arc<Play>, conn: String, tcp: tokio::net::TcpStream) {
    let service = service_fn(|request| {
        let (play, conn) = (Arc::clone(&play), conn.clone());
        async move { Ok::<_, Infallible>(play.answer(&conn, request).await) }
    });
    // A connection that breaks is one that has ended.
    drop(http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(tcp), service).await);
    play.done(|step| step.action == Action::Close && step.conn.as_ref() == Some(&conn));
}

impl Play {
    /// The connections of all steps of that kind, in order.
    fn steps(&self, action: Action) -> Vec<String> {
        self.scenario.steps.iter().filter(|s| s.action == action).filter_map(|s| s.conn.clone()).collect()
    }

    /// Marks the first step not yet served that fits, sends what follows it, and returns it.
    fn done(&self, fits: impl Fn(&Step) -> bool) -> Option<&Step> {
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        let open = |at: &usize| served.get(*at) == Some(&false);
        let (at, step) = self.scenario.steps.iter().enumerate().find(|(at, step)| open(at) && fits(step))?;
        *served.get_mut(at)? = true;
        drop(served);
        let follows = |s: &&Step| matches!(s.action, Action::Recv | Action::StreamEnded | Action::Wait) || s.acks;
        for next in self.scenario.steps.iter().skip(at + 1).take_while(follows) {
            self.play(next);
        }
        Some(step)
    }

    fn play(&self, step: &Step) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = step.stream.clone().unwrap_or_default();
        match step.action {
            Action::Recv => {
                let payload = self.payload(step, step.kind.as_deref(), &step.body_text());
                if let Some(out) = streams.get(&stream) {
                    // A client that is gone hears nothing more.
                    drop(out.send(Frame::data(framed(&payload))));
                }
            }
            Action::StreamEnded => {
                let status = step.status.as_deref().unwrap_or_default();
                if let Some(out) = streams.remove(&stream) {
                    drop(out.send(Frame::trailers(trailers(status))));
                }
            }
            _ => {}
        }
    }

    fn payload(&self, step: &Step, kind: Option<&str>, body: &str) -> Payload {
        let body = match &self.fault {
            Some((wrong, from, to)) if *wrong == step.step => body.replace(from, to),
            _ => body.to_owned(),
        };
        Payload::new(kind.unwrap_or_default(), body.into())
    }

    async fn answer(self: Arc<Self>, conn: &str, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let (frames, body) = mpsc::unbounded_channel();
        if path == STREAM_PATH {
            self.stream(conn, request.into_body(), frames);
        } else {
            let asked = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            let step = self.done(|step| step.action == Action::Call && step.conn.as_deref() == Some(conn));
            for frame in step.map(|step| self.frames(step, &asked)).unwrap_or_default() {
                // The receiver is the response, made below.
                drop(frames.send(frame));
            }
        }
        let body = stream::unfold(body, |mut body| async move { Some((Ok(body.recv().await?), body)) });
        Response::builder()
            .header("content-type", "application/grpc")
            .body(StreamBody::new(body).boxed_unsync())
            .expect("the header is valid")
    }

    fn frames(&self, step: &Step, asked: &[u8]) -> Vec<Frame<Bytes>> {
        assert!(asked.len() >= 5, "{}: a request has a message", step.step);
        let answer = step.answer_body.as_deref().map(|body| self.payload(step, step.answer.as_deref(), body.get()));
        let message = answer.map(|payload| Frame::data(framed(&payload)));
        message.into_iter().chain([Frame::trailers(trailers(step.grpc_status.as_deref().unwrap_or("OK")))]).collect()
    }

    fn stream(self: &Arc<Self>, conn: &str, mut body: Incoming, out: Out) {
        let opened = self.done(|step| step.action == Action::OpenStream && step.conn.as_deref() == Some(conn));
        let label = opened.and_then(|step| step.stream.clone()).unwrap_or_default();
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).insert(label.clone(), out);
        let (play, conn) = (Arc::clone(self), conn.to_owned());
        // Ends with the client's half of the stream.
        tokio::spawn(async move {
            let of_stream = |step: &Step| step.conn.as_deref() == Some(&conn) && step.stream.as_ref() == Some(&label);
            let mut ended = Action::CloseStream;
            while let Some(frame) = body.frame().await {
                let Ok(frame) = frame else {
                    ended = Action::CancelStream;
                    break;
                };
                let message = frame.into_data().ok().and_then(|data| Payload::decode(data.get(5..)?).ok());
                if let Some(message) = message {
                    play.done(|s| {
                        s.action == Action::Send && !s.acks && of_stream(s) && s.kind.as_deref() == Some(message.kind())
                    });
                }
            }
            play.done(|step| step.action == ended && of_stream(step));
        });
    }
}

fn framed(payload: &Payload) -> Bytes {
    let message = payload.encode_to_vec();
    let length = u32::try_from(message.len()).expect("recorded messages are small");
    [&[0], length.to_be_bytes().as_slice(), &message].concat().into()
}

fn trailers(status: &str) -> HeaderMap {
    let code = match status.split(':').next() {
        Some("OK") => 0,
        Some("RESOURCE_EXHAUSTED") => 8,
        Some("UNIMPLEMENTED") => 12,
        _ => 2,
    };
    HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), HeaderValue::from(code))])
}

mod tests {
    use std::time::Duration;

    use nacos_tests::compare::{Difference, Kind};

    use super::*;
    use crate::director;
    use crate::peer::Peer;
    use crate::script::{self, Mode};
    use crate::verdict::Canon;

    /// What the verdict finds in the scenario, and how many steps it looked at.
    async fn play(name: &str, fault: Option<(&str, &str, &str)>) -> (Vec<(String, Difference)>, usize) {
        let scenario = |name: &str| script::scenarios().into_iter().find(|s| s.name == name).expect("a scenario");
        let peer = Peer::Player(Player::start(scenario(name), fault).await);
        let seen =
            tokio::time::timeout(Duration::from_secs(30), director::run(&scenario(name), Mode::Default, peer)).await;
        let verdicts = Canon::nacos_2_5_1().compare(&seen.expect("the scenario ends"));
        let steps = verdicts.len();
        let found = verdicts.into_iter().flat_map(|(step, all)| all.into_iter().map(move |d| (step.clone(), d)));
        (found.collect(), steps)
    }

    #[tokio::test]
    async fn a_server_that_does_as_recorded_differs_nowhere() {
        for (name, least) in
            [("before-setup", 28), ("setup", 65), ("second-stream", 15), ("subscribe", 40), ("instance", 170)]
        {
            let (found, steps) = play(name, None).await;
            assert!(found.is_empty(), "{name}: {found:?}");
            assert!(steps >= least, "{name}: {steps}");
        }
    }

    #[tokio::test]
    async fn one_wrong_step_is_the_one_that_is_found() {
        let step = "instance/query-after-replace";
        let faults = [
            ("\"port\":8081", "\"port\":8080", Kind::Value),
            ("\"weight\":1.0,", "", Kind::MissingKey),
            ("\"weight\":1.0", "\"weight\":\"1.0\"", Kind::JsonType),
            ("\"errorCode\":0", "\"errorCode\":400", Kind::Code),
        ];
        for (from, to, kind) in faults {
            let (found, _) = play("instance", Some((step, from, to))).await;
            let kinds: Vec<_> = found.iter().map(|(step, d)| (step.as_str(), d.kind)).collect();
            assert_eq!(kinds, [(step, kind)], "{to}");
        }
    }

    #[tokio::test]
    async fn a_wrong_push_is_found() {
        let step = "second-stream/A-push-NotifySubscriberRequest";
        let (found, _) = play("second-stream", Some((step, "\"port\":8080", "\"port\":8085"))).await;
        let kinds: Vec<_> = found.iter().map(|(step, d)| (step.as_str(), d.kind)).collect();
        assert_eq!(kinds, [(step, Kind::Value)]);
    }
}
