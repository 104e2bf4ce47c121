/// What is wrong with rules, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file cannot be read.
    #[error("cannot be read: {reason}")]
    Unreadable {
        /// Why.
        reason: String,
    },
    /// The text is no YAML or no JSON.
    #[error("{reason}")]
    Syntax {
        /// Why.
        reason: String,
    },
    /// A key stands twice in one block.
    #[error("the key {key:?} stands twice in one block")]
    KeyTwice {
        /// It.
        key: String,
    },
    /// A key means nothing where it stands.
    #[error("unknown key {key:?}{}", nearest.map(|nearest| format!(", did you mean {nearest}?")).unwrap_or_default())]
    UnknownKey {
        /// It.
        key: String,
        /// The known one that may be meant.
        nearest: Option<&'static str>,
    },
    /// A key must be there, and is not.
    #[error("the key {key} is missing")]
    Missing {
        /// It.
        key: &'static str,
    },
    /// Of these keys one must be there, and there is none, or several.
    #[error("needs one of the keys {}", keys.join(", "))]
    OneOf {
        /// They.
        keys: &'static [&'static str],
    },
    /// A value is of the wrong kind.
    #[error("is {found}, but must be {wanted}")]
    Kind {
        /// What it is.
        found: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// A text looks like a number or a truth value, so that not everybody reads it alike.
    #[error("must be a text: write {text:?} with the quotes")]
    NotQuoted {
        /// It.
        text: String,
    },
    /// What counts for a miss is none of the things that can be said.
    #[error("must be baseline, fail or {{ label: {{ version: v1 }} }}")]
    Miss,
    /// The name of a service, or its group, is empty, or there is more than one `@@`.
    #[error("a service is named like order-service or group@@order-service")]
    ServiceName,
    /// A rule has no name.
    #[error("a rule needs a name")]
    NoName,
    /// Two rules of a service have one name.
    #[error("the rule routes[{first}] is named {name:?}, too; reports and sticky draws go by the name")]
    NameTwice {
        /// The name.
        name: String,
        /// Which rule has it already, from 0.
        first: usize,
    },
    /// A rule goes nowhere.
    #[error("a rule needs a destination, such as {{ baseline: true }} or {{ label: {{ version: v2 }} }}")]
    NoDestination,
    /// A label has no entry.
    #[error("a label needs an entry, such as version: v2")]
    EmptyLabel,
    /// A metadata value is empty.
    #[error("a metadata value of a label cannot be empty")]
    EmptyValue,
    /// A metadata key is empty.
    #[error("a metadata key cannot be empty")]
    EmptyKey,
    /// A percentage is no number from 0 to 100 with at most two decimals.
    #[error("{percent} must be a number from 0 to 100 with at most two decimals")]
    Percent {
        /// It.
        percent: String,
    },
    /// The percentages of a rule are not 100 together.
    #[error("the percentages are {sum} together, but must be 100")]
    Sum {
        /// What they are.
        sum: String,
    },
    /// Where the label's value comes from the request, there is another destination.
    #[error("label-from must be the only destination of its rule")]
    LabelFromAmong,
    /// A value is taken from what is not made for it.
    #[error("a value is taken from a header, query, cookie or tag, not from the {subject}")]
    NotTaken {
        /// `path` or `method`.
        subject: &'static str,
    },
    /// A header cannot have this name.
    #[error("{name:?} cannot be the name of a header")]
    HeaderName {
        /// It.
        name: String,
    },
    /// A query parameter, cookie or tag without a name, or with one that it cannot have.
    #[error("{name:?} cannot be the name of a {subject}")]
    SubjectName {
        /// `query`, `cookie` or `tag`.
        subject: &'static str,
        /// It.
        name: String,
    },
    /// This is no method.
    #[error("{method:?} is no method; methods are written like GET")]
    Method {
        /// It.
        method: String,
    },
    /// No path can be this or begin with it.
    #[error("{path:?} is no path and no beginning of one, which has a / in front and no ? or #")]
    Path {
        /// It.
        path: String,
    },
    /// The expression is none.
    #[error("{expression:?} is no regular expression: {reason}")]
    Regex {
        /// It.
        expression: String,
        /// Why.
        reason: String,
    },
    /// One of no texts.
    #[error("any needs at least one text")]
    AnyOfNone,
    /// Everything begins with nothing.
    #[error("every text begins with the empty one; write present: true")]
    EmptyPrefix,
    /// There are more than may be.
    #[error("more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many may be.
        limit: usize,
    },
    /// A text is longer than it may be.
    #[error("longer than {limit} bytes")]
    TooLong {
        /// How long it may be.
        limit: usize,
    },
}
