//! The lines that the drivers of the interoperability tests read and write: one JSON object each, see `tests/interop/README.md`.

use std::error::Error;
use std::io::{self, BufRead, Write, stdin, stdout};

use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The lines of standard input. The thread that reads them ends with the input or the process.
#[must_use]
pub fn lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The answer to the command with this id.
#[must_use]
pub fn answer(id: u64, outcome: Result<Value, Box<dyn Error + Send + Sync>>) -> Value {
    match outcome {
        Ok(result) => json!({"id": id, "ok": true, "result": result}),
        Err(error) => json!({"id": id, "ok": false, "error": with_causes(&*error)}),
    }
}

/// Writes one line.
///
/// # Errors
/// If nobody reads any more.
pub fn print(line: &Value) -> io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// The text of an error and of all its causes.
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
