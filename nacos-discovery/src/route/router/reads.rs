//! Names and tests of rules, checked and made ready.

use http::{HeaderName, Method, header};

use super::condition::PlannedCondition;
use super::expression::Expression;
use super::limits;
use super::matcher::Matcher;
use super::reader::Reader;
use super::watched_headers::WatchedHeaders;
use crate::route::error::{At, Problem};
use crate::route::{Condition, RouteError, Subject, Test};

/// A condition; `at` is its place.
pub(super) fn condition(
    at: &At<'_>,
    condition: &Condition,
    watched: &mut WatchedHeaders,
) -> Result<PlannedCondition, RouteError> {
    let Condition { subject, test } = condition;
    let at = at.key(subject.kind());
    let reader = reader(&at.key("name"), subject, watched)?;
    let at = at.key(test.kind());
    texts(&at, subject, test)?;
    Ok(match (subject, test) {
        (Subject::Method, Test::Exact(method)) => PlannedCondition::Methods(vec![self::method(&at, method)?]),
        (Subject::Method, Test::Any(methods)) => {
            let methods = methods.iter().enumerate().map(|(index, method)| self::method(&at.entry(index), method));
            PlannedCondition::Methods(methods.collect::<Result<_, _>>()?)
        }
        _ => PlannedCondition::Value(reader, matcher(&at, test)?),
    })
}

/// Where a value is taken from; `at` is the place of what has the subject as its key.
pub(super) fn taken(at: &At<'_>, subject: &Subject, watched: &mut WatchedHeaders) -> Result<Reader, RouteError> {
    let at = at.key(subject.kind());
    match subject {
        Subject::Path | Subject::Method => Err(at.fails(Problem::NotTaken { subject: subject.kind() })),
        _ => reader(&at, subject, watched),
    }
}

fn reader(at: &At<'_>, subject: &Subject, watched: &mut WatchedHeaders) -> Result<Reader, RouteError> {
    if subject.name().is_some_and(|name| name.len() > limits::NAME) {
        return Err(at.fails(Problem::TooLong { limit: limits::NAME }));
    }
    let named = |name: &String, odd: fn(char) -> bool| {
        if name.is_empty() || name.contains(odd) {
            return Err(at.fails(Problem::SubjectName { subject: subject.kind(), name: name.clone() }));
        }
        Ok(name.clone())
    };
    Ok(match subject {
        Subject::Header(name) => {
            let parsed = HeaderName::from_bytes(name.as_bytes());
            let parsed = parsed.map_err(|_| at.fails(Problem::HeaderName { name: name.clone() }))?;
            Reader::Header(watched.watch(parsed))
        }
        Subject::Query(name) => Reader::Query(named(name, |_| false)?),
        Subject::Cookie(name) => {
            let name = named(name, |c| matches!(c, '=' | ';') || c.is_whitespace() || c.is_control())?;
            Reader::Cookie { lines: watched.watch(header::COOKIE), name }
        }
        Subject::Tag(name) => Reader::Tag(named(name, |_| false)?),
        Subject::Path => Reader::Path,
        Subject::Method => Reader::Method,
    })
}

/// Whether the texts of a test can hold at all.
fn texts(at: &At<'_>, subject: &Subject, test: &Test) -> Result<(), RouteError> {
    let limit = if *subject == Subject::Path { limits::PATH } else { limits::VALUE };
    let text = |at: &At<'_>, text: &String| {
        if text.len() > limit {
            return Err(at.fails(Problem::TooLong { limit }));
        }
        let is_path = (text.starts_with('/') || text == "*") && !text.contains(['?', '#']);
        if *subject == Subject::Path && !is_path {
            return Err(at.fails(Problem::Path { path: text.clone() }));
        }
        Ok(())
    };
    match test {
        Test::Exact(exact) => text(at, exact),
        Test::Prefix(prefix) if prefix.is_empty() => Err(at.fails(Problem::EmptyPrefix)),
        Test::Prefix(prefix) => text(at, prefix),
        Test::Any(texts) if texts.is_empty() => Err(at.fails(Problem::AnyOfNone)),
        Test::Any(texts) if texts.len() > limits::TEXTS => {
            Err(at.fails(Problem::TooMany { what: "texts", limit: limits::TEXTS }))
        }
        Test::Any(texts) => texts.iter().enumerate().try_for_each(|(index, one)| text(&at.entry(index), one)),
        Test::Regex(_) | Test::Present => Ok(()),
    }
}

fn matcher(at: &At<'_>, test: &Test) -> Result<Matcher, RouteError> {
    Ok(match test {
        Test::Exact(text) => Matcher::Exact(text.clone()),
        Test::Any(texts) => {
            let mut texts = texts.clone();
            texts.sort_unstable();
            Matcher::Any(texts)
        }
        Test::Prefix(text) => Matcher::Prefix(text.clone()),
        Test::Regex(expression) => Matcher::Regex(Box::new(regex(at, expression)?)),
        Test::Present => Matcher::Present,
    })
}

fn regex(at: &At<'_>, expression: &str) -> Result<Expression, RouteError> {
    if expression.len() > limits::EXPRESSION {
        return Err(at.fails(Problem::TooLong { limit: limits::EXPRESSION }));
    }
    Expression::new(expression)
        .map_err(|error| at.fails(Problem::Regex { expression: expression.to_owned(), reason: error.to_string() }))
}

/// Methods are case-sensitive, and those of the standards are in capitals.
fn method(at: &At<'_>, text: &str) -> Result<Method, RouteError> {
    let refused = || at.fails(Problem::Method { method: text.to_owned() });
    let method = Method::from_bytes(text.as_bytes()).map_err(|_| refused())?;
    if text.contains(|c: char| c.is_ascii_lowercase()) { Err(refused()) } else { Ok(method) }
}
