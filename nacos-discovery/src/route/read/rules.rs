use super::block::Block;
use super::conditions::{TAKEN, condition, taken};
use super::destinations::{destinations, miss};
use super::values::{label, list, text};
use crate::route::error::At;
use crate::route::text::Node;
use crate::route::{RouteDocument, RouteError, RouteRules, Rule};

/// A whole document.
pub(in crate::route) fn document(at: &At<'_>, node: &Node) -> Result<RouteDocument, RouteError> {
    let services = Block::of(at, node, &["services"])?.need(at, "services")?;
    let at = at.key("services");
    let services = Block::open(&at, services)?.entries();
    let services = services.map(|(service, node)| Ok((service.to_owned(), route_rules(&at.key(service), node)?)));
    Ok(RouteDocument { services: services.collect::<Result<_, RouteError>>()? })
}

/// The rules of a service.
pub(in crate::route) fn route_rules(at: &At<'_>, node: &Node) -> Result<RouteRules, RouteError> {
    let block = Block::of(at, node, &["baseline", "routes"])?;
    let baseline = block.get("baseline").map(|node| label(&at.key("baseline"), node)).transpose()?;
    let routes = block.get("routes").map(|node| list(&at.key("routes"), node, rule)).transpose()?;
    Ok(RouteRules { baseline, routes: routes.unwrap_or_default() })
}

/// A rule.
pub(in crate::route) fn rule(at: &At<'_>, node: &Node) -> Result<Rule, RouteError> {
    let block = Block::of(at, node, &["name", "when", "to", "sticky", "miss"])?;
    let when = block.get("when").map(|node| list(&at.key("when"), node, condition)).transpose()?;
    let sticky = block.get("sticky").map(|node| {
        let at = at.key("sticky");
        taken(&at, Block::of(&at, node, TAKEN)?)
    });
    Ok(Rule {
        name: text(&at.key("name"), block.need(at, "name")?)?,
        when: when.unwrap_or_default(),
        to: destinations(&at.key("to"), block.need(at, "to")?)?,
        sticky: sticky.transpose()?,
        miss: block.get("miss").map(|node| miss(&at.key("miss"), node)).transpose()?.unwrap_or_default(),
    })
}
