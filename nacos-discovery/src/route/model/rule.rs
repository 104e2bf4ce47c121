use serde::Serialize;

use super::{Condition, Destination, Miss, Subject, Test, WeightedDestination};

/// Where some requests go.
///
/// ```
/// use nacos_discovery::route::{Destination, Label, Rule, Subject, Test};
///
/// let testers = Rule::new("testers").when_header("x-version", Test::exact("v2")).to(Label::new("version", "v2")).or_fail();
/// let canary = Rule::new("canary")
///     .share(10.0, Label::new("version", "v2"))
///     .share(90.0, Destination::Baseline)
///     .sticky_by(Subject::header("x-user"));
/// # let _ = (testers, canary);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub struct Rule {
    /// Its name, in reports, errors and metrics. Another one for each rule of a service.
    pub name: String,
    /// What must hold, all of it; nothing: it applies to every request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
    /// Where to. Their shares are 100 percent together.
    pub to: Vec<WeightedDestination>,
    /// What requests belong together by, where there are several destinations: those with the same value go to the same
    /// one. A header, a query parameter, a cookie or a tag. `None`, or a request without it: each request is drawn by itself.
    ///
    /// Shares follow each other in the order of `to`, so that whoever goes to the first one still does when its share is
    /// raised. Which values go where depends on the rule's name: in rules of different names it does so independently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Subject>,
    /// What counts if no instance of the destination takes the request.
    pub miss: Miss,
}

impl Rule {
    /// For every request, and without a destination, which it needs.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), when: Vec::new(), to: Vec::new(), sticky: None, miss: Miss::default() }
    }

    /// Only for requests of which this holds, too.
    #[must_use]
    pub fn when(mut self, subject: Subject, test: Test) -> Self {
        self.when.push(Condition::new(subject, test));
        self
    }

    /// Only for requests with such a header.
    #[must_use]
    pub fn when_header(self, name: impl Into<String>, test: Test) -> Self {
        self.when(Subject::header(name), test)
    }

    /// Only for requests with such a query parameter.
    #[must_use]
    pub fn when_query(self, name: impl Into<String>, test: Test) -> Self {
        self.when(Subject::query(name), test)
    }

    /// Only for requests with such a cookie.
    #[must_use]
    pub fn when_cookie(self, name: impl Into<String>, test: Test) -> Self {
        self.when(Subject::cookie(name), test)
    }

    /// Only for requests that the application has tagged so.
    #[must_use]
    pub fn when_tag(self, name: impl Into<String>, test: Test) -> Self {
        self.when(Subject::tag(name), test)
    }

    /// Only for requests to such a path.
    #[must_use]
    pub fn when_path(self, test: Test) -> Self {
        self.when(Subject::Path, test)
    }

    /// Only for requests of such a method.
    #[must_use]
    pub fn when_method(self, test: Test) -> Self {
        self.when(Subject::Method, test)
    }

    /// All of them go there.
    #[must_use]
    pub fn to(self, destination: impl Into<Destination>) -> Self {
        self.share(100.0, destination)
    }

    /// So many percent of them go there, in steps of 0.01; it is the next share after those before.
    #[must_use]
    pub fn share(mut self, percent: f64, destination: impl Into<Destination>) -> Self {
        self.to.push(WeightedDestination { destination: destination.into(), percent });
        self
    }

    /// Those with the same value go to the same destination.
    #[must_use]
    pub fn sticky_by(mut self, subject: Subject) -> Self {
        self.sticky = Some(subject);
        self
    }

    /// A request that no instance of its destination takes fails.
    #[must_use]
    pub fn or_fail(self) -> Self {
        self.or(Miss::Fail)
    }

    /// What counts for a request that no instance of its destination takes.
    #[must_use]
    pub fn or(mut self, miss: Miss) -> Self {
        self.miss = miss;
        self
    }
}
