//! Holds one scenario with a server of its own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use nacos_proto::{Payload, REQUEST_PATH};
use nacos_tests::compare::{self, Kind, Options};
use nacos_tests::http::Call;
use nacos_tests::raw::{self, Connection, Inbound};
use nacos_tests::vectors::{self, Action, Step};
use prost::Message as _;
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use crate::exceptions;
use crate::messages::{
    answerer, as_message, message, messages, newest, payload, place_among_pushes, same, subject, take, text,
};
use crate::peer::Peer;
use crate::script::{LOOKS_FOR_NOTHING, Mode, Scenario, is_filler};
use crate::verdict::{Event, Seen};

/// Waits for what must come are this much longer than in the recording.
const PATIENCE: Duration = Duration::from_secs(5);
/// A message that by the table of exceptions does not come is waited for this long.
const IMPATIENCE: Duration = Duration::from_secs(1);
/// A stream that by the table does not end is watched for this long after the probe's 5 s.
const WATCH: Duration = Duration::from_secs(6);
/// How long the recorded server's view lags, and how long the end of a connection may take to show.
const LAG: Duration = Duration::from_millis(1_500);

/// Runs the scenario to its end and says what was seen.
pub(crate) async fn run(scenario: &Scenario, mode: Mode, peer: Peer) -> Vec<Seen> {
    let mut director = Director {
        scenario,
        mode,
        peer: &peer,
        connections: HashMap::new(),
        ids: HashMap::new(),
        seen: Vec::new(),
        heard_out: HashSet::new(),
        a_connection_was_closed: false,
        started: Instant::now(),
    };
    for (at, step) in scenario.steps.iter().enumerate() {
        director.keep_pace(at, step).await;
        if scenario.steps.iter().skip(at).all(|step| step.action == Action::Close) {
            director.hear_all_out().await;
        }
        director.act(at, step).await;
    }
    director.hear_all_out().await;
    let seen = director.seen;
    peer.stop().await;
    seen
}

struct Director<'a> {
    scenario: &'a Scenario,
    mode: Mode,
    peer: &'a Peer,
    connections: HashMap<String, Connection>,
    /// The server's ids of the connections, by label.
    ids: HashMap<String, String>,
    seen: Vec<Seen>,
    /// Connections of which nothing more is asked.
    heard_out: HashSet<String>,
    a_connection_was_closed: bool,
    started: Instant,
}

impl Director<'_> {
    /// The recorded pace where time itself matters; else the pauses that the recorded server needed for its view, when ours
    /// behaves like it, and none otherwise.
    async fn keep_pace(&self, at: usize, step: &Step) {
        if matches!(step.action, Action::Recv | Action::StreamEnded | Action::Open | Action::OpenStream) {
            return;
        }
        if self.scenario.is_in_real_time() {
            let first = self.scenario.steps.first().map_or(0, |first| first.t);
            return sleep_until(self.started + Duration::from_millis(step.t.saturating_sub(first))).await;
        }
        let longest = match self.mode {
            Mode::Nacos25 => Duration::from_secs(1),
            Mode::Default if LOOKS_FOR_NOTHING.contains(&step.step.as_str()) => Duration::from_millis(200),
            Mode::Default => Duration::ZERO,
        };
        sleep(self.scenario.gap(at).min(longest)).await;
    }

    async fn act(&mut self, at: usize, step: &Step) {
        let conn = step.conn.as_deref().unwrap_or_default();
        let stream = step.stream.as_deref().unwrap_or_default();
        match step.action {
            Action::Open => {
                let opened = Connection::open(self.peer.address(), answerer(self.scenario, conn)).await;
                self.connections.insert(conn.to_owned(), opened.expect("the server listens"));
                self.heard_out.remove(conn);
            }
            Action::OpenStream => self.connection_mut(conn).open_stream(stream).await,
            Action::CloseStream => self.connection(conn).close_stream(stream),
            Action::CancelStream => self.connection_mut(conn).cancel_stream(stream),
            // Answers to the server's messages went out when those came.
            Action::Send if step.acks => {}
            Action::Send => self.connection(conn).send(stream, &payload(step)),
            Action::Close => self.close(conn).await,
            // Whether something comes in the pause shows at the next step.
            Action::Wait => {}
            Action::Reset => {
                let id = self.ids.get(conn).map_or("nope", String::as_str);
                self.peer.reset(id, step.target.as_deref()).await;
            }
            Action::Http => self.operate(step).await,
            Action::Call => self.call(step).await,
            Action::Recv => self.receive(at, step).await,
            Action::StreamEnded => self.await_end(at, step).await,
        }
    }

    fn connection(&self, label: &str) -> &Connection {
        self.connections.get(label).expect("the recording opens connections before it uses them")
    }

    fn connection_mut(&mut self, label: &str) -> &mut Connection {
        self.connections.get_mut(label).expect("the recording opens connections before it uses them")
    }

    fn note(&mut self, step: &str, event: Event) {
        self.seen.push(Seen { step: step.to_owned(), event });
    }

    /// A call of an operator to the HTTP port.
    async fn operate(&mut self, step: &Step) {
        let form = step.body_text();
        let call = Call {
            method: step.kind.as_deref().unwrap_or_default(),
            path: step.path.as_deref().unwrap_or_default(),
            form: Some(&form),
            ..Call::default()
        };
        if let Some(reply) = self.peer.http(call).await {
            self.note(&step.step, Event::Message { kind: reply.status.to_string(), body: reply.body, stream: None });
        }
    }

    async fn call(&mut self, step: &Step) {
        let conn = step.conn.as_deref().unwrap_or_default();
        let path = step.path.as_deref().unwrap_or(REQUEST_PATH);
        let bytes = step.raw.as_deref().map_or_else(|| payload(step).encode_to_vec(), vectors::hex);
        let deadline = Instant::now() + LAG;
        let event = loop {
            let event = match self.connection(conn).call(path, &bytes, step.gzip).await {
                Err(status) => Event::Status(status.to_string()),
                Ok(bytes) => message(&Payload::decode(bytes).expect("an answer is a payload"), None),
            };
            if !self.may_be_behind(step, &event) || Instant::now() > deadline {
                break event;
            }
            sleep(Duration::from_millis(20)).await;
        };
        if is_filler(step) {
            return;
        }
        if let (Some("ServerCheckRequest"), Event::Message { body, .. }) = (step.kind.as_deref(), &event) {
            let id = serde_json::from_str::<Value>(body)
                .ok()
                .and_then(|b| Some(b.get("connectionId")?.as_str()?.to_owned()));
            self.ids.extend(id.map(|id| (conn.to_owned(), id)));
        }
        self.note(&step.step, event);
    }

    /// True for a list that is not yet the recorded one where the server is allowed to lag: where it behaves like the recorded
    /// one, and after the end of a connection, which a server learns when it learns it.
    fn may_be_behind(&self, step: &Step, event: &Event) -> bool {
        let lagging = match step.kind.as_deref() {
            Some("ServiceQueryRequest") => self.mode != Mode::Default || self.a_connection_was_closed,
            // Subscribing again changes nothing and is followed by no push.
            Some("SubscribeServiceRequest") => self.mode != Mode::Default,
            _ => false,
        };
        if !lagging {
            return false;
        }
        let recorded = step.answer.as_deref().zip(step.answer_body.as_deref().map(|body| body.get()));
        match (recorded, event) {
            (Some(recorded), Event::Message { kind, body, .. }) => {
                let differences = compare::messages(recorded, (kind, body), Options::default());
                differences.iter().any(|d| d.kind == Kind::Value)
            }
            _ => false,
        }
    }

    async fn receive(&mut self, at: usize, step: &Step) {
        if self.scenario.is_about_timing() && step.kind.as_deref() == Some("NotifySubscriberRequest") {
            return self.receive_some(at, step).await;
        }
        let inbox = Arc::clone(self.connection(step.conn.as_deref().unwrap_or_default()).inbox());
        let within = if self.is_excepted(&step.step) { IMPATIENCE } else { self.scenario.gap(at) + PATIENCE };
        let body = step.body_text();
        let recorded = (step.kind.as_deref().unwrap_or_default(), body.as_str());
        let equal = |payload: &Payload| same(recorded, payload);
        let alike = |payload: &Payload| subject(recorded) == subject((payload.kind(), &text(payload)));
        let mut found = inbox.wait(within, |items| take(items, equal)).await;
        if found.is_none() {
            found = inbox.look(|items| take(items, alike));
        }
        let event = found.map_or(Event::Nothing, |(payload, stream)| message(&payload, Some(stream)));
        self.note(&step.step, event);
    }

    /// In a scenario about timing only two pushes of a list matter: the last one, and the first one that repeats its predecessor.
    async fn receive_some(&mut self, at: usize, step: &Step) {
        let inbox = Arc::clone(self.connection(step.conn.as_deref().unwrap_or_default()).inbox());
        let place = place_among_pushes(self.scenario, at);
        let wanted = if place.repeats { 2 } else { 1 };
        let within = self.scenario.gap(at) + if place.matters() { PATIENCE } else { IMPATIENCE };
        let body = step.body_text();
        let recorded = (step.kind.as_deref().unwrap_or_default(), body.as_str());
        let found = inbox.wait(within, |items| {
            let equal: Vec<_> = messages(items).filter(|(payload, _)| same(recorded, payload)).collect();
            equal.get(wanted - 1).cloned()
        });
        let event =
            found.await.map_or_else(|| newest(&inbox, recorded), |(payload, stream)| message(&payload, Some(stream)));
        if place.matters() {
            self.note(&step.step, event);
        }
    }

    async fn await_end(&mut self, at: usize, step: &Step) {
        if step.status.as_deref().is_some_and(|status| status.starts_with("CANCELLED")) {
            return;
        }
        let inbox = Arc::clone(self.connection(step.conn.as_deref().unwrap_or_default()).inbox());
        let within = match (self.is_excepted(&step.step), self.scenario.name.as_str(), self.mode) {
            (true, ..) => WATCH,
            // It takes as many probes as the dice will have.
            (false, "detection-alone", Mode::Nacos25) => Duration::from_secs(90),
            _ => self.scenario.gap(at) + PATIENCE,
        };
        let ended = inbox.wait(within, |items| {
            let on_stream = items.iter().filter(|item| Some(&item.stream) == step.stream.as_ref());
            on_stream
                .filter_map(
                    |item| if let raw::Event::Ended(status) = &item.event { Some(status.clone()) } else { None },
                )
                .next()
        });
        let event = ended.await.map_or(Event::Nothing, |status| Event::Status(status.to_string()));
        self.note(&step.step, event);
    }

    fn is_excepted(&self, step: &str) -> bool {
        exceptions::apply(self.mode, step)
    }

    async fn close(&mut self, label: &str) {
        self.hear_out(label).await;
        self.connections.remove(label);
        self.a_connection_was_closed = true;
    }

    /// The end of one connection is news to the others, which the recorder did not wait for: at the end of a scenario all are
    /// heard out before the first is closed.
    async fn hear_all_out(&mut self) {
        let open: Vec<String> = self.connections.keys().cloned().collect();
        for conn in open {
            self.hear_out(&conn).await;
        }
    }

    /// Waits until nothing more comes, and notes what was not asked for.
    async fn hear_out(&mut self, label: &str) {
        let Some(connection) = self.connections.get(label) else { return };
        if !self.heard_out.insert(label.to_owned()) {
            return;
        }
        let inbox = Arc::clone(connection.inbox());
        let recorded: Vec<(&str, String)> = self.recorded_pushes(label);
        if !recorded.is_empty() {
            // What is refused or not acknowledged keeps coming.
            let quiet = Duration::from_millis(if self.mode == Mode::Nacos25 { 750 } else { 150 });
            inbox.settle(quiet, quiet * 4).await;
        }
        let extra = inbox.look(|items| self.not_asked_for(label, items, &recorded));
        if !extra.is_empty() {
            self.note(&format!("{}/{label}-extra", self.scenario.name), Event::Extra(extra));
        }
    }

    fn recorded_pushes(&self, label: &str) -> Vec<(&str, String)> {
        let of_conn =
            self.scenario.steps.iter().filter(|s| s.conn.as_deref() == Some(label) && s.action == Action::Recv);
        of_conn
            .filter_map(|s| Some((s.kind.as_deref()?, s.body_text())))
            .filter(|(kind, _)| *kind != "SetupAckRequest")
            .collect()
    }

    /// Messages beyond the recorded ones. A server may repeat itself, and in a scenario about timing it may also push more often;
    /// but what was acknowledged in a way that counts is not pushed again.
    fn not_asked_for(&self, label: &str, items: &[Inbound], recorded: &[(&str, String)]) -> Vec<String> {
        if self.scenario.is_about_timing() {
            let pushes: Vec<_> =
                messages(items).filter(|(payload, _)| payload.kind() == "NotifySubscriberRequest").collect();
            let acknowledged = self.scenario.name == "ack-variants" && recorded.len() == 1;
            let too_many = acknowledged && self.mode == Mode::Default && pushes.len() > 1;
            return if too_many {
                pushes.iter().skip(1).map(|(payload, _)| text(payload)).collect()
            } else {
                Vec::new()
            };
        }
        let subscribes =
            |s: &Step| s.conn.as_deref() == Some(label) && s.kind.as_deref() == Some("SubscribeServiceRequest");
        if recorded.is_empty() && self.scenario.steps.iter().any(subscribes) {
            // The recorder left before the first push.
            return Vec::new();
        }
        let left = items.iter().filter(|item| !item.taken).filter_map(as_message);
        left.filter(|payload| !recorded.iter().any(|(kind, body)| same((kind, body.as_str()), payload)))
            .map(|payload| format!("{} {}", payload.kind(), text(payload)))
            .collect()
    }
}
