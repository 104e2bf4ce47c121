/// A page of a sorted list: number from 1, and how many items a page has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    number: i32,
    size: i32,
}

/// A page size that is no size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageError {
    pub(crate) size: i32,
}

impl Page {
    /// # Errors
    ///
    /// A negative size; a number below 1 means 1.
    pub(crate) fn new(number: i32, size: i32) -> Result<Self, PageError> {
        if size < 0 { Err(PageError { size }) } else { Ok(Self { number: number.max(1), size }) }
    }

    /// The first page, of nothing.
    pub(crate) fn empty() -> Self {
        Self { number: 1, size: 0 }
    }

    /// How many items come before the page, and how many it holds at most.
    pub(crate) fn bounds(self) -> (usize, usize) {
        let number = usize::try_from(self.number).unwrap_or(1);
        let size = usize::try_from(self.size).unwrap_or(0);
        ((number - 1).saturating_mul(size), size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        assert_eq!(Page::new(1, 10).map(Page::bounds), Ok((0, 10)));
        assert_eq!(Page::new(3, 2).map(Page::bounds), Ok((4, 2)));
        assert_eq!(Page::new(-7, 2).map(Page::bounds), Ok((0, 2)));
        assert_eq!(Page::new(5, 0).map(Page::bounds), Ok((0, 0)));
        assert_eq!(Page::new(1, -1), Err(PageError { size: -1 }));
        let (skip, take) = Page::new(i32::MAX, i32::MAX).map(Page::bounds).expect("a positive size");
        assert!(skip >= take);
    }
}
