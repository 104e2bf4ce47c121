use std::error::Error;
use std::iter;

/// The error and all its sources.
pub(crate) fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source())
}

/// An error and what caused it, on one line.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let texts: Vec<_> = causes(error).map(ToString::to_string).collect();
    texts.join(": ")
}
