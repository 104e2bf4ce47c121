//! What the client logs, captured on the thread of a test.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// One line of the client's log.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) level: Level,
    /// The message and all fields.
    pub(crate) text: String,
}

/// The client's log on this thread, from the capture on until it is dropped. It sees all of a current-thread runtime.
#[derive(Debug)]
pub(crate) struct Logs {
    lines: Lines,
    _guard: DefaultGuard,
}

#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<Line>>>);

impl Logs {
    /// Begins to capture everything, down to trace.
    pub(crate) fn capture() -> Self {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::registry().with(lines.clone());
        Self { lines, _guard: tracing::subscriber::set_default(subscriber) }
    }

    /// The lines so far that are at least as important as `level`.
    pub(crate) fn at(&self, level: Level) -> Vec<Line> {
        let lines = self.lines.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| line.level <= level).cloned().collect()
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with("nacos_client")
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let line = Line { level: *event.metadata().level(), text: text.0 };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}
