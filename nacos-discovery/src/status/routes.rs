use serde::Serialize;
use tokio::time::Instant;

use crate::Directory;
use crate::causes::with_causes;

/// The routing rules of a [`Directory`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct RoutesReport {
    /// For how long they have been in force, in milliseconds.
    pub for_ms: u64,
    /// The services that have rules, whether they are asked for or not, sorted.
    pub services: Vec<RoutedServiceReport>,
    /// Why the newest document of those that are followed is not in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// The routing rules of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct RoutedServiceReport {
    /// The service, as the document names it.
    pub service: String,
    /// The names of its rules, from top to bottom.
    pub rules: Vec<String>,
}

impl RoutesReport {
    /// `None` if there are no rules, and nothing is wrong with them.
    pub(super) fn new(directory: &Directory, now: Instant) -> Option<Self> {
        let document = directory.routes();
        let services = document.services.iter().map(|(service, rules)| RoutedServiceReport {
            service: service.clone(),
            rules: rules.routes.iter().map(|rule| rule.name.clone()).collect(),
        });
        let services: Vec<_> = services.collect();
        let trouble = directory.routes_trouble().map(|trouble| with_causes(&*trouble));
        let age = now.saturating_duration_since(directory.routes_since()).as_millis();
        (!services.is_empty() || trouble.is_some()).then(|| Self {
            for_ms: u64::try_from(age).unwrap_or(u64::MAX),
            services,
            trouble,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use futures_util::{StreamExt, stream};
    use serde_json::json;
    use tokio::time::{advance, sleep};

    use super::*;
    use crate::route::{Destination, Label, RouteDocument, RouteRules, Rule};
    use crate::{BalanceSettings, DiscoveryError, InMemoryDiscovery};

    #[tokio::test(start_paused = true)]
    async fn rules_their_age_and_what_is_wrong_with_newer_ones_are_told() {
        let directory = Directory::new(Arc::new(InMemoryDiscovery::new()), BalanceSettings::default());
        let report = || serde_json::to_value(RoutesReport::new(&directory, Instant::now())).unwrap();
        assert_eq!(report(), json!(null));
        let rules = RouteRules::new()
            .with_rule(Rule::new("testers").to(Label::new("version", "v2")))
            .with_rule(Rule::new("others").to(Destination::Baseline));
        directory.set_routes(RouteDocument::new().with_service("orders", rules)).unwrap();
        advance(Duration::from_millis(1500)).await;
        let services = json!([{"service": "orders", "rules": ["testers", "others"]}]);
        assert_eq!(report(), json!({"forMs": 1500, "services": services}));

        let broken = stream::iter([Err::<RouteDocument, _>(DiscoveryError::unavailable("no file"))]);
        let follower = directory.follow_routes(broken.chain(stream::pending())).unwrap();
        sleep(Duration::from_millis(1)).await;
        let trouble = "the registry gave no answer: no file";
        assert_eq!(report(), json!({"forMs": 1501, "services": services, "trouble": trouble}));
        drop(follower);
        sleep(Duration::from_millis(1)).await;
        assert_eq!(report(), json!({"forMs": 1502, "services": services}), "nobody follows any longer");
    }
}
