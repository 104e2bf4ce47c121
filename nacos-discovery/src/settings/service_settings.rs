use std::sync::Arc;
use std::time::Duration;

use super::request_rules::RequestRules;
use super::{Completion, Downgrade, ForwardedHeaders, HashOn, HostHeader, NodeSettings, Selection, Upkeep};
use crate::RetrySettings;
use crate::pick::{Policy, WeightedRandom};

/// How requests to one service are spread.
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    policy: Arc<dyn Policy>,
    completion: Completion,
    pub(super) node: NodeSettings,
    requests: RequestRules,
    pub(super) selection: Selection,
    pub(super) upkeep: Upkeep,
    retry: RetrySettings,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            policy: Arc::new(WeightedRandom::default()),
            completion: Completion::default(),
            node: NodeSettings::default(),
            requests: RequestRules::default(),
            selection: Selection::default(),
            upkeep: Upkeep::default(),
            retry: RetrySettings::default(),
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

    /// When a call counts as ended, default with the body.
    #[must_use]
    pub const fn with_completion(mut self, completion: Completion) -> Self {
        self.completion = completion;
        self
    }

    /// What consistent hashing chooses by, default a [`crate::HashKey`] only.
    #[must_use]
    pub fn with_hash_on(mut self, hash_on: HashOn) -> Self {
        self.requests.hash_on = hash_on;
        self
    }

    /// What the `Host` header says, default the address of the instance.
    #[must_use]
    pub const fn with_host_header(mut self, header: HostHeader) -> Self {
        self.requests.host_header = header;
        self
    }

    /// Which `X-Forwarded-*` headers are added, default none.
    #[must_use]
    pub const fn with_forwarded_headers(mut self, headers: ForwardedHeaders) -> Self {
        self.requests.forwarded_headers = headers;
        self
    }

    /// Whether a request for `https` may go to an instance without TLS, default never.
    #[must_use]
    pub const fn with_downgrade(mut self, downgrade: Downgrade) -> Self {
        self.requests.downgrade = downgrade;
        self
    }

    pub(crate) const fn requests(&self) -> &RequestRules {
        &self.requests
    }

    /// When a failed call is repeated, default as [`RetrySettings`] says. It counts where [`crate::RetryNextLayer`] is used.
    #[must_use]
    pub fn with_retry(mut self, retry: RetrySettings) -> Self {
        self.retry = retry;
        self
    }

    pub(crate) const fn retry(&self) -> &RetrySettings {
        &self.retry
    }

    pub(crate) fn policy(&self) -> &dyn Policy {
        &*self.policy
    }

    pub(crate) const fn first_list_wait(&self) -> Duration {
        self.upkeep.first_list_wait()
    }

    pub(crate) const fn selection(&self) -> &Selection {
        &self.selection
    }

    pub(crate) const fn upkeep(&self) -> &Upkeep {
        &self.upkeep
    }

    pub(crate) const fn completion(&self) -> Completion {
        self.completion
    }
}
