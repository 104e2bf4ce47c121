use std::sync::Arc;
use std::time::Duration;

use nacos_client::{NamingService, ServiceKey};
use tokio::time::{Instant, timeout};

use super::glance::Glance;
use super::{Explanation, ListState, NearMisses, Viewpoint, listed};
use crate::causes::with_causes;
use crate::pick::{NoInstance, NoInstanceReason, PickContext, Reach};
use crate::route::RequestHead;
use crate::settings::ServiceSettings;
use crate::{Directory, Discovery, DiscoveryError, Endpoints, ServiceInstance, Tried, address};

impl Directory {
    /// Why requests to a service go where they go, or nowhere, from what this process knows. It asks nobody, and does not
    /// begin to watch the service.
    #[must_use]
    pub fn explain(&self, service: &ServiceKey) -> Explanation {
        match self.peek(service) {
            Some(endpoints) => endpoints.explain(),
            None => unwatched(service, &self.settings().service(service), "nobody has asked for it yet".to_owned()),
        }
    }

    /// Why a request goes where it goes, by the routing rules of its service.
    #[must_use]
    pub fn explain_request(&self, service: &ServiceKey, request: RequestHead<'_>) -> Explanation {
        match self.peek(service) {
            Some(endpoints) => endpoints.explain_request(request),
            None => self.explain(service),
        }
    }

    /// The same for the next attempt of a request that was sent to `tried` already.
    #[must_use]
    pub fn explain_retry(&self, service: &ServiceKey, request: RequestHead<'_>, tried: &Tried) -> Explanation {
        match self.peek(service) {
            Some(endpoints) => endpoints.explained(&tried.instances(), Some(request)),
            None => self.explain(service),
        }
    }

    /// What [`Directory::explain`] tells, after waiting for the first list, and with what may be meant if no instance takes requests, for which the
    /// registry of `nacos` is asked. Begins to watch the service. Each of both takes at most the client's deadline.
    ///
    /// # Cancel safety
    /// Cancel safe: it only asks.
    pub async fn explain_by_asking(&self, nacos: &NamingService, service: &ServiceKey) -> Explanation {
        self.ask(nacos, service, None).await
    }

    /// The same for a request, which goes where the routing rules of its service say.
    ///
    /// # Cancel safety
    /// Cancel safe: it only asks.
    pub async fn explain_request_by_asking(
        &self,
        nacos: &NamingService,
        service: &ServiceKey,
        request: RequestHead<'_>,
    ) -> Explanation {
        self.ask(nacos, service, Some(request)).await
    }

    async fn ask(&self, nacos: &NamingService, service: &ServiceKey, request: Option<RequestHead<'_>>) -> Explanation {
        let mut explanation = match self.known(service, nacos.config().timeouts().request).await {
            Ok(endpoints) => endpoints.explained(&[], request),
            Err(error) => unwatched(service, &self.settings().service(service), with_causes(&error)),
        };
        explanation.namespace = Some(nacos.config().namespace().to_string());
        if !explanation.takes_requests() {
            explanation.add(NearMisses::search(nacos, service).await);
        }
        explanation
    }

    async fn known(&self, service: &ServiceKey, limit: Duration) -> Result<Arc<Endpoints>, DiscoveryError> {
        let endpoints = self.endpoints(service)?;
        // That none has come in time is what the explanation then says.
        let _ = timeout(limit, endpoints.ready()).await;
        Ok(endpoints)
    }
}

impl Discovery {
    /// Why requests to a service go where they go, or nowhere, as [`Discovery::directory`] spreads them; the registry is asked
    /// for what may be meant if no instance takes requests. For another directory see [`Directory::explain_by_asking`].
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn example(discovery: nacos_discovery::Discovery) {
    /// println!("{}", discovery.explain(&discovery.service_key("order-service")).await);
    /// # }
    /// ```
    ///
    /// # Cancel safety
    /// Cancel safe: it only asks.
    pub async fn explain(&self, service: &ServiceKey) -> Explanation {
        self.explained(service, None).await
    }

    /// Why a request goes where it goes, by the routing rules of its service; otherwise like [`Discovery::explain`].
    ///
    /// # Cancel safety
    /// Cancel safe: it only asks.
    pub async fn explain_request(&self, service: &ServiceKey, request: RequestHead<'_>) -> Explanation {
        self.explained(service, Some(request)).await
    }

    async fn explained(&self, service: &ServiceKey, request: Option<RequestHead<'_>>) -> Explanation {
        if !self.config().enabled() {
            let settings = self.directory().settings().service(service);
            let why = "discovery is switched off by `spring.cloud.nacos.discovery.enabled`";
            return unwatched(service, &settings, why.to_owned());
        }
        self.directory().ask(self.nacos(), service, request).await
    }
}

impl Endpoints {
    /// Why requests go where they go, or nowhere, from what this process knows. Where the service has routing rules: requests
    /// that say nothing.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        self.explained(&[], None)
    }

    /// Why a request goes where it goes, by the routing rules of the service.
    #[must_use]
    pub fn explain_request(&self, request: RequestHead<'_>) -> Explanation {
        self.explained(&[], Some(request))
    }

    fn explained(&self, tried: &[ServiceInstance], request: Option<RequestHead<'_>>) -> Explanation {
        let now = Instant::now();
        let head = request.unwrap_or_else(|| PickContext::new().head());
        let Some(view) = self.view(Some(&head)) else {
            let reason = NoInstanceReason::Unknown { waited: self.settings().first_list_wait() };
            let none = NoInstance::new(self.service().clone(), reason).caused_by(self.trouble());
            return unwatched(self.service(), self.settings(), with_causes(&none));
        };
        let viewpoint = Viewpoint::new(self.settings(), view.reach);
        let glance = Glance { view: &view, viewpoint: &viewpoint, tried, now };
        let found = view.routed.as_ref().map_or_else(|| glance.plain(), |routed| glance.by_route(routed));
        let near_misses = match found.no_instance {
            Some(_) => listed::near_misses(&found.seen, &viewpoint),
            None => listed::other_clusters(&found.seen, found.serving, &viewpoint).into_iter().collect(),
        };
        Explanation {
            service: self.service().to_string(),
            namespace: None,
            list: Some(ListState::new(&view.status, now)),
            route: found.route,
            no_instance: found.no_instance,
            instances: found.instances,
            viewpoint,
            near_misses,
            unseen: Vec::new(),
        }
    }
}

/// Of a service of which there is no list.
fn unwatched(service: &ServiceKey, settings: &ServiceSettings, why: String) -> Explanation {
    Explanation {
        service: service.to_string(),
        namespace: None,
        viewpoint: Viewpoint::new(settings, Reach::new(settings.selection().family(), address::own_addresses)),
        list: None,
        route: None,
        no_instance: Some(why),
        instances: Vec::new(),
        near_misses: Vec::new(),
        unseen: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nacos_client::Instance;

    use super::*;
    use crate::route::{Label, RouteDocument, RouteRules, Rule, Test};
    use crate::{BalanceSettings, InMemoryDiscovery, Standing};

    #[tokio::test]
    async fn what_a_retry_finds_is_told_without_the_instances_that_it_tried() {
        let instances = [Instance::new(("10.0.0.1", 80)), Instance::new(("10.0.0.2", 80)).cluster("c2")];
        let known = InMemoryDiscovery::new().with("orders", instances);
        let settings = ServiceSettings::default().with_own_cluster("DEFAULT");
        let directory = Directory::new(Arc::new(known), BalanceSettings::new(settings));
        let key = ServiceKey::new("", "orders");
        let endpoints = directory.endpoints(&key).unwrap();
        endpoints.ready().await.unwrap();
        let standings = |of: &Explanation| of.instances.iter().map(|one| one.standing).collect::<Vec<_>>();

        let tried = Tried::new();
        let request = http::Request::get("/").body(()).unwrap();
        let explain = || directory.explain_retry(&key, RequestHead::from(&request), &tried);
        assert_eq!(standings(&explain()), [Standing::Serving, Standing::InReserve]);
        tried.add(&endpoints.all()[0]);
        let retry = explain();
        assert_eq!(standings(&retry), [Standing::Tried, Standing::Serving]);
        assert_eq!(retry.instances[0].reason.as_deref(), Some("the request was there already"));
        tried.add(&endpoints.all()[1]);
        let none = explain();
        assert_eq!(none.no_instance.as_deref(), Some("all 2 were tried"));
        assert_eq!(standings(&directory.explain(&key)), [Standing::Serving, Standing::InReserve]);
    }

    #[tokio::test]
    async fn a_retry_goes_where_the_rules_say_that_its_request_goes() {
        let of = |port, version: &str| Instance::new(("10.0.0.1", port)).metadata("version", version);
        let known = InMemoryDiscovery::new().with("orders", [of(1, "v1"), of(2, "v2"), of(3, "v2")]);
        let directory = Directory::new(Arc::new(known), BalanceSettings::default());
        let rule =
            Rule::new("testers").when_header("x-version", Test::exact("v2")).to(Label::new("version", "v2")).or_fail();
        directory.set_routes(RouteDocument::new().with_service("orders", RouteRules::new().with_rule(rule))).unwrap();
        let key = ServiceKey::new("", "orders");
        let endpoints = directory.endpoints(&key).unwrap();
        endpoints.ready().await.unwrap();
        let tried = Tried::new();
        let all = endpoints.all();
        tried.add(all.iter().find(|one| one.instance().port() == 2).unwrap());
        let request = http::Request::get("/").header("x-version", "v2").body(()).unwrap();
        let retry = directory.explain_retry(&key, RequestHead::from(&request), &tried);
        let serving: Vec<_> = retry.serving().map(|one| one.address.as_str()).collect();
        assert_eq!(serving, ["10.0.0.1:3"], "{retry}");
    }
}
