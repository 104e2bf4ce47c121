use std::fmt;

use crate::ServiceInstance;

/// Leaves instances out by a rule of the application's own, for every request alike.
///
/// It is asked after all other rules, once for each set of instances that routing rules tell apart: on the task that applies
/// lists, or on the one that sets rules. It must not block, nor ask a [`crate::Directory`] or [`crate::Endpoints`] anything, under
/// whose locks it runs.
///
/// # Examples
///
/// ```
/// use nacos_discovery::{Filter, OnEmpty, ServiceInstance, ServiceSettings};
///
/// #[derive(Debug)]
/// struct Version2;
///
/// impl Filter for Version2 {
///     fn name(&self) -> &str {
///         "version 2"
///     }
///     fn keep(&self, instance: &ServiceInstance) -> bool {
///         instance.registered_metadata().get("version").is_some_and(|version| version == "2")
///     }
///     fn on_empty(&self) -> OnEmpty {
///         OnEmpty::KeepEmpty
///     }
/// }
///
/// let settings = ServiceSettings::default().with_filter(Version2);
/// # drop(settings);
/// ```
pub trait Filter: fmt::Debug + Send + Sync + 'static {
    /// What people call it: errors and explanations name it.
    fn name(&self) -> &str;

    /// Whether requests may go to the instance.
    fn keep(&self, instance: &ServiceInstance) -> bool;

    /// What happens where it keeps none.
    fn on_empty(&self) -> OnEmpty;
}

/// What a filter that keeps none of the instances means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnEmpty {
    /// None of these takes the request: those that are preferred less are used, or there is no instance.
    KeepEmpty,
    /// The filter is left out.
    Skip,
}
