//! Three versions of a service at once: the new one gets a tenth of the users, testers get the one that they ask for, and in
//! the end the new one takes over. Nobody else ever meets a version that is not meant for everybody.
//!
//! ```text
//! cargo run -p examples --bin gray_release
//! ```
#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use examples::{Error, Provider, until};
use nacos_discovery::adapters::reqwest::ReqwestBalanced;
use nacos_discovery::route::{Destination, Label, RouteDocument, RouteRules, Rule, Subject, Test};
use nacos_discovery::{BalanceError, Discovery, DiscoveryConfig, NoInstanceReason};
use nacos_server_min::Server;

const SERVICE: &str = "order-service";
const USERS: u32 = 1_000;
/// The instances: their versions and weights.
const INSTANCES: [(&str, f64); 4] = [("v1", 3.0), ("v1", 1.0), ("v2", 1.0), ("v3", 1.0)];

#[tokio::main]
async fn main() -> Result<(), Error> {
    let server = Server::builder().start().await?;
    let registry = server.server_addr();
    let mut providers = Vec::new();
    for (version, weight) in INSTANCES {
        let describe = |instance: nacos_client::Instance| instance.weight(weight).metadata("version", version);
        providers.push(Provider::start(&registry, SERVICE, describe).await?);
    }
    let discovery = Discovery::new(DiscoveryConfig::builder().server_addr(&registry).build()?)?;
    let directory = discovery.directory();
    let endpoints = directory.endpoints(&discovery.service_key(SERVICE))?;
    until("all four are known", || endpoints.all().len() == INSTANCES.len()).await?;
    let columns = providers.iter().enumerate().map(|(column, provider)| (provider.address(), column)).collect();
    let shop = Shop { web: discovery.reqwest(reqwest::Client::new()), columns };

    println!("{:<44} {}", "", INSTANCES.map(|(version, weight)| format!("{version} ×{weight:<4}")).join(" "));
    let calls = shop.everybody("without rules, by weight").await?;
    expect(&calls, [3.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0])?;

    directory.set_routes(rules("v1", Some(("v2", 10.0))))?;
    let calls = shop.everybody("v2 is the canary of a tenth of the users").await?;
    expect(&calls, [0.9 * 0.75, 0.9 * 0.25, 0.1, 0.0])?;
    let chosen = users_of(&calls, 2);
    let again = users_of(&shop.everybody("the same users once more").await?, 2);
    ensure(chosen == again, "a user changed sides")?;
    let calls = shop.testers("testers, who ask for v3", "v3").await?;
    expect(&calls, [0.0, 0.0, 0.0, 1.0])?;

    directory.set_routes(rules("v1", Some(("v2", 50.0))))?;
    let calls = shop.everybody("the canary gets one half").await?;
    expect(&calls, [0.5 * 0.75, 0.5 * 0.25, 0.5, 0.0])?;
    ensure(chosen.is_subset(&users_of(&calls, 2)), "a user of the canary lost it")?;

    directory.set_routes(rules("v2", None))?;
    let calls = shop.everybody("v2 has taken over").await?;
    expect(&calls, [0.0, 0.0, 1.0, 0.0])?;
    let calls = shop.testers("testers, who ask for v1", "v1").await?;
    expect(&calls, [0.75, 0.25, 0.0, 0.0])?;

    providers.pop().ok_or("there are four")?.stop().await?;
    until("v3 is gone", || endpoints.all().len() == INSTANCES.len() - 1).await?;
    println!("{:<44} {}", "v3 is gone, and a tester asks for it:", shop.missed("v3").await?);

    discovery.shutdown(Duration::from_secs(5)).await;
    for provider in providers {
        provider.stop().await?;
    }
    server.shutdown().await;
    Ok(())
}

/// What `routes.yml` would say: testers get the version that they ask for, or an error; some of the others the canary.
fn rules(baseline: &str, canary: Option<(&str, f64)>) -> RouteDocument {
    let asked_for = Destination::label_from("version", Subject::header("x-version"));
    let testers = Rule::new("testers").when_header("x-version", Test::Present).to(asked_for).or_fail();
    let rules = RouteRules::new().with_baseline(Label::new("version", baseline)).with_rule(testers);
    let rules = match canary {
        Some((version, percent)) => rules.with_rule(
            Rule::new("canary")
                .share(percent, Label::new("version", version))
                .share(100.0 - percent, Destination::Baseline)
                .sticky_by(Subject::header("x-user")),
        ),
        None => rules,
    };
    RouteDocument::new().with_service(SERVICE, rules)
}

/// Who calls, and which instance has which column.
struct Shop {
    web: ReqwestBalanced,
    columns: BTreeMap<String, usize>,
}

impl Shop {
    async fn everybody(&self, what: &str) -> Result<Vec<usize>, Error> {
        self.calls(what, None).await
    }

    async fn testers(&self, what: &str, version: &str) -> Result<Vec<usize>, Error> {
        self.calls(what, Some(version)).await
    }

    /// One call of each user. Prints the shares of the instances, and returns who answered whom.
    async fn calls(&self, what: &str, version: Option<&str>) -> Result<Vec<usize>, Error> {
        let mut answers = Vec::new();
        for user in 0..USERS {
            let from = self.call(user, version).await?;
            answers.push(*self.columns.get(&from).ok_or("an unknown instance answered")?);
        }
        let shares = counts(&answers).map(|count| format!("{:>5.1} %", 100.0 * f64::from(count) / f64::from(USERS)));
        println!("{what:<44} {}", shares.join(" "));
        Ok(answers)
    }

    async fn call(&self, user: u32, version: Option<&str>) -> Result<String, Error> {
        let request = self.web.get(format!("lb://{SERVICE}/")).header("x-user", format!("user{user}"));
        let request = version.into_iter().fold(request, |request, version| request.header("x-version", version));
        Ok(request.send().await?.error_for_status()?.text().await?)
    }

    /// Why a call for a version that nobody has fails.
    async fn missed(&self, version: &str) -> Result<NoInstanceReason, Error> {
        let sent = self.web.get(format!("lb://{SERVICE}/")).header("x-version", version).send().await;
        match sent {
            Err(BalanceError::NoInstance(error)) if matches!(error.reason, NoInstanceReason::RouteMiss { .. }) => {
                Ok(error.reason)
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err("somebody else answered".into()),
        }
    }
}

fn counts(answers: &[usize]) -> [u32; INSTANCES.len()] {
    let mut counts = [0; INSTANCES.len()];
    answers.iter().for_each(|column| counts[*column] += 1);
    counts
}

/// The users who were answered by the instance of a column.
fn users_of(answers: &[usize], column: usize) -> BTreeSet<usize> {
    answers.iter().enumerate().filter(|(_, answered)| **answered == column).map(|(user, _)| user).collect()
}

/// An error if a share is further from what is expected than chance explains: five standard deviations.
fn expect(answers: &[usize], shares: [f64; INSTANCES.len()]) -> Result<(), Error> {
    let users = f64::from(USERS);
    let fits = counts(answers)
        .into_iter()
        .zip(shares)
        .all(|(count, share)| (f64::from(count) - share * users).abs() <= 5.0 * (share * (1.0 - share) * users).sqrt());
    ensure(fits, "other shares were expected")
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(otherwise.into()) }
}
