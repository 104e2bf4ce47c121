use http::HeaderName;

/// The headers that the rules of a service look at, each once, so that one pass over those of a request finds all of them,
/// whatever the number of rules.
#[derive(Debug, Default)]
pub(super) struct WatchedHeaders {
    names: Vec<HeaderName>,
    /// A bit for each of their lengths: a header of another one is not watched.
    lengths: u64,
}

/// A header that a rule looks at.
#[derive(Debug)]
pub(super) struct WatchedHeader {
    pub(super) name: HeaderName,
    /// Its place among the watched ones; `None` for one that is looked up by itself.
    pub(super) place: Option<usize>,
}

impl WatchedHeaders {
    /// As many as have a place. Further ones are looked up when a rule asks for them.
    pub(super) const LIMIT: usize = 16;

    /// Watches it, too.
    pub(super) fn watch(&mut self, name: HeaderName) -> WatchedHeader {
        let known = self.names.iter().position(|one| *one == name);
        let place = known.or_else(|| {
            (self.names.len() < Self::LIMIT).then(|| {
                self.lengths |= bit(&name);
                self.names.push(name.clone());
                self.names.len() - 1
            })
        });
        WatchedHeader { name, place }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The place of a header, if it is watched.
    #[inline]
    pub(super) fn place(&self, name: &HeaderName) -> Option<usize> {
        if self.lengths & bit(name) == 0 {
            return None;
        }
        self.names.iter().position(|one| one == name)
    }
}

/// One of 64 bits, by the length: that is enough to pass over most headers of most requests.
#[inline]
fn bit(name: &HeaderName) -> u64 {
    1 << (name.as_str().len() % u64::BITS as usize)
}
