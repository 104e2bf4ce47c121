use std::fmt;
use std::sync::Arc;

use crate::{Member, PickContext};

/// A way of choosing among instances. It makes a table per list, which then serves every pick.
pub trait Policy: fmt::Debug + Send + Sync + 'static {
    /// A table over `members`, which are sorted by address and cluster. It is made on the task that applies lists, while
    /// picks go on with the table before it. `seed` is random, so that many processes do not choose alike.
    fn table(&self, members: &[Member], seed: u64) -> Box<dyn Table>;
}

/// What a [`Policy`] prepared for one list. Many threads pick from it at once; it must not block.
pub trait Table: fmt::Debug + Send + Sync + 'static {
    /// The index of a member that `cx` takes, `None` only if it takes none. `members` are those that the table was made
    /// of, in the same order.
    fn pick(&self, members: &[Member], cx: &mut PickContext<'_>) -> Option<usize>;
}

impl<P: Policy + ?Sized> Policy for Arc<P> {
    fn table(&self, members: &[Member], seed: u64) -> Box<dyn Table> {
        (**self).table(members, seed)
    }
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn table(&self, members: &[Member], seed: u64) -> Box<dyn Table> {
        (**self).table(members, seed)
    }
}
