/// How alike two names must be for one to be meant by the other, from 0 to 1.
const ALIKE: f64 = 0.75;

/// Whether the names are the same but for the letters' case.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// Those whose name is like `wanted`, the most alike first, and of equal ones those that come first.
pub(super) fn alike<'a, T: 'a>(
    wanted: &str,
    others: impl IntoIterator<Item = &'a T>,
    name: impl Fn(&T) -> &str,
) -> impl Iterator<Item = &'a T> {
    let wanted = wanted.to_lowercase();
    let scored = others.into_iter().map(|other| (strsim::jaro_winkler(&name(other).to_lowercase(), &wanted), other));
    let mut close: Vec<(f64, &T)> = scored.filter(|(score, _)| *score >= ALIKE).collect();
    close.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    close.into_iter().map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_alike_come_in_the_order_of_likeness() {
        let names = ["stock", "order-services", "Order-Service", "billing", "order-servcie"];
        let found: Vec<&str> = alike("order-service", &names, |name| name).copied().collect();
        assert_eq!(found, ["Order-Service", "order-services", "order-servcie"]);
        assert_eq!(alike("x", &names, |name| name).count(), 0);
        assert!(same_name("Orders", "ORDERS") && !same_name("orders", "order"));
    }
}
