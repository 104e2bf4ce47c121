use std::sync::Arc;
use std::time::Duration;

use super::{Completion, NodeSettings};
use crate::pick::{Policy, WeightedRandom};

const FIRST_LIST_WAIT: Duration = Duration::from_secs(5);

/// How requests to one service are spread.
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    policy: Arc<dyn Policy>,
    first_list_wait: Duration,
    completion: Completion,
    pub(super) node: NodeSettings,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            policy: Arc::new(WeightedRandom::default()),
            first_list_wait: FIRST_LIST_WAIT,
            completion: Completion::default(),
            node: NodeSettings::default(),
        }
    }
}

impl ServiceSettings {
    /// How an instance is chosen, default [`WeightedRandom`].
    #[must_use]
    pub fn with_policy(mut self, policy: impl Policy) -> Self {
        self.policy = Arc::new(policy);
        self
    }

    /// How long a request waits for the first list of a service, default 5 s.
    #[must_use]
    pub const fn with_first_list_wait(mut self, wait: Duration) -> Self {
        self.first_list_wait = wait;
        self
    }

    /// When a call counts as ended, default with the body.
    #[must_use]
    pub const fn with_completion(mut self, completion: Completion) -> Self {
        self.completion = completion;
        self
    }

    pub(crate) fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    pub(crate) const fn first_list_wait(&self) -> Duration {
        self.first_list_wait
    }

    pub(crate) const fn completion(&self) -> Completion {
        self.completion
    }
}
