//! Choosing an instance by routing rules: what ten of them add to a pick, whichever applies.

use std::hint::black_box;
use std::sync::Arc;

use http::Request;
use nacos_client::{Instance, ServiceKey};
use nacos_discovery::route::{Destination, Label, RequestHead, RouteRules, Rule, Subject, Test};
use nacos_discovery::{Endpoints, PickContext, ServiceList, ServiceSettings, WeightedRandom};

use super::balance_matrix::Matrix;
use super::pick::{allocations, nanoseconds};
use super::{Failure, Scale};

/// One way through the rules.
struct Row {
    name: &'static str,
    rules: Option<RouteRules>,
    request: Request<()>,
}

/// Time and allocations of a pick, by what the request makes of the rules, and how much of the time is theirs.
pub(crate) fn run(scale: Scale) -> Result<Vec<Matrix>, Failure> {
    let sizes = scale.of(vec![10, 100, 1_000], vec![10]);
    let columns: Vec<String> = sizes.iter().map(|size| format!("{size} instances")).collect();
    let mut times = Matrix::new("`Endpoints::pick` by ten rules on three labels, one thread, in ns", columns.clone());
    let mut added = Matrix::new("What ten rules add to a pick without rules, in ns", columns.clone());
    let mut counts = Matrix::new("Allocations of a pick by rules", columns);
    let mut measured = |row: &Row| {
        let seen = sizes.iter().map(|size| measure(row, *size, scale)).collect::<Result<Vec<_>, _>>()?;
        let (time, count): (Vec<_>, Vec<_>) = seen.into_iter().unzip();
        times.push(row.name, time.clone(), "–");
        counts.push(row.name, count, "0");
        Ok::<_, Failure>(time)
    };
    let without = measured(&Row { name: "No rules", rules: None, request: request(&[])? })?;
    for row in rows()? {
        let with = measured(&row)?;
        added.push(row.name, with.iter().zip(&without).map(|(with, without)| with - without), "≤ 200");
    }
    Ok(vec![times, added, counts])
}

fn rows() -> Result<Vec<Row>, Failure> {
    let row = |name, rules: &RouteRules, headers: &[(&str, &str)]| {
        Ok(Row { name, rules: Some(rules.clone()), request: request(headers)? })
    };
    let sticky = ten_rules(canary().when_header("x-user", Test::Present).sticky_by(Subject::header("x-user")));
    let random = ten_rules(canary().when_header("x-user", Test::Present));
    let named =
        Rule::new("named").when_header("x-user", Test::Present).to(Destination::label_from("version", Subject::header("x-label")));
    let named = ten_rules(named);
    let user = ("x-user", "7f3b9a52-user");
    [
        row("The first rule applies", &sticky, &[("x-version", "v2")]),
        row("The last applies, its share drawn by a header", &sticky, &[user]),
        row("The last applies, its share drawn at random", &random, &[user]),
        row("The last applies, its label named by a header", &named, &[user, ("x-label", "v3")]),
        row("The ninth applies, by a regular expression", &sticky, &[("x-region", "eu-17")]),
        row("None applies", &sticky, &[]),
    ]
    .into_iter()
    .collect()
}

/// Nine that ask for other things, and a last one.
fn ten_rules(last: Rule) -> RouteRules {
    let [v2, v3, v4] = ["v2", "v3", "v4"].map(|version| Label::new("version", version));
    [
        Rule::new("testers").when_header("x-version", Test::exact("v2")).to(v2.clone()).or_fail(),
        Rule::new("developers").when_header("x-version", Test::exact("v3")).to(v3.clone()).or_fail(),
        Rule::new("tenants").when_header("x-tenant", Test::any(["acme", "initech"])).to(v2.clone()),
        Rule::new("beta").when_path(Test::prefix("/beta")).to(v3.clone()),
        Rule::new("internal").when_header("user-agent", Test::prefix("internal/")).to(v2.clone()),
        Rule::new("preview").when_query("preview", Test::exact("1")).to(v4.clone()),
        Rule::new("channel").when_cookie("channel", Test::exact("beta")).to(v4),
        Rule::new("purge").when_method(Test::exact("PURGE")).to(v2),
        Rule::new("regions").when_header("x-region", Test::regex("eu-[0-9]+")).to(v3),
        last,
    ]
    .into_iter()
    .fold(RouteRules::new(), RouteRules::with_rule)
}

fn canary() -> Rule {
    Rule::new("canary").share(10.0, Label::new("version", "v2")).share(90.0, Destination::Baseline)
}

/// With the headers that most requests have, and these.
fn request(headers: &[(&str, &str)]) -> Result<Request<()>, Failure> {
    let usual = [
        ("host", "order-service"),
        ("accept", "application/json"),
        ("accept-encoding", "gzip, br"),
        ("user-agent", "shop/1.4"),
        ("cookie", "session=0123456789abcdef; theme=dark"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
    ];
    let headers = usual.iter().chain(headers);
    Ok(headers.fold(Request::get("/orders/17?page=2"), |request, (name, value)| request.header(*name, *value)).body(())?)
}

fn measure(row: &Row, size: u16, scale: Scale) -> Result<(f64, f64), Failure> {
    let settings = ServiceSettings::default().with_policy(WeightedRandom::default());
    let endpoints = Endpoints::new(ServiceKey::new("", "orders"), Arc::new(settings));
    endpoints.set_rules(row.rules.as_ref())?;
    let instance = |port: u16| {
        let instance = Instance::new(("10.0.0.1", port)).weight(f64::from(1 + port % 4));
        // Most have no label; of each label there is somebody.
        let version = match port % 10 {
            0..=2 => Some(format!("v{}", 2 + port % 10)),
            _ => None,
        };
        Arc::new(version.map_or(instance.clone(), |version| instance.metadata("version", version)))
    };
    endpoints.apply(&ServiceList::new(1, (1..=size).map(instance)));
    let pick = || {
        let mut cx = PickContext::new().for_request(RequestHead::from(black_box(&row.request)));
        endpoints.pick(&mut cx).expect("every label has somebody")
    };
    Ok((nanoseconds(scale, pick), allocations(pick)))
}
