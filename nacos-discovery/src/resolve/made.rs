use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::Directory;
use super::directory::Shared;

/// The directories that were made in one place, as long as somebody uses them.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    made: Mutex<Vec<Weak<Shared>>>,
}

impl Directories {
    pub(crate) fn add(&self, directory: &Directory) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.retain(|one| one.strong_count() > 0);
        made.push(Arc::downgrade(&directory.shared));
    }

    /// Those that are used, in the order in which they were made.
    pub(crate) fn used(&self) -> Vec<Directory> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.iter().filter_map(Weak::upgrade).map(|shared| Directory { shared }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BalanceSettings, InMemoryDiscovery};

    #[test]
    fn a_directory_that_nobody_uses_is_forgotten() {
        let directories = Directories::default();
        let make = || {
            let directory = Directory::new(Arc::new(InMemoryDiscovery::new()), BalanceSettings::default());
            directories.add(&directory);
            directory
        };
        let (first, second) = (make(), make());
        assert_eq!(directories.used().len(), 2);
        drop(first);
        assert_eq!(directories.used().len(), 1);
        let _third = make();
        assert_eq!(directories.made.lock().unwrap().len(), 2);
        drop(second);
    }
}
