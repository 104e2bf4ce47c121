use std::fmt;

use super::at::Written;
use super::{At, Step};
use crate::route::{RouteDocument, Rule};

/// Something in rules that can be used, but is hardly meant.
///
/// ```text
/// services.order-service.routes[2]: never applies: …
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteWarning {
    path: Vec<Step>,
    doubt: Doubt,
}

/// What may not be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Doubt {
    /// A rule above applies to all that this one would. It is allowed, so that one rule on top can overrule the others for a
    /// while.
    #[error("never applies: whatever it is for, the rule {above:?} above it takes")]
    Overruled {
        /// The rule's name.
        above: String,
    },
    /// There is one destination, for whatever the sticky value is.
    #[error("does nothing: there is one destination only")]
    StickyAlone,
}

impl RouteWarning {
    /// Where in the document: `services.order-service.routes[2]`.
    #[must_use]
    pub fn path(&self) -> String {
        Written(&self.path).to_string()
    }

    /// What may not be meant.
    #[must_use]
    pub const fn doubt(&self) -> &Doubt {
        &self.doubt
    }
}

impl fmt::Display for RouteWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Written(&self.path), self.doubt)
    }
}

impl RouteDocument {
    /// What can be used, but is hardly meant, service by service from top to bottom.
    #[must_use]
    pub fn warnings(&self) -> Vec<RouteWarning> {
        let mut warnings = Vec::new();
        let at = At::Root;
        let at = at.key("services");
        for (service, rules) in &self.services {
            let at = at.key(service);
            let at = at.key("routes");
            for (index, rule) in rules.routes.iter().enumerate() {
                let at = at.entry(index);
                if let Some(above) = rules.routes[..index].iter().find(|above| overrules(above, rule)) {
                    warnings
                        .push(RouteWarning { path: at.path(), doubt: Doubt::Overruled { above: above.name.clone() } });
                }
                if rule.sticky.is_some() && rule.to.len() == 1 {
                    warnings.push(RouteWarning { path: at.key("sticky").path(), doubt: Doubt::StickyAlone });
                }
            }
        }
        warnings
    }
}

/// Whether the one above wants nothing that the other does not want as well.
fn overrules(above: &Rule, rule: &Rule) -> bool {
    above.when.iter().all(|condition| rule.when.contains(condition))
}
