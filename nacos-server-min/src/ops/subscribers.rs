use std::sync::Arc;

use crate::context::Context;
use crate::registry::{Service, Subscriber};

/// Somebody who is told of a service's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SubscriberInfo {
    /// Its address, with a port if it is reached there.
    pub(crate) address: String,
    pub(crate) agent: String,
    pub(crate) app: String,
    pub(crate) ip: String,
    /// 0 for a connection.
    pub(crate) port: u16,
    pub(crate) namespace: String,
    pub(crate) group: String,
    pub(crate) service: String,
    /// Its cluster filter.
    pub(crate) cluster: String,
}

/// Who is subscribed to the services whose names have these parts.
pub(crate) fn subscribers(context: &Context, namespace: &str, group: &str, name: &str) -> Vec<SubscriberInfo> {
    let keep = |service: &Service| service.group.contains(group) && service.name.contains(name);
    let mut found = Vec::new();
    for service in context.registry.subscribed(namespace, keep) {
        found.extend(service.subscribers().iter().filter_map(|subscriber| info(context, &service, subscriber)));
        found.extend(by_udp(context, &service));
    }
    found
}

/// Those who are reached by UDP.
pub(crate) fn by_udp(context: &Context, service: &Arc<Service>) -> impl Iterator<Item = SubscriberInfo> {
    let (namespace, group, name) = (&service.namespace, &service.group, &service.name);
    context.udp.subscribers(service).into_iter().map(move |subscriber| SubscriberInfo {
        address: subscriber.target.to_string(),
        agent: subscriber.agent.to_string(),
        app: subscriber.app.to_string(),
        ip: subscriber.target.ip().to_string(),
        port: subscriber.target.port(),
        namespace: namespace.to_string(),
        group: group.to_string(),
        service: name.to_string(),
        cluster: subscriber.clusters.to_string(),
    })
}

fn info(context: &Context, service: &Service, subscriber: &Subscriber) -> Option<SubscriberInfo> {
    // A connection that has just gone takes its subscriptions with it.
    let connection = context.connections.get(&subscriber.client.name)?;
    let registration = connection.registration();
    let text =
        |of: fn(&crate::conn::Registration) -> &String| registration.as_deref().map(of).cloned().unwrap_or_default();
    let told = text(|registration| &registration.client_ip);
    let ip = if told.is_empty() { connection.remote.ip().to_string() } else { told };
    Some(SubscriberInfo {
        address: ip.clone(),
        agent: text(|registration| &registration.client_version),
        app: text(|registration| &registration.app),
        ip,
        port: 0,
        namespace: service.namespace.to_string(),
        group: service.group.to_string(),
        service: service.name.to_string(),
        cluster: subscriber.clusters.as_deref().unwrap_or_default().to_owned(),
    })
}
