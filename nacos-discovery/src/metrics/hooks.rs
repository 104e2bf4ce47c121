use std::time::Duration;

use ::metrics::{Label, counter, gauge, histogram};

use super::labels::{self, UNKNOWN};
use super::{exception, names};
use crate::{CallInfo, Completed, Hooks, RouteTaken, ServiceInstance};

/// Counts calls and measures how long they take. Given to [`crate::BalanceLayer::hooks`].
///
/// A call is measured from before its instance was chosen to the end that counts, which [`crate::Completion`] sets. What the
/// recorder makes of it is its own matter; without one it costs some labels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MetricsHooks {
    uri: Uri,
}

/// What the label `uri` holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Uri {
    #[default]
    Nothing,
    Path,
}

impl MetricsHooks {
    /// With everything but the path.
    #[must_use]
    pub const fn new() -> Self {
        Self { uri: Uri::Nothing }
    }

    /// Fills the label `uri` with the path, as Spring does with `stats.include-path`, which is on there. Only for services whose
    /// paths are few: every path is a series of its own, for ever. The query is never told.
    #[must_use]
    pub const fn with_uri(mut self) -> Self {
        self.uri = Uri::Path;
        self
    }

    /// The labels of a call that has ended.
    fn labels(self, call: &CallInfo) -> Vec<Label> {
        let mut labels = instance_or_service(call);
        labels.push(labels::method(call.method()));
        labels.push(match self.uri {
            Uri::Nothing => Label::from_static_parts("uri", UNKNOWN),
            Uri::Path => Label::new("uri", call.path().to_owned()),
        });
        labels
    }
}

fn instance_or_service(call: &CallInfo) -> Vec<Label> {
    call.instance().map_or_else(|| labels::of_service(call.service()), labels::of_instance)
}

fn count_routed(call: &CallInfo, route: &RouteTaken, result: &'static str) {
    let mut labels = labels::of_service(call.service());
    labels.push(labels::rule(route.rule()));
    labels.push(Label::from_static_parts("result", result));
    counter!(names::ROUTED, labels).increment(1);
}

impl Hooks for MetricsHooks {
    fn selected(&self, call: &CallInfo, instance: &ServiceInstance) {
        gauge!(names::ACTIVE, labels::of_instance(instance)).increment(1.0);
        if let Some(route) = call.route() {
            count_routed(call, route, if route.missed() { "miss" } else { "hit" });
        }
    }

    fn complete(&self, call: &CallInfo, completed: &Completed<'_>, took: Duration) {
        if let Some(instance) = call.instance() {
            gauge!(names::ACTIVE, labels::of_instance(instance)).decrement(1.0);
        }
        match completed {
            Completed::Success { status, .. } => {
                let mut labels = self.labels(call);
                labels.extend([labels::outcome(*status), labels::status(*status)]);
                histogram!(names::SUCCESS, labels).record(took);
            }
            Completed::Failed { outcome, .. } => {
                let mut labels = self.labels(call);
                labels.push(exception::of_outcome(outcome));
                histogram!(names::FAILED, labels).record(took);
            }
            Completed::Discard { error } => {
                if let Some(route) = call.route() {
                    count_routed(call, route, "failed");
                }
                let mut labels = self.labels(call);
                labels.push(exception::of_error(error));
                counter!(names::DISCARD, labels).increment(1);
            }
            Completed::Cancelled { .. } => counter!(names::CANCELLED, instance_or_service(call)).increment(1),
        }
    }
}
