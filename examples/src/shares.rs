use std::collections::BTreeMap;

use nacos_client::ServiceSnapshot;

/// Prints, per instance, its weight and the share of calls it should have had and has had. `answers` counts calls by
/// `host:port`.
#[expect(clippy::print_stdout, reason = "a table for people is what it is for")]
pub fn print_shares(snapshot: &ServiceSnapshot, answers: &BTreeMap<String, u32>) {
    let total_weight: f64 = snapshot.instances().iter().map(|instance| instance.weight).sum();
    let total_calls: u32 = answers.values().sum::<u32>().max(1);
    println!("{:<22} {:>6} {:>10} {:>7}", "instance", "weight", "expected", "seen");
    for instance in snapshot.instances() {
        let addr = instance.addr();
        let calls = answers.get(&addr).copied().unwrap_or_default();
        println!(
            "{addr:<22} {:>6} {:>8.1} % {:>5.1} %",
            instance.weight,
            100.0 * instance.weight / total_weight,
            100.0 * f64::from(calls) / f64::from(total_calls),
        );
    }
}

/// Prints, for each instance and its weight, how many of all calls should have come to it and how many did; whether chance
/// explains the difference. `answers` counts calls by `host:port`.
#[expect(clippy::print_stdout, reason = "a table for people is what it is for")]
pub fn print_counts(instances: &[(String, f64)], answers: &BTreeMap<String, u32>, calls: u32) -> bool {
    println!("{:<22} {:>6} {:>9} {:>7}", "instance", "weight", "expected", "seen");
    let total: f64 = instances.iter().map(|(_, weight)| weight).sum();
    let mut fair = true;
    for (address, weight) in instances {
        let seen = answers.get(address).copied().unwrap_or_default();
        let share = weight / total;
        let expected = f64::from(calls) * share;
        println!("{address:<22} {weight:>6} {expected:>9.0} {seen:>7}");
        // Five standard deviations: once in two million runs chance alone goes beyond.
        fair &= (f64::from(seen) - expected).abs() < 5.0 * (expected * (1.0 - share)).sqrt();
    }
    fair
}
