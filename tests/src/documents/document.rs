use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Command, Fence, Link};

/// A Markdown file.
#[derive(Debug, Clone)]
pub struct Document {
    /// From the root of the repository.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
}

impl Document {
    /// Those of the root and of `docs`, sorted.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn all() -> io::Result<Vec<Self>> {
        let mut paths = Vec::new();
        for folder in ["", "docs"] {
            for entry in fs::read_dir(Self::root().join(folder))? {
                let path = Path::new(folder).join(entry?.file_name());
                if path.extension().is_some_and(|extension| extension == "md") {
                    paths.push(path);
                }
            }
        }
        paths.sort();
        let read = |path: PathBuf| Ok(Self { text: fs::read_to_string(Self::root().join(&path))?, path });
        paths.into_iter().map(read).collect()
    }

    /// The root of the repository.
    #[must_use]
    pub fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new("/"))
    }

    /// The blocks of code, in order.
    #[must_use]
    pub fn fences(&self) -> Vec<Fence> {
        let mut fences = Vec::new();
        let mut open: Option<Fence> = None;
        for (line, number) in self.text.lines().zip(1..) {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(info), None) => {
                    let info = info.trim().to_owned();
                    open =
                        Some(Fence { place: format!("{}:{number}", self.path.display()), info, code: String::new() });
                }
                (Some(_), Some(_)) => fences.extend(open.take()),
                (None, Some(fence)) => {
                    fence.code.push_str(line);
                    fence.code.push('\n');
                }
                (None, None) => {}
            }
        }
        fences.extend(open);
        fences
    }

    /// The lines outside of the blocks of code, with their numbers.
    pub(super) fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut inside = false;
        self.text.lines().enumerate().filter_map(move |(at, line)| {
            let edge = line.trim_start().starts_with("```");
            inside ^= edge;
            (!inside && !edge).then_some((at + 1, line))
        })
    }

    /// What leads to other places.
    #[must_use]
    pub fn links(&self) -> Vec<Link> {
        let place = |line: usize| format!("{}:{line}", self.path.display());
        self.prose()
            .flat_map(|(line, text)| Link::all(text).map(move |target| Link { place: place(line), target }))
            .collect()
    }

    /// What links may name after a `#`: the headings, written as GitHub does.
    #[must_use]
    pub fn anchors(&self) -> BTreeSet<String> {
        let heading = |line: &str| {
            let title = line.trim_start_matches('#');
            (title.len() < line.len() && title.starts_with(' ')).then(|| anchor(title.trim()))
        };
        self.prose().filter_map(|(_, line)| heading(line)).collect()
    }

    /// What the blocks of shell commands run of this program: by its name, or by `cargo run`.
    #[must_use]
    pub fn commands(&self, program: &str) -> Vec<Command> {
        let shell = self.fences().into_iter().filter(|fence| fence.language() == "sh");
        let all = shell.flat_map(|fence| Command::all(&fence));
        all.filter(|command| command.program == program).collect()
    }
}

/// Letters, digits, `-` and `_`; spaces become `-`, everything else goes.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
