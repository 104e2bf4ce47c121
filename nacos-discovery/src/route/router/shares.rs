use std::fmt;

/// All of it, in hundredths of a percent.
const WHOLE: u32 = 10_000;

/// Hundredths of a percent, 0 to 10 000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hundredths(u32);

impl Hundredths {
    /// `None` if it is not from 0 to 100, or has more than two decimals.
    pub(super) fn of(percent: f64) -> Option<Self> {
        if !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let rounded = (percent * 100.0).round();
        // What a decimal fraction is off as a binary one is much less than that.
        ((percent * 100.0 - rounded).abs() < 1e-6).then_some(Self(rounded as u32))
    }
}

/// A sum of some as percent: `99.5`.
pub(super) struct Sum(u32);

impl Sum {
    pub(super) fn of(parts: impl Iterator<Item = Hundredths>) -> Self {
        Self(parts.map(|part| part.0).sum())
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.0 == WHOLE
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / 100.0)
    }
}

/// Some things and their shares, which follow each other: 0 to 10 %, 10 to 100 %.
#[derive(Debug)]
pub(super) struct Shares<T> {
    /// All but the last, with where their share ends.
    before: Vec<(u32, T)>,
    last: T,
}

impl<T> Shares<T> {
    /// The shares of `before` are 100 percent together with that of `last`, or 0 percent is what is left for it.
    pub(super) fn new(before: Vec<(Hundredths, T)>, last: T) -> Self {
        let mut end = 0;
        let ends = before.into_iter().map(|(share, one)| {
            end += share.0;
            (end, one)
        });
        Self { before: ends.collect(), last }
    }

    /// Everything with its percentage, where that is above 0.
    pub(super) fn all(&self) -> impl Iterator<Item = (f64, &T)> {
        let ends = self.before.iter().map(|(end, one)| (*end, one)).chain([(WHOLE, &self.last)]);
        let begins = std::iter::once(0).chain(self.before.iter().map(|(end, _)| *end));
        let shares = ends.zip(begins).map(|((end, one), begin)| (f64::from(end - begin) / 100.0, one));
        shares.filter(|(percent, _)| *percent > 0.0)
    }

    /// The thing in whose share a draw of 64 uniform bits falls. Nothing is drawn where there is one only.
    pub(super) fn drawn(&self, draw: impl FnOnce() -> u64) -> &T {
        if self.before.is_empty() {
            return &self.last;
        }
        let point = point(draw());
        self.before.iter().find(|(end, _)| point < *end).map_or(&self.last, |(_, one)| one)
    }
}

/// A point from 0 to 9 999, each as likely as any other.
fn point(bits: u64) -> u32 {
    ((u128::from(bits) * u128::from(WHOLE)) >> u64::BITS) as u32
}
