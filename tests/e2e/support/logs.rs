//! What the client or the server logs, captured on the thread of a test.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// One line of a log.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) level: Level,
    /// The message and all fields.
    pub(crate) text: String,
}

/// A log on this thread, from the capture on until it is dropped. It sees all of a current-thread runtime.
#[derive(Debug)]
pub(crate) struct Logs {
    lines: Lines,
    _guard: DefaultGuard,
}

#[derive(Debug, Clone)]
struct Lines {
    /// Whose.
    krate: &'static str,
    lines: Arc<Mutex<Vec<Line>>>,
}

impl Logs {
    /// Begins to capture everything that the client logs, down to trace.
    pub(crate) fn capture() -> Self {
        Self::capture_of("nacos_client")
    }

    /// The same of the server.
    pub(crate) fn capture_server() -> Self {
        Self::capture_of("nacos_server_min")
    }

    /// The same of everybody, the libraries below included.
    pub(crate) fn capture_all() -> Self {
        Self::capture_of("")
    }

    fn capture_of(krate: &'static str) -> Self {
        let lines = Lines { krate, lines: Arc::default() };
        let subscriber = tracing_subscriber::registry().with(lines.clone());
        Self { lines, _guard: tracing::subscriber::set_default(subscriber) }
    }

    /// The lines so far that are at least as important as `level`.
    pub(crate) fn at(&self, level: Level) -> Vec<Line> {
        let lines = self.lines.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().filter(|line| line.level <= level).cloned().collect()
    }
}

impl<S: Subscriber> Layer<S> for Lines {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target().starts_with(self.krate)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let line = Line { level: *event.metadata().level(), text: text.0 };
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}
