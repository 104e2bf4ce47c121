use std::fmt;

use serde::Serialize;

use super::EjectionReport;

/// Whether an instance gets requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// Requests go there.
    Serving,
    /// Requests would go there if no preferred instance took them.
    InReserve,
    /// It is left out for a while because requests to it failed.
    Ejected,
    /// The request was there already.
    Tried,
    /// Requests do not go there.
    LeftOut,
}

/// One instance, and why requests go there or not.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[serde(rename_all = "camelCase")]
pub struct ExplainedInstance {
    /// As registered: `ip:port`, IPv6 in brackets.
    pub address: String,
    /// Where requests go to, as scheme, host and port, if there is such a place; it may differ from the address by another
    /// family or port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Its cluster.
    pub cluster: String,
    /// Its zone, from its metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Its version: the metadata entry `version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The weight as registered; `null` in documents if it is no number.
    pub weight: f64,
    /// The weight in the table that is drawn from, while it is in it. It differs from the registered one while the instance
    /// is started slowly, and where a share of the requests leaves the own cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_weight: Option<f64>,
    /// The share of the requests that its weight gives it, in percent. Policies that look at load or at a key of the
    /// request come near it only when all instances are alike.
    pub share: f64,
    /// Whether it gets requests.
    pub standing: Standing,
    /// Why it does not, or why it does although others are preferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Calls of this process that have not ended.
    pub in_flight: u32,
    /// How long a call takes, estimated from the calls of this process, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<f64>,
    /// That it is left out because requests to it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ejection: Option<EjectionReport>,
}

impl ExplainedInstance {
    /// Whether requests go there.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.standing == Standing::Serving
    }

    /// Where it belongs, its weight, and what this process knows of it from its own calls, for people.
    #[must_use]
    pub fn details(&self) -> String {
        let mut text = format!("cluster {}", self.cluster);
        for (name, value) in [("zone", &self.zone), ("version", &self.version)] {
            if let Some(value) = value {
                text.push_str(&format!(", {name} {value}"));
            }
        }
        text.push_str(&format!(", weight {}", self.weight));
        if let Some(effective) = self.effective_weight.filter(|effective| *effective != self.weight) {
            text.push_str(&format!(" (now {effective:.3})"));
        }
        if self.in_flight > 0 {
            text.push_str(&format!(", {} in flight", self.in_flight));
        }
        if let Some(latency) = self.latency_ms {
            text.push_str(&format!(", {latency:.1} ms"));
        }
        text
    }
}

impl fmt::Display for ExplainedInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)?;
        if self.is_serving() {
            write!(f, "  {:.1} %", self.share)?;
        }
        if let Some(reason) = &self.reason {
            write!(f, "  {reason}")?;
        }
        write!(f, "  [{}]", self.details())
    }
}
