//! What a trace says of a balanced call.

use std::fmt;
use std::sync::{Arc, Mutex};

use http::Response;
use nacos_discovery::route::{Destination, RouteDocument, RouteRules, Rule};
use nacos_discovery::{BalanceLayer, ServiceSettings};
use tower_layer::Layer as _;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Instrument, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::balancing_support::*;

/// Spans as text: the name, its parent's, and the fields as they are recorded.
#[derive(Debug, Clone, Default)]
struct Spans(Arc<Mutex<Vec<String>>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl Spans {
    fn add(&self, text: String) {
        self.0.lock().expect("no panic while it is written").push(text);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, cx: Context<'_, S>) {
        let span = cx.span(id).expect("it is new");
        let mut text = format!("{} in {}", span.name(), span.parent().map_or("nothing", |parent| parent.name()));
        attributes.record(&mut Fields(&mut text));
        self.add(text);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, cx: Context<'_, S>) {
        let mut text = cx.span(id).expect("it is there").name().to_owned();
        values.record(&mut Fields(&mut text));
        self.add(text);
    }
}

#[tokio::test]
async fn a_call_is_a_span_in_the_callers_trace_and_the_client_below_is_in_it() {
    let directory = listing(ServiceSettings::default(), at([1000]));
    let client = Strict::new(1, async |_| {
        let _below = tracing::info_span!("below").entered();
        Ok(Response::new(String::from("secret")))
    });
    let service = BalanceLayer::new(&directory).layer(client);
    let spans = Spans::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(spans.clone()));
    // The test whose thread reaches a span first decides for the whole process who listens to it, and others do not listen.
    let is_heard =
        || spans.0.lock().expect("no panic while it is written").iter().any(|span| span.starts_with("balance"));
    while !is_heard() {
        tracing::callsite::rebuild_interest_cache();
        drop(send(&service, get("/")).await.expect("an instance"));
    }
    spans.0.lock().expect("no panic while it is written").clear();
    let call = send(&service, get("/a?token=secret")).instrument(tracing::info_span!("caller"));
    assert_eq!(call.await.expect("an instance").into_body().into_inner(), "secret");

    let heard = spans.clone();
    let spans = spans.0.lock().unwrap().clone();
    let ours: Vec<_> =
        spans.iter().filter(|span| ["balance", "below", "caller"].iter().any(|name| span.starts_with(name))).collect();
    assert_eq!(ours[0], "caller in nothing");
    assert_eq!(ours[1], "balance in caller service=DEFAULT_GROUP@@Order_Service instance=127.0.0.1:1000 attempt=1");
    assert_eq!(ours[2], "below in balance");
    assert!(ours[3].starts_with("balance outcome=Success") && ours.len() == 4, "{ours:?}");
    assert!(!spans.join("\n").contains("secret"), "nothing of request and answer");

    let rules = RouteRules::new().with_rule(Rule::new("testers").to(Destination::Baseline));
    directory.set_routes(RouteDocument::new().with_service(ORDERS, rules)).unwrap();
    drop(send(&service, get("/")).await.expect("an instance"));
    assert!(heard.0.lock().unwrap().iter().any(|span| span.starts_with("balance rule=testers")));
}
