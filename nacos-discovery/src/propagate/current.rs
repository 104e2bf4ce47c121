//! The headers of the request that a task is handling.

use tokio::task::futures::TaskLocalFuture;

use super::Propagated;

tokio::task_local! {
    static CURRENT: Propagated;
}

/// A future whose polls see their own headers.
pub(super) type Within<F> = TaskLocalFuture<Propagated, F>;

pub(super) fn get() -> Propagated {
    CURRENT.try_with(Clone::clone).unwrap_or_default()
}

pub(super) fn around<F>(propagated: Propagated, future: F) -> Within<F>
where
    F: Future,
{
    CURRENT.scope(propagated, future)
}

pub(super) fn during<T>(propagated: &Propagated, run: impl FnOnce() -> T) -> T {
    CURRENT.sync_scope(propagated.clone(), run)
}
