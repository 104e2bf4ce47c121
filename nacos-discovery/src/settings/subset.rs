/// How many instances one process calls, where there are more: each takes others, so that together they use all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subset {
    own_id: String,
    size: usize,
}

const SIZE: usize = 100;

impl Subset {
    /// For the process of this id, which must differ from those of the others and outlive a restart: an instance id, a host
    /// name. Mirrors `spring.cloud.loadbalancer.subset.instance-id`.
    #[must_use]
    pub fn new(own_id: impl Into<String>) -> Self {
        Self { own_id: own_id.into(), size: SIZE }
    }

    /// How many instances it has, default 100, at least 1. Each tier of preference has as many.
    #[must_use]
    pub fn with_size(mut self, size: usize) -> Self {
        self.size = size.max(1);
        self
    }

    pub(crate) fn own_id(&self) -> &str {
        &self.own_id
    }

    pub(crate) const fn size(&self) -> usize {
        self.size
    }
}
