use std::future::Future;

use nacos_client::StartError;

use super::{EjectionEvent, EjectionListener, Ejections};
use crate::Directory;

impl Directory {
    /// What becomes of instances by this process's own calls: ejections and restorations of all services, from now on. For
    /// everyone who wants to tell operators, or a registry, what active checks do not see.
    pub fn ejections(&self) -> Ejections {
        self.ejection_sender().subscribe()
    }

    /// Calls `handler` with every ejection and restoration, one call after the other, in a task of its own. A panic of it is
    /// logged, and it is called again at the next one. A handler that is slow holds nothing up, but misses events.
    ///
    /// # Errors
    /// Outside a tokio runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use nacos_discovery::{Directory, EjectionKind};
    /// # fn example(directory: &Directory) -> Result<(), nacos_client::StartError> {
    /// let listener = directory.on_ejection(|event| async move {
    ///     if let EjectionKind::Ejected { cause, .. } = event.kind {
    ///         println!("{} of {} does not serve: {cause:?}", event.instance, event.instance.service());
    ///     }
    /// })?;
    /// # drop(listener); Ok(()) }
    /// ```
    pub fn on_ejection<F, R>(&self, handler: F) -> Result<EjectionListener, StartError>
    where
        F: FnMut(EjectionEvent) -> R + Send + 'static,
        R: Future<Output = ()> + Send + 'static,
    {
        EjectionListener::spawn(self.ejections(), handler)
    }
}
