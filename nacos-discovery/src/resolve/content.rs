use std::sync::Arc;

use tokio::time::Instant;

use super::field::Field;
use super::routed::Routed;
use super::row::{Health, Row};
use super::tables::Tables;
use crate::ServiceInstance;
use crate::pick::{NoInstanceReason, Verdict};
use crate::route::Router;
use crate::settings::ServiceSettings;

/// What picks and people read of a list: the part that equal lists share.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) tables: Tables,
    /// Why there is nobody, if there is nobody.
    pub(super) empty: NoInstanceReason,
    /// Every instance of the list.
    pub(super) verdicts: Vec<(ServiceInstance, Verdict)>,
    /// When the weights of instances that are started slowly are others.
    pub(super) next_step: Option<Instant>,
}

impl Content {
    /// Of no list at all.
    pub(super) fn none() -> Self {
        Self { tables: Tables::none(), empty: NoInstanceReason::NoneRegistered, verdicts: Vec::new(), next_step: None }
    }

    pub(super) fn new(
        rows: &[Row],
        settings: &ServiceSettings,
        router: Option<&Arc<Router>>,
        seed: u64,
        now: Instant,
    ) -> Self {
        let health = health(rows, settings);
        let field = Field::new(rows, health, settings, seed, now);
        let (tables, empty, verdicts) = match router {
            None => plain(&field, health),
            Some(router) => {
                let (routed, verdicts) = Routed::new(&field, Arc::clone(router));
                (Tables::Routed(Arc::new(routed)), reason(rows, health), verdicts)
            }
        };
        let verdicts = rows.iter().map(|row| row.instance.clone()).zip(verdicts).collect();
        Self { tables, empty, verdicts, next_step: field.next_step }
    }
}

/// One group for every request.
fn plain(field: &Field<'_>, health: Health) -> (Tables, NoInstanceReason, Vec<Verdict>) {
    let all: Vec<usize> = (0..field.rows.len()).collect();
    let group = field.arrange(&all);
    let empty = group.filtered().unwrap_or_else(|| reason(field.rows, health));
    let mut usable = group.verdicts.into_iter().map(|(_, verdict)| verdict);
    let verdict = |at| field.out(at).cloned().or_else(|| usable.next());
    let verdicts = all.into_iter().filter_map(verdict).collect();
    (Tables::Plain(group.tiers), empty, verdicts)
}

fn health(rows: &[Row], settings: &ServiceSettings) -> Health {
    let waived =
        settings.selection().uses_unhealthy() && !rows.iter().any(|row| row.is_in_service() && row.instance.healthy());
    if waived { Health::Waived } else { Health::Needed }
}

/// Which rule left nothing of a list, filters left out.
fn reason(rows: &[Row], health: Health) -> NoInstanceReason {
    let count = rows.len();
    let in_service = rows.iter().filter(|row| row.is_in_service()).count();
    let healthy = |row: &&Row| row.is_in_service() && (health == Health::Waived || row.instance.healthy());
    let healthy = rows.iter().filter(healthy).count();
    match (count, in_service, healthy) {
        (0, ..) => NoInstanceReason::NoneRegistered,
        (_, 0, _) => NoInstanceReason::AllDrained { count },
        (_, count, 0) => NoInstanceReason::AllUnhealthy { count },
        (_, _, count) => NoInstanceReason::NoUsableAddress { count },
    }
}
