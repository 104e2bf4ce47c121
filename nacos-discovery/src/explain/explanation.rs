use std::fmt;

use serde::{Serialize, Serializer};

use super::{ExplainedInstance, ExplainedRoute, ListState, NearMiss, NearMisses, Viewpoint};

/// Why requests to a service go where they go, or nowhere, as seen by this process.
///
/// Its text is for people and may change; what programs read is [`Serialize`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The service, as `group@@name`.
    pub service: String,
    /// The namespace, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Whom instances are preferred for, and how one is chosen.
    pub viewpoint: Viewpoint,
    /// The list that is in force; `None` if none has arrived, or nobody asked for the service yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<ListState>,
    /// Where the request goes, if the service has routing rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<ExplainedRoute>,
    /// Why no instance takes a request; `None` if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_instance: Option<String>,
    /// All instances of the list, sorted by address and cluster.
    pub instances: Vec<ExplainedInstance>,
    /// What nearly is what a request needs, the likeliest first. In documents each has its sentence as `text`, too.
    #[serde(serialize_with = "with_texts")]
    pub near_misses: Vec<NearMiss>,
    /// What the search for near misses could not look at, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
}

impl Explanation {
    /// Whether a request finds an instance now.
    #[must_use]
    pub const fn takes_requests(&self) -> bool {
        self.no_instance.is_none()
    }

    /// The instances that requests go to now.
    pub fn serving(&self) -> impl Iterator<Item = &ExplainedInstance> {
        self.instances.iter().filter(|instance| instance.is_serving())
    }
}

impl Explanation {
    /// What the registry tells, beside what the list told already.
    pub(super) fn add(&mut self, misses: NearMisses) {
        let listed = !self.instances.is_empty();
        // What has come here is judged by the list.
        let is_news = |near_miss: &NearMiss| match near_miss {
            NearMiss::NotListed { .. } => !listed,
            NearMiss::Disabled { .. } => !self.near_misses.iter().any(|own| matches!(own, NearMiss::Disabled { .. })),
            _ => true,
        };
        let news: Vec<NearMiss> = misses.found.into_iter().filter(is_news).collect();
        self.near_misses.extend(news);
        self.unseen.extend(misses.unseen);
    }
}

#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    near_miss: &'a NearMiss,
    text: String,
}

fn with_texts<S: Serializer>(near_misses: &[NearMiss], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(near_misses.iter().map(|near_miss| Told { near_miss, text: near_miss.to_string() }))
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (serving, others): (Vec<_>, Vec<_>) = self.instances.iter().partition(|instance| instance.is_serving());
        write!(f, "{}", self.service)?;
        if let Some(namespace) = &self.namespace {
            write!(f, " in namespace {namespace}")?;
        }
        match &self.no_instance {
            Some(reason) => writeln!(f, ": no instance takes requests: {reason}")?,
            None => writeln!(f, ": {} of {} take requests", serving.len(), self.instances.len())?,
        }
        writeln!(f, "  seen from: {}", self.viewpoint)?;
        if let Some(list) = &self.list {
            writeln!(f, "  list: {list}")?;
        }
        if let Some(route) = &self.route {
            writeln!(f, "  routed: {}", one_line(&route.to_string()))?;
        }
        section(f, "take requests", &serving)?;
        section(f, "do not", &others)?;
        section(f, "may be meant", &self.near_misses)?;
        section(f, "not looked at", &self.unseen)
    }
}

fn section(f: &mut fmt::Formatter<'_>, title: &str, lines: &[impl fmt::Display]) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(f, "  {title}:")?;
    lines.iter().try_for_each(|line| writeln!(f, "    {}", one_line(&line.to_string())))
}

/// What is registered must not look like lines of ours.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
