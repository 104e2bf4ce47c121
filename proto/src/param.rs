//! The rules for names, addresses, weights and metadata, with the texts a server answers when one is broken.
//!
//! Servers since 2.3 apply them to every request; a client that applies them first saves the round trip. Lengths are UTF-16
//! code units, as the reference implementation counts them. Blank values pass: whether a value may be blank is another
//! question.

use std::fmt;

use crate::grpc::Instance;

/// Longest namespace id.
pub const MAX_NAMESPACE: usize = 64;
/// Longest group name.
pub const MAX_GROUP: usize = 128;
/// Longest service name.
pub const MAX_SERVICE: usize = 512;
/// Longest cluster name.
pub const MAX_CLUSTER: usize = 64;
/// Longest address or host name.
pub const MAX_IP: usize = 128;
/// Default limit of all metadata keys and values together.
pub const MAX_METADATA: usize = 1024;
/// Largest weight.
pub const MAX_WEIGHT: f64 = 10_000.0;

/// A broken rule. `Display` gives the server's own text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamError {
    /// The parameter as servers call it: `serviceName`, `group`, `cluster`, `ip`, `port`, `namespaceId/tenant`, `Metadata`,
    /// `weight`.
    pub param: &'static str,
    /// The rule.
    pub rule: Rule,
}

/// What was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// Longer than so many UTF-16 code units.
    TooLong(usize),
    /// Characters that may not stand there.
    IllegalCharacters,
    /// Outside 0…65535.
    PortRange,
    /// Not within 0…10 000.
    WeightRange,
    /// Blank where a value is needed.
    Blank,
    /// A cluster that registers must be letters, digits and `-`.
    ClusterPattern(String),
    /// Beat time-out or delete time-out shorter than the beat interval.
    BeatTimes,
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let param = self.param;
        match &self.rule {
            Rule::TooLong(max) => write!(f, "Param '{param}' is illegal, the param length should not exceed {max}."),
            Rule::IllegalCharacters => {
                write!(f, "Param '{param}' is illegal, illegal characters should not appear in the param.")
            }
            Rule::PortRange => write!(f, "Param '{param}' is illegal, the value should be between 0 and 65535."),
            Rule::WeightRange => f.write_str("instance format invalid: The weights range from 0.0 to 10000.0"),
            Rule::Blank => write!(f, "Param '{param}' is illegal, {param} is blank"),
            Rule::ClusterPattern(current) => {
                write!(f, "Instance 'clusterName' should be characters with only 0-9a-zA-Z-. (current: {current})")
            }
            Rule::BeatTimes => f.write_str(
                "Instance 'heart beat interval' must less than 'heart beat timeout' and 'ip delete timeout'.",
            ),
        }
    }
}

impl std::error::Error for ParamError {}

type Check = Result<(), ParamError>;

fn broken(param: &'static str, rule: Rule) -> Check {
    Err(ParamError { param, rule })
}

fn length(text: &str) -> usize {
    // Most names are ASCII, where bytes are code units.
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
}

fn check(param: &'static str, text: &str, max: usize, legal: impl Fn(&str) -> bool) -> Check {
    if text.trim().is_empty() {
        Ok(())
    } else if length(text) > max {
        broken(param, Rule::TooLong(max))
    } else if legal(text) {
        Ok(())
    } else {
        broken(param, Rule::IllegalCharacters)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// The reference implementation's `\s`, which is ASCII.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

fn is_cjk(c: char) -> bool {
    ('\u{4e00}'..='\u{9fa5}').contains(&c)
}

/// A value that must be there; `param` is `serviceName` or `groupName`.
///
/// # Errors
///
/// [`Rule::Blank`].
pub fn required(param: &'static str, text: &str) -> Check {
    if text.trim().is_empty() { broken(param, Rule::Blank) } else { Ok(()) }
}

/// ASCII letters, digits, `_` and `-`.
///
/// # Errors
///
/// [`Rule::TooLong`], [`Rule::IllegalCharacters`].
pub fn namespace(text: &str) -> Check {
    check("namespaceId/tenant", text, MAX_NAMESPACE, |t| t.chars().all(is_word))
}

/// ASCII letters, digits, `-`, `_`, `:` and `.`.
///
/// # Errors
///
/// [`Rule::TooLong`], [`Rule::IllegalCharacters`].
pub fn group(text: &str) -> Check {
    check("group", text, MAX_GROUP, |t| t.chars().all(|c| is_word(c) || matches!(c, ':' | '.')))
}

/// No `@` in front, no `@@` anywhere; behind the first character no blanks and no CJK ideographs.
///
/// # Errors
///
/// [`Rule::TooLong`], [`Rule::IllegalCharacters`].
pub fn service(text: &str) -> Check {
    check("serviceName", text, MAX_SERVICE, |t| {
        let behind_first = t.chars().skip(1);
        !t.starts_with('@') && !t.contains("@@") && !behind_first.into_iter().any(|c| is_space(c) || is_cjk(c))
    })
}

/// A comma list of clusters, as in queries.
///
/// # Errors
///
/// [`Rule::TooLong`], [`Rule::IllegalCharacters`], by the first item that breaks a rule.
pub fn clusters(text: &str) -> Check {
    text.split(',').try_for_each(cluster)
}

/// One cluster: ASCII letters, digits, `_` and `-`.
///
/// # Errors
///
/// [`Rule::TooLong`], [`Rule::IllegalCharacters`].
pub fn cluster(text: &str) -> Check {
    check("cluster", text, MAX_CLUSTER, |t| t.chars().all(is_word))
}

/// The stricter rule for a cluster that registers: no `_`. Blank means `DEFAULT` and passes.
///
/// # Errors
///
/// [`Rule::ClusterPattern`].
pub fn registering_cluster(text: &str) -> Check {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        Ok(())
    } else {
        broken("cluster", Rule::ClusterPattern(text.to_owned()))
    }
}

/// An address or host name: anything without blanks and CJK ideographs.
///
/// # Errors
///
/// [`Rule::TooLong`], [`Rule::IllegalCharacters`].
pub fn ip(text: &str) -> Check {
    check("ip", text, MAX_IP, |t| !t.chars().any(|c| is_space(c) || is_cjk(c)))
}

/// 0…65535.
///
/// # Errors
///
/// [`Rule::PortRange`].
pub fn port(port: i32) -> Check {
    if (0..=65_535).contains(&port) { Ok(()) } else { broken("port", Rule::PortRange) }
}

/// Finite, 0…10 000. Real servers check this over HTTP only.
///
/// # Errors
///
/// [`Rule::WeightRange`].
pub fn weight(weight: f64) -> Check {
    if (0.0..=MAX_WEIGHT).contains(&weight) { Ok(()) } else { broken("weight", Rule::WeightRange) }
}

/// All keys and values together.
///
/// # Errors
///
/// [`Rule::TooLong`].
pub fn metadata<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>, max: usize) -> Check {
    let total: usize = entries.into_iter().map(|(key, value)| length(key) + length(value)).sum();
    if total > max { broken("Metadata", Rule::TooLong(max)) } else { Ok(()) }
}

/// Beat time-out and delete time-out are not below the beat interval.
///
/// # Errors
///
/// [`Rule::BeatTimes`].
pub fn beat_times(instance: &Instance) -> Check {
    let interval = instance.beat_interval_ms();
    if instance.beat_timeout_ms() < interval || instance.delete_timeout_ms() < interval {
        broken("instance", Rule::BeatTimes)
    } else {
        Ok(())
    }
}

/// What a server's parameter filter looks at in an instance, in its order.
///
/// # Errors
///
/// The first broken rule.
pub fn instance(instance: &Instance, max_metadata: usize) -> Check {
    ip(instance.ip.as_deref().unwrap_or_default())?;
    port(instance.port)?;
    cluster(instance.cluster_name.as_deref().unwrap_or_default())?;
    service(instance.service_name.as_deref().unwrap_or_default())?;
    metadata(&*instance.metadata, max_metadata)
}
