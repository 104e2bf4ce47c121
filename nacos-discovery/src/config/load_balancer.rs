use std::collections::BTreeMap;
use std::time::Duration;

use http::StatusCode;

use crate::settings::BalanceSettings;
use crate::{ForwardedHeaders, RetrySettings, ServiceSettings};

/// What `spring.cloud.loadbalancer.*` says of requests, as far as it means something here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LoadBalancer {
    pub(super) all: Requests,
    /// What `clients.<id>` says, which counts more for that service.
    pub(super) services: BTreeMap<String, Requests>,
}

/// What is said of requests to one service, or to all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Requests {
    pub(super) zone: Option<String>,
    pub(super) forwarded: Option<bool>,
    pub(super) first_list_wait: Option<Duration>,
    pub(super) retry: Option<bool>,
    pub(super) next_instances: Option<u32>,
    pub(super) all_methods: Option<bool>,
    pub(super) statuses: Option<Vec<StatusCode>>,
    pub(super) pauses: Option<bool>,
    pub(super) first_pause: Option<Duration>,
    pub(super) longest_pause: Option<Duration>,
}

/// Between the attempts, where pauses are asked for and their lengths are not said: Spring's first one, our longest one.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

impl LoadBalancer {
    /// The settings of requests. What is said of one service is said of one in `group`.
    pub(super) fn settings(&self, group: &str) -> BalanceSettings {
        let all = BalanceSettings::new(self.all.settings());
        self.services.iter().fold(all, |settings, (name, own)| {
            let own = own.clone().over(&self.all).settings();
            settings.with_service((group, name.as_str()), |_| own)
        })
    }
}

impl Requests {
    /// These, and those of `others` where these say nothing.
    fn over(self, others: &Self) -> Self {
        Self {
            zone: self.zone.or_else(|| others.zone.clone()),
            forwarded: self.forwarded.or(others.forwarded),
            first_list_wait: self.first_list_wait.or(others.first_list_wait),
            retry: self.retry.or(others.retry),
            next_instances: self.next_instances.or(others.next_instances),
            all_methods: self.all_methods.or(others.all_methods),
            statuses: self.statuses.or_else(|| others.statuses.clone()),
            pauses: self.pauses.or(others.pauses),
            first_pause: self.first_pause.or(others.first_pause),
            longest_pause: self.longest_pause.or(others.longest_pause),
        }
    }

    fn settings(&self) -> ServiceSettings {
        let mut settings = ServiceSettings::default().with_retry(self.repetitions());
        if let Some(zone) = &self.zone {
            settings = settings.with_zone(zone);
        }
        if self.forwarded == Some(true) {
            settings = settings.with_forwarded_headers(ForwardedHeaders::HostAndProto);
        }
        if let Some(wait) = self.first_list_wait {
            settings = settings.with_first_list_wait(wait);
        }
        settings
    }

    fn repetitions(&self) -> RetrySettings {
        if self.retry == Some(false) {
            return RetrySettings::off();
        }
        let mut retry = RetrySettings::default();
        if let Some(next) = self.next_instances {
            retry = retry.with_attempts(next.saturating_add(1));
        }
        if self.all_methods == Some(true) {
            retry = retry.all_methods();
        }
        for status in self.statuses.iter().flatten() {
            retry = retry.with_status(*status);
        }
        match self.pauses {
            None => retry,
            Some(false) => retry.with_backoff(Duration::ZERO, Duration::ZERO),
            Some(true) => {
                let first = self.first_pause.unwrap_or(PAUSES.0);
                retry.with_backoff(first, self.longest_pause.unwrap_or_else(|| PAUSES.1.max(first)))
            }
        }
    }
}
