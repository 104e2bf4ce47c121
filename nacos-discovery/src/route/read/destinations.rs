use super::block::Block;
use super::conditions::taken;
use super::values::{label, list, number, only_true, text};
use crate::route::error::{At, Problem};
use crate::route::text::{Content, Node};
use crate::route::{Destination, Miss, RouteError, WeightedDestination};

const DESTINATIONS: &[&str] = &["baseline", "label", "label-from"];

/// A list of destinations. One that is alone may leave out its percentage.
pub(super) fn destinations(at: &At<'_>, node: &Node) -> Result<Vec<WeightedDestination>, RouteError> {
    let read = list(at, node, destination)?;
    let is_alone = read.len() == 1;
    let weighted = read.into_iter().enumerate().map(|(index, (destination, percent))| match percent {
        None if !is_alone => Err(at.entry(index).fails(Problem::Missing { key: "percent" })),
        percent => Ok(WeightedDestination { destination, percent: percent.unwrap_or(100.0) }),
    });
    weighted.collect()
}

fn destination(at: &At<'_>, node: &Node) -> Result<(Destination, Option<f64>), RouteError> {
    let block = Block::of(at, node, &["baseline", "label", "label-from", "percent"])?;
    let (kind, node) = block.one_of(at, DESTINATIONS)?;
    let inner = at.key(kind);
    let destination = match kind {
        "baseline" => {
            only_true(&inner, node)?;
            Destination::Baseline
        }
        "label" => Destination::Label(label(&inner, node)?),
        _ => {
            let block = Block::of(&inner, node, &["key", "header", "query", "cookie", "tag"])?;
            let key = text(&inner.key("key"), block.need(&inner, "key")?)?;
            Destination::LabelFrom { key, subject: taken(&inner, block)? }
        }
    };
    let percent = block.get("percent").map(|node| number(&at.key("percent"), node)).transpose()?;
    Ok((destination, percent))
}

/// `baseline`, `fail` or `label: …`
pub(super) fn miss(at: &At<'_>, node: &Node) -> Result<Miss, RouteError> {
    match &*node.content {
        Content::Scalar(scalar) if scalar.text == "baseline" => Ok(Miss::Baseline),
        Content::Scalar(scalar) if scalar.text == "fail" => Ok(Miss::Fail),
        Content::Block(_) => {
            let block = Block::of(at, node, &["label"])?;
            Ok(Miss::Label(label(&at.key("label"), block.need(at, "label")?)?))
        }
        _ => Err(at.fails(Problem::Miss)),
    }
}
