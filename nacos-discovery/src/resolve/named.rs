use nacos_client::{DEFAULT_GROUP, ServiceKey};
use papaya::Equivalent;

/// A service by its names, which hashes and compares like its key, so that finding it allocates nothing.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct Named<'a> {
    group: &'a str,
    name: &'a str,
}

impl<'a> Named<'a> {
    /// A blank group is the default one.
    #[inline]
    pub(super) fn new(group: &'a str, name: &'a str) -> Self {
        let group = if group.trim_start().is_empty() { DEFAULT_GROUP } else { group };
        Self { group, name }
    }

    pub(super) fn key(&self) -> ServiceKey {
        ServiceKey::new(self.group, self.name)
    }
}

impl Equivalent<ServiceKey> for Named<'_> {
    fn equivalent(&self, key: &ServiceKey) -> bool {
        (self.group, self.name) == (key.group(), key.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_found_by_its_names_and_no_other_one() {
        let map = papaya::HashMap::new();
        for key in [ServiceKey::new("", "orders"), ServiceKey::new("G", "orders"), ServiceKey::new("a@@b", "c")] {
            map.pin().insert(key.clone(), key.to_string());
        }
        let find = |group, name| map.pin().get(&Named::new(group, name)).cloned();
        assert_eq!(find("", "orders").as_deref(), Some("DEFAULT_GROUP@@orders"));
        assert_eq!(find(" ", "orders").as_deref(), Some("DEFAULT_GROUP@@orders"));
        assert_eq!(find("G", "orders").as_deref(), Some("G@@orders"));
        assert_eq!(find("a@@b", "c").as_deref(), Some("a@@b@@c"));
        assert_eq!((find("a", "b@@c"), find("g", "orders")), (None, None));
    }
}
