use std::borrow::Cow;

/// Where a request goes. It borrows from the rules and from the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route<'a> {
    /// The rule that applied.
    pub(crate) rule: Option<&'a str>,
    pub(crate) goal: Goal<'a>,
    /// What counts if nobody there takes the request.
    pub(crate) miss: Miss,
}

/// Instances that requests can be routed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Goal<'a> {
    Baseline,
    /// Those with a label of [`super::Router::fixed`].
    Fixed(usize),
    /// Those that have this value for a key of [`super::Router::taken`].
    Taken {
        key: usize,
        value: Cow<'a, str>,
    },
    /// Nobody: the request names no value for a key of [`super::Router::taken`].
    Unnamed {
        key: usize,
    },
}

/// What counts if nobody of a goal takes the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Miss {
    Fail,
    Baseline,
    /// Those with a label of [`super::Router::fixed`].
    Fixed(usize),
}
