//! Watching one service.

use nacos_client::{ChangeCause, Instance, Select, ServiceChange};
use serde_json::{Value, json};

use crate::{
    changed,
    failure::{Done, Failure},
    output::{Output, Tone},
    registry::{Registry, leave},
    stop,
};

/// Something to tell.
struct Event {
    word: &'static str,
    tone: Option<Tone>,
    instance: Option<Value>,
    text: String,
    changes: Vec<String>,
}

impl Event {
    fn of(word: &'static str, tone: Tone, instance: &Instance, text: &str) -> Self {
        let text = format!("{} {text}", instance.addr());
        Self { word, tone: Some(tone), instance: Some(changed::document(instance)), text, changes: Vec::new() }
    }

    fn link(word: &'static str, tone: Tone, text: &str) -> Self {
        Self { word, tone: Some(tone), instance: None, text: text.to_owned(), changes: Vec::new() }
    }
}

/// A line for each instance that joins, leaves or changes.
pub(super) async fn watch(
    registry: &Registry,
    output: Output,
    service: &str,
    lines: Option<usize>,
) -> Result<Done, Failure> {
    let naming = registry.naming()?;
    let handle = naming.service(registry.key(service))?;
    // A wrong address is said, rather than waited for.
    naming.connected(registry.timeout()).await?;
    // So is a refusal, which a subscription outlives.
    handle.query().await?;
    let mut left = lines.unwrap_or(usize::MAX);
    let mut changes = handle.subscribe(Select::all());
    let stop = stop::asked()?;
    tokio::pin!(stop);
    while left > 0 {
        let change = tokio::select! {
            () = &mut stop => break,
            change = changes.next() => change,
        };
        let Some(change) = change else { break };
        for event in events(&change) {
            if left == 0 {
                break;
            }
            left -= 1;
            tell(output, &event)?;
        }
    }
    leave(naming).await;
    Ok(Done::Fine)
}

fn tell(output: Output, event: &Event) -> Result<(), Failure> {
    let time = changed::now();
    if output.json() {
        let mut line = json!({ "time": time, "event": event.word });
        if let Some(instance) = &event.instance {
            line["instance"] = instance.clone();
        }
        if !event.changes.is_empty() {
            line["changes"] = json!(event.changes);
        }
        return output.document(&line);
    }
    let (time, word) = (format!("{time}  "), format!("{:<9} ", event.word));
    output.toned(&[(None, &time), (event.tone, &word), (None, event.text.trim_end())])
}

fn events(change: &ServiceChange) -> Vec<Event> {
    let mut events = Vec::new();
    match change.cause() {
        ChangeCause::Stale { .. } => {
            events.push(Event::link("lost", Tone::Doubtful, "the connection is lost, the list is the last one known"));
        }
        ChangeCause::Resynced => events.push(Event::link("back", Tone::Good, "the list is up to date")),
        ChangeCause::Initial if change.instances().is_empty() => {
            events.push(Event::link("empty", Tone::Faint, "the service has no instances"));
        }
        _ => {}
    }
    let joined = change.added().iter().map(|new| Event::of("joined", Tone::Good, new, &changed::fields(new)));
    let left = change.removed().iter().map(|old| Event::of("left", Tone::Bad, old, ""));
    let modified = change.modified().iter().map(|modified| {
        let changes = changed::differences(&modified.old, &modified.new);
        let event = Event::of("changed", Tone::Doubtful, &modified.new, &changes.join(", "));
        Event { changes, ..event }
    });
    events.extend(left.chain(joined).chain(modified));
    events
}
