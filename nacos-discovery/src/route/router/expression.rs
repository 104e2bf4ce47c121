use std::fmt;

use regex_automata::dfa::Automaton;
use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::{start, syntax};
use regex_automata::{Anchored, MatchKind};
use regex_lite::{Regex, RegexBuilder};

use super::limits;

/// A regular expression for whole values. What it takes to match grows with the value's length only.
#[derive(Debug)]
pub(super) struct Expression {
    /// What says which expressions there are, and what they match.
    any: Regex,
    /// The same for values of ASCII alone; `None` where it would be too large.
    ascii: Option<Ascii>,
}

/// A table of what each byte leads to.
struct Ascii {
    table: dense::DFA<Vec<u32>>,
    start: StateID,
}

impl Expression {
    /// # Errors
    /// If it is none, or too large.
    pub(super) fn new(text: &str) -> Result<Self, regex_lite::Error> {
        let compiled = |text: &str| RegexBuilder::new(text).size_limit(limits::COMPILED).build();
        // Alone first: a closing bracket too many must not close the group around it.
        compiled(text)?;
        let whole = format!("^(?:{text})$");
        Ok(Self { any: compiled(&whole)?, ascii: Ascii::new(&whole) })
    }

    pub(super) fn is_match(&self, value: &[u8]) -> bool {
        match &self.ascii {
            Some(ascii) if value.is_ascii() => ascii.is_match(value),
            _ => std::str::from_utf8(value).is_ok_and(|text| self.any.is_match(text)),
        }
    }
}

impl Ascii {
    fn new(whole: &str) -> Option<Self> {
        let limit = Some(limits::COMPILED);
        let table = dense::Builder::new()
            // Bytes, which are characters in ASCII; and \w, \d, \s and \b know ASCII only, as those of `any`.
            .syntax(syntax::Config::new().unicode(false).utf8(false))
            .thompson(thompson::Config::new().nfa_size_limit(limit).shrink(false))
            .configure(
                dense::Config::new()
                    .start_kind(StartKind::Anchored)
                    .match_kind(MatchKind::All)
                    .accelerate(false)
                    .dfa_size_limit(limit)
                    .determinize_size_limit(limit),
            )
            .build(whole)
            .ok()?;
        let start = table.start_state(&start::Config::new().anchored(Anchored::Yes)).ok()?;
        Some(Self { table, start })
    }

    fn is_match(&self, value: &[u8]) -> bool {
        let last = value.iter().fold(self.start, |state, byte| self.table.next_state(state, *byte));
        self.table.is_match_state(self.table.next_eoi_state(last))
    }
}

/// Without the table, which is long.
impl fmt::Debug for Ascii {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ascii").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn usual_expressions_have_a_table_and_what_would_be_too_large_none() {
        for (text, has_table) in
            [("eu-[0-9]+", true), (r"v\d+(\.\d+)*", true), ("(?i)[^/]*beta", true), (".*a.{15}", false)]
        {
            let expression = Expression::new(text).expect("an expression");
            assert_eq!(expression.ascii.is_some(), has_table, "{text}");
        }
        let large = Expression::new(".*a.{15}").expect("an expression");
        assert!(large.is_match(b"-a-b-c-d-e-f-g-h-") && !large.is_match(b"a--b-c-d-e-f-g-h-"));
    }

    fn expression() -> impl Strategy<Value = String> {
        let single = prop::sample::select(vec![
            "a",
            "b",
            "B",
            "é",
            "-",
            r"\.",
            ".",
            "[ab]",
            "[^a]",
            "[^é]",
            "[a-é]",
            r"\d",
            r"\D",
            r"\w",
            r"\W",
            r"[^\s]",
            r"\b",
            r"\B",
            "^",
            "$",
            r"\A",
            r"\z",
            r"\xe9",
            r"\u{e9}",
            "[[:alpha:]]",
            "",
        ]);
        let single = single.prop_map(str::to_owned);
        single.prop_recursive(4, 12, 3, |inner| {
            prop_oneof![
                3 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| parts.concat()),
                1 => prop::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("({})", parts.join("|"))),
                2 => (inner.clone(), "[*+?]|\\{[0-3]\\}|\\{1,3\\}|\\{2,\\}|[*+]\\?")
                    .prop_map(|(inner, times)| format!("(?:{inner}){times}")),
                1 => (prop::sample::select(vec!["i", "s", "m", "U", "R", "x", "-i"]), inner)
                    .prop_map(|(flag, inner)| format!("(?{flag}:{inner})")),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn tables_match_what_the_expressions_do(text in expression(), values in prop::collection::vec("[abBAé0_ .\r\n-]{0,6}", 8)) {
            let Ok(expression) = Expression::new(&text) else { return Ok(()) };
            for value in values {
                prop_assert_eq!(expression.is_match(value.as_bytes()), expression.any.is_match(&value), "{:?} {:?}", text, value);
            }
        }
    }
}
