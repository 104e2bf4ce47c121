use super::{Endpoints, lock};
use crate::resolve::View;

impl Endpoints {
    /// What requests are spread over now; `None` before the first list.
    pub(crate) fn view(&self) -> Option<View> {
        let reach = lock(&self.builder).reach();
        let current = self.current.load_full()?;
        let tiers: Vec<_> = current.tables.usual().iter().map(|tier| tier.members().to_vec()).collect();
        Some(View {
            status: current.status,
            verdicts: current.content.verdicts.clone(),
            everyone: current.endpoints().cloned().collect(),
            refusal: current.tables.is_empty().then(|| current.refusal()),
            tiers,
            reach,
        })
    }
}
