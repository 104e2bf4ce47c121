use std::collections::HashSet;
use std::convert::Infallible;
use std::str::FromStr;

use super::Refusal;

/// The services that callers may reach. Nothing is asked of the registry for any other name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GatewayServices {
    names: HashSet<String>,
    /// What names may begin with.
    beginnings: Vec<String>,
    own: Option<String>,
}

impl GatewayServices {
    /// Names, separated by commas, letter for letter. One that ends with `*` stands for all that begin with what is before it.
    #[must_use]
    pub fn listed(names: &str) -> Self {
        let mut services = Self::default();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.strip_suffix('*') {
                Some(beginning) => services.beginnings.push(beginning.to_owned()),
                None => {
                    services.names.insert(name.to_owned());
                }
            }
        }
        services
    }

    /// Under this name the gateway itself is registered: callers never reach it, whatever is listed. It would call itself, again
    /// and again.
    #[must_use]
    pub fn without(mut self, own: impl Into<String>) -> Self {
        self.own = Some(own.into());
        self
    }

    pub(super) fn admit(&self, service: &str) -> Result<(), Refusal> {
        if self.own.as_deref() == Some(service) {
            return Err(Refusal::Itself);
        }
        let begins = || self.beginnings.iter().any(|beginning| service.starts_with(beginning.as_str()));
        if self.names.contains(service) || begins() { Ok(()) } else { Err(Refusal::NotServed) }
    }
}

impl FromStr for GatewayServices {
    type Err = Infallible;

    fn from_str(names: &str) -> Result<Self, Infallible> {
        Ok(Self::listed(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_letter_for_letter_and_a_star_stands_for_the_rest() {
        let services = GatewayServices::listed("orders, stock-*,,gateway").without("gateway");
        for name in ["orders", "stock-", "stock-eu"] {
            assert!(services.admit(name).is_ok(), "{name}");
        }
        for name in ["Orders", "orders2", "order", "stock", "*", ""] {
            assert!(matches!(services.admit(name), Err(Refusal::NotServed)), "{name}");
        }
        assert!(matches!(services.admit("gateway"), Err(Refusal::Itself)));
        let all = GatewayServices::listed("*").without("gateway");
        assert!(all.admit("anything").is_ok() && all.admit("gateway").is_err());
        assert!(GatewayServices::listed("").admit("orders").is_err());
    }
}
