use super::expression::Expression;

/// A test, ready to be asked. Values come as the bytes that were sent; a value that is no UTF-8 is there, and nothing else.
#[derive(Debug)]
pub(super) enum Matcher {
    Exact(String),
    /// In order.
    Any(Vec<String>),
    Prefix(String),
    /// Of the whole value.
    Regex(Box<Expression>),
    Present,
}

impl Matcher {
    pub(super) fn holds(&self, value: &[u8]) -> bool {
        match self {
            Self::Exact(text) => text.as_bytes() == value,
            Self::Any(texts) => texts.binary_search_by(|text| text.as_bytes().cmp(value)).is_ok(),
            Self::Prefix(text) => value.starts_with(text.as_bytes()) && std::str::from_utf8(value).is_ok(),
            Self::Regex(expression) => expression.is_match(value),
            Self::Present => true,
        }
    }
}
