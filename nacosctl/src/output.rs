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

    /// A text in the colour of its meaning.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
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
        let mut out = io::stdout().lock();
        // Watched by a program through a pipe, a line is of use only when it is there.
        let written = writeln!(out, "{}", plain(text)).and_then(|()| out.flush());
        written.or_else(ended)
    }

    /// One document, on one line.
    pub(crate) fn document(self, content: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(content).map_err(|error| Failure::Here(error.to_string()))?;
        self.line(&text)
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
            self.line(&tone.map_or_else(|| line.to_owned(), |tone| self.paint(tone, line)))?;
        }
        Ok(())
    }

    /// Why the command failed.
    #[expect(clippy::print_stderr, reason = "this is where errors go, and nothing is left to do if they cannot")]
    pub(crate) fn failure(self, failure: &Failure) {
        if self.json {
            eprintln!("{}", json!({ "error": failure.to_string(), "code": failure.exit_code() }));
        } else {
            eprintln!("nacosctl: {}", plain(&failure.to_string()));
        }
    }
}

/// Texts of the registry must not steer the terminal: they are of one line, and can do no more than be coloured.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = rest.strip_prefix("\u{1b}[").and_then(|code| code.split_once('m')).map(|(code, _)| code);
        if let Some(code) = colour.filter(|code| code.len() <= 2 && code.bytes().all(|b| b.is_ascii_digit())) {
            plain.push_str("\u{1b}[");
            plain.push_str(code);
            plain.push('m');
            rest = rest.get(code.len() + 3..).unwrap_or_default();
            continue;
        }
        plain.push(if c.is_control() { ' ' } else { c });
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    plain
}

/// Who reads has seen enough.
fn ended(error: io::Error) -> Result<(), Failure> {
    if error.kind() == io::ErrorKind::BrokenPipe { std::process::exit(0) } else { Err(error.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_registry_do_not_steer_the_terminal() {
        assert_eq!(plain("a\nb\tc"), "a b c");
        assert_eq!(plain("\u{1b}[2Jx\u{1b}]0;title\u{7}"), " [2Jx ]0;title ");
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m"), "\u{1b}[31mred\u{1b}[0m");
        assert_eq!(plain("größe 订单"), "größe 订单");
    }
}
