use nacos_client::{ConnectionStatus, Instance, Protocol};

use super::{Registered, Registration};

impl Registered {
    /// Takes over what an operator made of the instance, where registering anew would replace it: servers of 1.x, which
    /// speak HTTP only, have one row for both. Later ones keep the operator's part apart, and lay it over.
    pub(super) async fn keep_edits(&self, wanted: &mut Registration) {
        if !matches!(self.nacos().status().current(), ConnectionStatus::Connected { protocol: Protocol::Http, .. }) {
            return;
        }
        let Ok(service) = self.nacos().service(&wanted.service) else { return };
        match service.query().await {
            Ok(listed) => {
                let key = wanted.instance.key();
                if let Some(row) = listed.iter().find(|row| key.is(row)) {
                    adopt(&mut wanted.instance, row);
                }
            }
            Err(error) => tracing::debug!(%error, "registering anew without a look at an operator's changes"),
        }
    }
}

fn adopt(own: &mut Instance, row: &Instance) {
    // A server that lists what nobody can register must not keep us from registering.
    if nacos_client::Weight::new(row.weight).is_some() {
        own.weight = row.weight;
    }
    own.metadata.clone_from(&row.metadata);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_and_metadata_are_the_operators_and_the_rest_stays() {
        let mut own = Instance::new(("h", 1)).metadata("version", "v1").enabled(false);
        let row = Instance::new(("h", 1)).weight(7.0).metadata("version", "v2").healthy(false);
        adopt(&mut own, &row);
        assert_eq!(own, Instance::new(("h", 1)).weight(7.0).metadata("version", "v2").enabled(false));
        adopt(&mut own, &row.weight(f64::NAN));
        assert_eq!(own.weight, 7.0);
    }
}
