//! Messages, recorded and received: which is which.

use std::collections::HashMap;
use std::sync::Arc;

use nacos_proto::{Any, Metadata, Payload};
use nacos_tests::compare::{self, Options};
use nacos_tests::raw::{self, Answerer, Inbound};
use nacos_tests::vectors::{Action, Step};
use serde_json::Value;

use crate::script::Scenario;
use crate::verdict::Event;

/// Where a push stands among those of the same list on the same connection.
pub(crate) struct Place {
    last: bool,
    /// It is the second one and says what the first one said.
    pub(crate) repeats: bool,
}

impl Place {
    pub(crate) fn matters(&self) -> bool {
        self.last || self.repeats
    }
}

pub(crate) fn place_among_pushes(scenario: &Scenario, at: usize) -> Place {
    let key = |step: &Step| {
        (step.action == Action::Recv)
            .then(|| (step.conn.clone(), subject((step.kind.as_deref().unwrap_or_default(), &step.body_text()))))
    };
    let here = scenario.steps.get(at).and_then(key);
    let same_list: Vec<(usize, &Step)> =
        scenario.steps.iter().enumerate().filter(|(_, step)| key(step) == here).collect();
    let nth = same_list.iter().position(|(index, _)| *index == at).unwrap_or_default();
    let body = |nth: usize| same_list.get(nth).map(|(_, step)| step.body_text()).unwrap_or_default();
    let kind = "NotifySubscriberRequest";
    let repeats = nth == 1 && compare::messages((kind, &body(0)), (kind, &body(1)), Options::default()).is_empty();
    Place { last: nth + 1 == same_list.len(), repeats }
}

/// The list that the newest push shows; the server's own time decides, as pushes may overtake each other.
pub(crate) fn newest(inbox: &raw::Inbox, recorded: (&str, &str)) -> Event {
    let time = |payload: &Payload| {
        let body: Option<Value> = serde_json::from_slice(payload.json()).ok();
        body.and_then(|body| body.get("serviceInfo")?.get("lastRefTime")?.as_u64())
    };
    inbox.look(|items| {
        let alike =
            messages(items).filter(|(payload, _)| subject(recorded) == subject((payload.kind(), &text(payload))));
        alike
            .max_by_key(|(payload, _)| time(payload))
            .map_or(Event::Nothing, |(payload, stream)| message(&payload, Some(stream)))
    })
}

pub(crate) fn as_message(item: &Inbound) -> Option<&Payload> {
    if let raw::Event::Message(payload) = &item.event { Some(payload) } else { None }
}

pub(crate) fn messages(items: &[Inbound]) -> impl Iterator<Item = (Payload, String)> {
    items.iter().filter_map(|item| Some((as_message(item)?.clone(), item.stream.clone())))
}

/// Takes the first message not yet taken that fits.
pub(crate) fn take(items: &mut [Inbound], fits: impl Fn(&Payload) -> bool) -> Option<(Payload, String)> {
    let item = items.iter_mut().find(|item| !item.taken && as_message(item).is_some_and(&fits))?;
    item.taken = true;
    as_message(item).cloned().zip(Some(item.stream.clone()))
}

pub(crate) fn same(recorded: (&str, &str), payload: &Payload) -> bool {
    compare::messages(recorded, (payload.kind(), &text(payload)), Options::default()).is_empty()
}

/// What a message is about: its type, and the service a push is of.
pub(crate) fn subject((kind, body): (&str, &str)) -> (String, Option<(String, String)>) {
    let body: Option<Value> = serde_json::from_str(body).ok();
    let service = body.as_ref().and_then(|body| body.get("serviceInfo"));
    let field = |name: &str| service?.get(name)?.as_str().map(str::to_owned);
    (kind.to_owned(), field("groupName").zip(field("name")))
}

pub(crate) fn text(payload: &Payload) -> String {
    String::from_utf8_lossy(payload.json()).into_owned()
}

pub(crate) fn message(payload: &Payload, stream: Option<String>) -> Event {
    Event::Message { kind: payload.kind().to_owned(), body: text(payload), stream }
}

/// The payload of a step, as its sender filled it.
pub(crate) fn payload(step: &Step) -> Payload {
    let no_body = step.body.is_none() && step.text.is_none() && step.pad_to.is_none();
    let metadata = Metadata {
        r#type: step.kind.clone().unwrap_or_default(),
        headers: step.headers.clone().into_iter().collect(),
        client_ip: step.client_ip.clone().unwrap_or_else(|| "127.0.0.1".to_owned()),
    };
    let body = Any { type_url: step.type_url.clone().unwrap_or_default(), value: step.body_text().into() };
    Payload {
        metadata: (step.kind.is_some() && step.metadata != Some(false)).then_some(metadata),
        body: (!no_body).then_some(body),
    }
}

/// Answers each message of the server the way the recorder answered the first one of its type on that connection, or not at all.
pub(crate) fn answerer(scenario: &Scenario, conn: &str) -> Answerer {
    let mut answers: HashMap<String, (String, String)> = HashMap::new();
    let mut last: Option<(String, String)> = None;
    for step in scenario.steps.iter().filter(|step| step.conn.as_deref() == Some(conn)) {
        let body = step.body_text();
        match step.action {
            Action::Recv => last = step.kind.clone().zip(request_id(&body)),
            Action::Send if step.acks => {
                if let Some((asked, id)) = last.clone() {
                    let form = body.replace(&format!("\"requestId\":\"{id}\""), "\"requestId\":\"@\"");
                    let form = form.replace(&format!("\"requestId\":{id}"), "\"requestId\":@");
                    answers.entry(asked).or_insert_with(|| (step.kind.clone().unwrap_or_default(), form));
                }
            }
            _ => {}
        }
    }
    Arc::new(move |asked: &Payload| {
        let (kind, form) = answers.get(asked.kind())?;
        let id = request_id(&text(asked))?;
        let body = form.replace('@', &id);
        Some(Payload::new(kind, body.into()).with_client_ip("127.0.0.1"))
    })
}

pub(crate) fn request_id(body: &str) -> Option<String> {
    serde_json::from_str::<Value>(body).ok()?.get("requestId")?.as_str().map(str::to_owned)
}
