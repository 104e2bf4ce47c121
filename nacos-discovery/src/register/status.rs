use std::fmt;

/// Whether consumers are given an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "an instance takes traffic or does not")]
pub enum Status {
    /// They are.
    Up,
    /// They are not, although it is registered.
    Down,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Up => "UP",
            Self::Down => "DOWN",
        })
    }
}
