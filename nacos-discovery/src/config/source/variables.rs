use std::ffi::OsString;

use super::{Found, PropertyName};
use crate::config::Place;
use crate::config::read::Asked;

/// Environment variables, in the spellings of Spring.
///
/// `a.server-addr` is `A_SERVERADDR` or `A_SERVER_ADDR`, in any case; an entry of a map appends its key, in lower case
/// and with dots for `_`. A variable with a dot in its name is a property by its own name.
pub(crate) struct Variables(Vec<Variable>);

struct Variable {
    name: String,
    /// `None` if it is not valid Unicode.
    text: Option<String>,
}

impl Variables {
    /// Those of the process.
    pub(crate) fn of_process() -> Self {
        Self::new(std::env::vars_os())
    }

    pub(crate) fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let variables = variables.into_iter().filter_map(|(name, text)| {
            // A name that is no Unicode is none of ours.
            Some(Variable { name: name.into_string().ok()?, text: text.into_string().ok() })
        });
        let mut variables: Vec<_> = variables.collect();
        // The environment has no order; errors and the choice among equal spellings should.
        variables.sort_by(|a, b| a.name.cmp(&b.name));
        Self(variables)
    }

    /// The variable of exactly this name.
    pub(crate) fn exact(&self, name: &str) -> Option<Found> {
        self.0.iter().find(|variable| variable.name == name).map(Variable::found)
    }

    pub(super) fn find(&self, key: &str) -> Option<Found> {
        self.0.iter().find(|variable| variable.after(key).is_some_and(|rest| rest.is_empty())).map(Variable::found)
    }

    pub(super) fn entries(&self, key: &str) -> Vec<(String, Found)> {
        let entry = |variable: &Variable| {
            let rest = variable.after(key).filter(|rest| !rest.is_empty())?;
            Some((rest, variable.found()))
        };
        self.0.iter().filter_map(entry).collect()
    }

    pub(super) fn unknown(&self, prefix: &str, asked: &[Asked]) -> Option<(String, Place)> {
        let is_asked = |variable: &Variable, asked: &Asked| {
            variable.after(asked.key).is_some_and(|rest| asked.below || rest.is_empty())
        };
        let unknown = |variable: &&Variable| {
            let below = variable.after(prefix).is_some_and(|rest| !rest.is_empty());
            below && !asked.iter().any(|asked| is_asked(variable, asked))
        };
        self.0.iter().find(unknown).map(|variable| (variable.name.clone(), variable.place()))
    }
}

impl Variable {
    fn found(&self) -> Found {
        Found { text: self.text.clone(), place: self.place(), literal: false }
    }

    fn place(&self) -> Place {
        Place::Variable(self.name.clone())
    }

    /// What follows `key` in the name, in either spelling; see [`PropertyName::after`].
    fn after(&self, key: &str) -> Option<String> {
        if self.name.contains('.') {
            return PropertyName::parse(&self.name).after(key);
        }
        let dotless = key.replace('.', "_");
        [dotless.replace('-', "_"), dotless.replace('-', "")].iter().find_map(|spelling| {
            let (head, rest) = self.name.split_at_checked(spelling.len())?;
            if !head.eq_ignore_ascii_case(spelling) {
                return None;
            }
            match rest.strip_prefix('_') {
                Some(rest) => {
                    let elements: Vec<_> = rest.split('_').filter(|element| !element.is_empty()).collect();
                    Some(elements.join(".").to_ascii_lowercase())
                }
                None => rest.is_empty().then(String::new),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(name: &str) -> Variables {
        Variables::new([(name.into(), "x".into())])
    }

    #[test]
    fn both_spellings_are_found_and_entries_append_their_key() {
        for name in ["A_B_SERVERADDR", "A_B_SERVER_ADDR", "a_b_server_addr", "a.b.server-addr", "A.B.serverAddr"] {
            assert!(variables(name).find("a.b.server-addr").is_some(), "{name}");
        }
        for name in ["A_BSERVERADDR", "A_B_SERVERADDRESS", "A_B", "X_A_B_SERVERADDR"] {
            assert!(variables(name).find("a.b.server-addr").is_none(), "{name}");
        }
        let entry = |name| variables(name).entries("a.metadata").first().map(|(rest, _)| rest.clone());
        assert_eq!(entry("A_METADATA_VERSION").as_deref(), Some("version"));
        assert_eq!(entry("A_METADATA_GIT_COMMIT").as_deref(), Some("git.commit"));
        assert_eq!(entry("A_METADATA__x").as_deref(), Some("x"));
        assert_eq!(entry("a.metadata.gitCommit").as_deref(), Some("gitCommit"));
        assert_eq!(entry("A_METADATA"), None);
    }
}
