//! Writing for people and for programs.

use std::io::{self, IsTerminal, Write};

use comfy_table::{Cell, Table, presets};
use serde::Serialize;
use serde_json::json;

use crate::{
    cli::{Color, Common},
    failure::Failure,
};

/// How the tool writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
    color: bool,
}

/// What a text means; shown as a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Doubtful,
    Faint,
}

/// One row of a table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) tone: Option<Tone>,
}

impl Row {
    pub(crate) fn new(cells: impl IntoIterator<Item = String>) -> Self {
        Self { cells: cells.into_iter().collect(), tone: None }
    }

    pub(crate) fn toned(mut self, tone: Option<Tone>) -> Self {
        self.tone = tone;
        self
    }
}

impl Output {
    pub(crate) fn new(common: &Common) -> Self {
        let color = match common.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty()),
        };
        Self { json: common.json, color: color && !common.json }
    }

    pub(crate) const fn json(self) -> bool {
        self.json
    }

    /// A text of one line in the colour of its meaning.
    fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => 32,
            Tone::Bad => 31,
            Tone::Doubtful => 33,
            Tone::Faint => 2,
        };
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// One line.
    pub(crate) fn line(self, text: &str) -> Result<(), Failure> {
        self.toned(&[(None, text)])
    }

    /// One line of parts, each in the colour of its meaning.
    pub(crate) fn toned(self, parts: &[(Option<Tone>, &str)]) -> Result<(), Failure> {
        let part = |(tone, text): &(Option<Tone>, &str)| {
            let text = plain(text);
            tone.map_or_else(|| text.clone(), |tone| self.paint(tone, &text))
        };
        self.text(&(parts.iter().map(part).collect::<String>() + "\n"))
    }

    /// A text as it is.
    pub(crate) fn text(self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        // Watched by a program through a pipe, a line is of use only when it is there.
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.or_else(ended)
    }

    /// One document, on one line.
    pub(crate) fn document(self, content: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(content).map_err(|error| Failure::Here(error.to_string()))?;
        self.text(&(escaped(&text) + "\n"))
    }

    /// A document, or a line for people.
    pub(crate) fn say(self, content: &impl Serialize, text: &str) -> Result<(), Failure> {
        if self.json { self.document(content) } else { self.line(text) }
    }

    /// Rows below headings, each in the colour of what it means.
    pub(crate) fn table(self, headings: &[&str], rows: Vec<Row>) -> Result<(), Failure> {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header(headings.iter().map(|text| Cell::new(text.to_uppercase())));
        let mut tones = vec![Some(Tone::Faint)];
        for row in rows {
            tones.push(row.tone);
            // A cell is one line, so that lines and rows go together.
            table.add_row(row.cells.iter().map(|text| Cell::new(plain(text))));
        }
        for (line, tone) in table.trim_fmt().lines().map(str::trim_end).zip(tones) {
            self.toned(&[(tone, line)])?;
        }
        Ok(())
    }

    /// Why the command failed. If this cannot be written, nothing is left but the exit code.
    pub(crate) fn failure(self, failure: &Failure) {
        let line = if self.json {
            let document = json!({ "error": failure.to_string(), "code": failure.exit_code() });
            escaped(&document.to_string())
        } else {
            format!("nacosctl: {}", plain(&failure.to_string()))
        };
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// Texts of the registry must not steer the terminal: they are of one line, and colour and order of letters are ours.
fn plain(text: &str) -> String {
    text.chars().map(|c| if steers(c) { ' ' } else { c }).collect()
}

/// The same for a document, whose content stays what it is. JSON has such characters only within its strings.
fn escaped(document: &str) -> String {
    let mut escaped = String::with_capacity(document.len());
    for c in document.chars() {
        if steers(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Control characters, ends of lines, and what turns the direction of writing.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Who reads has seen enough.
fn ended(error: io::Error) -> Result<(), Failure> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(0)
    }
    Err(Failure::Here(format!("the output cannot be written: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_registry_do_not_steer_the_terminal() {
        assert_eq!(plain("a\nb\tc"), "a b c");
        assert_eq!(plain("\u{1b}[2Jx\u{1b}]0;title\u{7}"), " [2Jx ]0;title ");
        assert_eq!(plain("\u{1b}[8mhidden\u{9b}31m"), " [8mhidden 31m");
        assert_eq!(plain("\u{202e}abc\u{2066}\u{2028}"), " abc  ");
        assert_eq!(plain("größe 订单"), "größe 订单");
    }
    #[test]
    fn documents_keep_what_they_escape() {
        let text = "a\u{1b}[8m\u{7f}\u{9b}\u{202e}\n订单";
        let document = escaped(&json!({ "name": text }).to_string());
        assert!(!document.chars().any(steers), "{document}");
        let read: serde_json::Value = serde_json::from_str(&document).expect("JSON");
        assert_eq!(read["name"], text);
    }
}
