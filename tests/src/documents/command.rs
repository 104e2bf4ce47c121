use super::Fence;

/// A program that a document says to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// File and line of the block, to be told.
    pub place: String,
    /// Its name; of `cargo run` that of the binary.
    pub program: String,
    /// What it is given.
    pub arguments: Vec<String>,
    /// The package that `cargo run` names.
    pub package: Option<String>,
}

impl Command {
    /// The commands of a block, one a line; a line that ends in `\` goes on.
    #[must_use]
    pub fn all(fence: &Fence) -> Vec<Self> {
        let text = fence.code.replace("\\\n", " ");
        text.lines().filter_map(|line| Self::read(&fence.place, line)).collect()
    }

    fn read(place: &str, line: &str) -> Option<Self> {
        let is_assignment = |word: &String| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
            })
        };
        let mut words = words(line).into_iter().skip_while(is_assignment);
        let program = words.next()?;
        let arguments: Vec<_> = words.collect();
        let place = place.to_owned();
        if program != "cargo" || arguments.first().is_none_or(|verb| verb != "run") {
            return Some(Self { place, program, arguments, package: None });
        }
        let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
        let (cargo, own) = arguments.split_at(end);
        let after = |flag: &str| cargo.iter().skip_while(|word| *word != flag).nth(1).cloned();
        let package = after("-p");
        let program = after("--bin").or_else(|| package.clone())?;
        Some(Self { place, program, arguments: own.iter().skip(1).cloned().collect(), package })
    }
}

/// The words of the first command of a line, as a shell splits them; quotes hold words together. A comment, a pipe and what
/// is done with the output end it.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | '&' | '>' | ';') => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
