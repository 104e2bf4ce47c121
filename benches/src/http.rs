//! Lists and registrations per second over HTTP, beside an axum server that does nothing.

use super::http_load::{Link, Request, seconds};
use super::process::{Process, Role};
use super::report::{Better, Figure, Table, median};
use super::{Failure, Scale};

const CONNECTIONS: usize = 16;
const LISTED: usize = 10;

/// Both servers in turn, from the same generator.
pub(crate) async fn run(scale: Scale) -> Result<Table, Failure> {
    let (calls, rounds) = scale.of((40_000, 5), (2_000, 1));
    let mut table = Table::new(
        format!(
            "HTTP: {CONNECTIONS} kept connections, one request at a time on each, {calls} requests, median of {rounds}"
        ),
        "idle axum server",
    );
    let (mut register, mut list) = (Pair::default(), Pair::default());
    for _ in 0..rounds {
        let server = Process::start()?;
        register
            .ours
            .add(&server, calls, |number| Request::register(&format!("order-service-{number}"), number))
            .await?;
        let mut link = Link::open(server.http()).await?;
        let count = Request::get("/nacos/v1/ns/service/list?pageNo=1&pageSize=1");
        let count: serde_json::Value = serde_json::from_slice(&link.ask(&count).await?)?;
        if count["count"] != calls {
            return Err(format!("{calls} registrations were confirmed, {} are there", count["count"]).into());
        }
        for number in 0..LISTED {
            link.ask(&Request::register("stock-service", number)).await?;
        }
        let answer = link.ask(&Request::list("stock-service")).await?;
        let answered: serde_json::Value = serde_json::from_slice(&answer)?;
        if answered["hosts"].as_array().map(Vec::len) != Some(LISTED) {
            return Err("the list is not whole".into());
        }
        list.ours.add(&server, calls, |_| Request::list("stock-service")).await?;
        drop((link, server));

        let idle = Process::start_idle(Role::IdleHttp, answer.len())?;
        register.idle.add(&idle, calls, |number| Request::register(&format!("order-service-{number}"), number)).await?;
        list.idle.add(&idle, calls, |_| Request::list("stock-service")).await?;
    }
    register.push_to(&mut table, "registrations, one in each service");
    list.push_to(&mut table, &format!("lists of {LISTED} instances"));
    Ok(table)
}

#[derive(Default)]
struct Pair {
    ours: Rounds,
    idle: Rounds,
}

impl Pair {
    fn push_to(mut self, table: &mut Table, name: &str) {
        table.push(
            Figure::new(name, "/s", Better::More).ours(median(&mut self.ours.rates)).peer(median(&mut self.idle.rates)),
        );
        table.push(
            Figure::new(format!("{name}: the server's processor time for each"), "µs", Better::Less)
                .ours(median(&mut self.ours.costs))
                .peer(median(&mut self.idle.costs)),
        );
    }
}

/// What came out of several rounds.
#[derive(Default)]
struct Rounds {
    rates: Vec<f64>,
    costs: Vec<f64>,
}

impl Rounds {
    async fn add(
        &mut self,
        server: &Process,
        calls: usize,
        make: impl Fn(usize) -> Request + Clone + Send + 'static,
    ) -> Result<(), Failure> {
        let before = server.cpu_seconds();
        self.rates.push(calls as f64 / seconds(server.http(), CONNECTIONS, calls, make).await?);
        self.costs.push((server.cpu_seconds() - before) * 1e6 / calls as f64);
        Ok(())
    }
}
