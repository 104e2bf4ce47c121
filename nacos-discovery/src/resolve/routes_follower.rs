use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Weak};

use futures_util::{FutureExt, Stream, StreamExt};
use nacos_client::StartError;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::Directory;
use super::directory::Shared;
use super::following::Following;
use crate::DiscoveryError;
use crate::causes::with_causes;
use crate::route::RouteDocument;

/// Keeps the rules of a [`Directory`] as a stream of documents says. Made by [`Directory::follow_routes`].
///
/// Its task ends when this is dropped, when the stream ends, and with the directory; the rules then stay as they are.
#[derive(Debug)]
#[must_use = "dropping it ends the following"]
pub struct RoutesFollower {
    task: JoinHandle<()>,
    following: Arc<Following>,
}

impl RoutesFollower {
    pub(super) fn spawn<S, E>(directory: &Directory, documents: S) -> Result<Self, DiscoveryError>
    where
        S: Stream<Item = Result<RouteDocument, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
        let following = Arc::new(Following::default());
        let task = runtime.spawn(run(directory.downgrade(), Arc::clone(&following), documents));
        Ok(Self { task, following })
    }

    /// What the newest document is wrong with, or what the stream failed with since; `None` if the newest document is in
    /// force.
    #[must_use]
    pub fn trouble(&self) -> Option<Arc<dyn Error + Send + Sync>> {
        self.following.trouble()
    }

    /// Whether the stream has ended, so that there will be no other document.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.following.has_ended()
    }

    pub(super) fn following(&self) -> Weak<Following> {
        Arc::downgrade(&self.following)
    }
}

impl Drop for RoutesFollower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The directory is held weakly: following its rules must not keep it alive.
async fn run<S, E>(directory: Weak<Shared>, following: Arc<Following>, documents: S)
where
    S: Stream<Item = Result<RouteDocument, E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let followed = AssertUnwindSafe(follow(&directory, &following, documents)).catch_unwind();
    if followed.await.is_err() {
        tracing::error!("the stream of routing rules panicked; the rules before stay");
    }
    following.end();
}

async fn follow<S, E>(directory: &Weak<Shared>, following: &Following, documents: S)
where
    S: Stream<Item = Result<RouteDocument, E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    let mut documents = pin!(documents);
    while let Some(item) = documents.next().await {
        let Some(shared) = directory.upgrade() else { return };
        let trouble = item.map_err(Into::into).and_then(|document| put(&Directory { shared }, document)).err();
        let told = trouble.as_deref().map(|error| with_causes(error));
        if following.note(trouble.map(Arc::from)) {
            match told {
                Some(error) => tracing::warn!(%error, "no new routing rules; those before stay"),
                None => tracing::info!("routing rules are well again"),
            }
        }
    }
}

/// Filters and policies of the application may panic: that must not end the following.
fn put(directory: &Directory, document: RouteDocument) -> Result<(), Box<dyn Error + Send + Sync>> {
    if *directory.routes() == document {
        return Ok(());
    }
    let set = catch_unwind(AssertUnwindSafe(|| directory.set_routes(document)));
    match set {
        Ok(set) => set.map_err(Into::into),
        Err(_) => Err("a filter or a policy panicked".into()),
    }
}
