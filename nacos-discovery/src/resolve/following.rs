use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How the following of documents is going.
#[derive(Debug, Default)]
pub(super) struct Following {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    trouble: Option<Arc<dyn Error + Send + Sync>>,
    ended: bool,
}

impl Following {
    /// What the last item went wrong with; `None` if it is in force.
    pub(super) fn trouble(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.lock().trouble.clone()
    }

    /// Whether there will be no other document.
    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    /// Notes what an item has become. Whether that is news: the same trouble again is none.
    pub(super) fn note(&self, trouble: Option<Arc<dyn Error + Send + Sync>>) -> bool {
        let mut state = self.lock();
        let told = |trouble: &Option<Arc<dyn Error + Send + Sync>>| trouble.as_ref().map(ToString::to_string);
        let is_news = told(&state.trouble) != told(&trouble);
        state.trouble = trouble;
        is_news
    }

    pub(super) fn end(&self) {
        self.lock().ended = true;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
