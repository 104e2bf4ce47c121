use std::fmt;
use std::sync::{Mutex, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::watch;

/// Work that is done once, by whoever asks first, and goes on if nobody waits for it any more.
pub(super) struct Once<T> {
    result: Mutex<Option<watch::Receiver<Option<T>>>>,
}

impl<T: Clone + Send + Sync + 'static> Once<T> {
    pub(super) const fn new() -> Self {
        Self { result: Mutex::new(None) }
    }

    /// Does the work, unless it was begun before, and waits for its result; `None` if the runtime ended first.
    pub(super) async fn run<F>(&self, runtime: &Handle, work: impl FnOnce() -> F) -> Option<T>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut result = self.begin(runtime, work);
        result.wait_for(Option::is_some).await.ok().and_then(|result| result.clone())
    }

    fn begin<F>(&self, runtime: &Handle, work: impl FnOnce() -> F) -> watch::Receiver<Option<T>>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        result
            .get_or_insert_with(|| {
                let (sender, receiver) = watch::channel(None);
                let work = work();
                // Ends by itself: every step of the work is bounded.
                runtime.spawn(async move { sender.send_replace(Some(work.await)) });
                receiver
            })
            .clone()
    }
}

impl<T> fmt::Debug for Once<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}
