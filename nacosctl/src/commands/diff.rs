//! Comparing what several servers say about one service.

use std::collections::{BTreeMap, BTreeSet};

use nacos_client::{Instance, InstanceKey};
use serde_json::{Value, json};

use super::show::listed;
use crate::{
    changed,
    failure::{Done, Failure},
    output::{Output, Row, Tone},
    registry::Registry,
};

/// What one server says, or why it says nothing.
type Said = Result<BTreeMap<InstanceKey, Instance>, Failure>;

/// Asks every node, and shows the answers side by side.
pub(super) async fn diff(
    registry: &Registry,
    output: Output,
    service: &str,
    nodes: &[String],
) -> Result<Done, Failure> {
    let nodes: Vec<&str> = nodes.iter().map(|node| node.trim()).filter(|node| !node.is_empty()).collect();
    if nodes.len() < 2 {
        return Err(Failure::Usage("name at least two servers to compare, such as --nodes a:8848,b:8848".to_owned()));
    }
    let key = registry.key(service);
    let mut said = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let answer = match listed(&registry.at(node), &key).await {
            Ok(instances) => Ok(instances.into_iter().map(|instance| (instance.key(), instance)).collect()),
            Err(usage @ Failure::Usage(_)) => return Err(usage),
            Err(failure) => Err(failure),
        };
        said.push(answer);
    }
    let rows = compare(&said);
    show(output, &nodes, &said, &rows)?;
    let away = nodes.iter().zip(said).filter_map(|(node, said)| Some(said.err()?.at(node)));
    if let Some(failure) = away.reduce(Failure::and) {
        return Err(failure);
    }
    Ok(if rows.iter().all(|row| row.kind == Kind::Same) { Done::Fine } else { Done::Found })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Same,
    Differs,
    Missing,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs => "differs",
            Self::Missing => "missing",
        }
    }

    const fn tone(self) -> Option<Tone> {
        match self {
            Self::Same => None,
            Self::Differs => Some(Tone::Doubtful),
            Self::Missing => Some(Tone::Bad),
        }
    }
}

/// One instance, as each server that answered sees it.
struct Compared {
    key: InstanceKey,
    kind: Kind,
    /// Of each node: nothing if it does not know it or did not answer.
    seen: Vec<Option<Instance>>,
    /// Keys of metadata in which the servers differ.
    keys: BTreeSet<String>,
}

fn compare(said: &[Said]) -> Vec<Compared> {
    let answers: Vec<&BTreeMap<InstanceKey, Instance>> = said.iter().flatten().collect();
    let keys: BTreeSet<&InstanceKey> = answers.iter().flat_map(|answer| answer.keys()).collect();
    let row = |key: &InstanceKey| {
        let seen = said.iter().map(|said| said.as_ref().ok().and_then(|answer| answer.get(key)).cloned()).collect();
        let known: Vec<&Instance> = answers.iter().filter_map(|answer| answer.get(key)).collect();
        let kind = if known.len() < answers.len() {
            Kind::Missing
        } else if known.windows(2).all(|pair| changed::differences(pair[0], pair[1]).is_empty()) {
            Kind::Same
        } else {
            Kind::Differs
        };
        Compared { key: key.clone(), kind, seen, keys: differing_keys(&known) }
    };
    keys.into_iter().map(row).collect()
}

fn differing_keys(known: &[&Instance]) -> BTreeSet<String> {
    let all: BTreeSet<&String> = known.iter().flat_map(|instance| instance.metadata.keys()).collect();
    let differs = |key: &&String| {
        let mut values = known.iter().map(|instance| instance.metadata.get(*key));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    all.into_iter().filter(differs).cloned().collect()
}

fn show(output: Output, nodes: &[&str], said: &[Said], rows: &[Compared]) -> Result<(), Failure> {
    if output.json() {
        let instance = |row: &Compared| {
            let seen: serde_json::Map<String, Value> = nodes
                .iter()
                .zip(&row.seen)
                .map(|(node, seen)| ((*node).to_owned(), seen.as_ref().map_or(Value::Null, changed::document)))
                .collect();
            json!({ "instance": row.key.to_string(), "state": row.kind.word(), "nodes": seen })
        };
        let errors = nodes.iter().zip(said).filter_map(|(node, said)| {
            said.as_ref().err().map(|failure| ((*node).to_owned(), json!(failure.to_string())))
        });
        let errors: serde_json::Map<String, Value> = errors.collect();
        let instances: Vec<Value> = rows.iter().map(instance).collect();
        return output.document(&json!({ "nodes": nodes, "instances": instances, "errors": errors }));
    }
    let mut headings = vec!["", "instance"];
    headings.extend_from_slice(nodes);
    let cells = |row: &Compared| {
        let mark = if row.kind == Kind::Same { "" } else { row.kind.word() };
        let views = row.seen.iter().zip(said).map(|(seen, said)| match (seen, said) {
            (Some(instance), _) => cell(instance, &row.keys),
            (None, Ok(_)) => "-".to_owned(),
            (None, Err(_)) => "?".to_owned(),
        });
        Row::new([mark.to_owned(), row.key.to_string()].into_iter().chain(views)).toned(row.kind.tone())
    };
    output.table(&headings, rows.iter().map(cells).collect())
}

/// State, weight, kind if it is not the usual one, and what differs of the metadata.
fn cell(instance: &Instance, keys: &BTreeSet<String>) -> String {
    let mut text = format!("{} {}", changed::state(instance).0, instance.weight);
    if !instance.ephemeral {
        text.push_str(" persistent");
    }
    for key in keys {
        let value = instance.metadata.get(key).map_or("(none)", String::as_str);
        text.push_str(&format!(" {key}={value}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(instances: &[Instance]) -> Said {
        Ok(instances.iter().map(|instance| (instance.key(), instance.clone())).collect())
    }

    #[test]
    fn equal_missing_and_differing_instances_are_told_apart() {
        let a = Instance::new(("10.0.0.1", 80));
        let b = Instance::new(("10.0.0.2", 80)).metadata("zone", "a");
        let moved = b.clone().metadata("zone", "b");
        let rows = compare(&[
            node(&[a.clone(), b.clone()]),
            node(&[a.clone(), moved]),
            Err(Failure::Unreachable("away".to_owned())),
        ]);
        let kinds: Vec<Kind> = rows.iter().map(|row| row.kind).collect();
        assert_eq!(kinds, [Kind::Same, Kind::Differs], "who does not answer misses nothing");
        assert_eq!(rows[1].keys, BTreeSet::from(["zone".to_owned()]));
        let rows = compare(&[node(&[a]), node(&[b])]);
        assert!(rows.iter().all(|row| row.kind == Kind::Missing));
    }
}
