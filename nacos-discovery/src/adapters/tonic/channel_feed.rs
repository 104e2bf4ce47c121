use std::fmt;

use ::tonic::transport::channel::Change as ChannelChange;
use ::tonic::transport::{Channel, Endpoint as ChannelEndpoint};
use futures_util::{Stream, StreamExt};
use http::Uri;
use nacos_client::{InstanceKey, ServiceKey};
use tokio::sync::mpsc::Sender;
use tokio::task::AbortHandle;

use super::backlog::{Backlog, Step};
use crate::{Change, Directory, Discovery, DiscoveryError, Target};

/// Changes that wait in their order for a channel until it has its next call.
const CAPACITY: usize = 1024;

/// Tells a [`Channel`] of tonic which instances there are, as long as this is held.
///
/// It is for those who must have a `Channel`. All that reaches the channel is who is there: of the instances that calls to the service
/// prefer, each takes an equal share, whatever its weight is. Routes, hash keys, ejection and repetitions are none of the channel's, an
/// instance that refuses connections keeps its share of the calls until the registry takes it out of the list, and without any instance
/// calls wait until their own deadline. [`super::TonicBalanced`] has all of these.
///
/// A channel looks at changes when it has a call. Until then they wait: 1024 of them in their order, and behind these the fewest there can
/// be, removals first, without what came and went meanwhile. When this is dropped, the channel stays with those it knows and those that
/// wait in their order; when the channel and its clones are dropped, this ends.
///
/// # Examples
///
/// ```no_run
/// # fn example(discovery: nacos_discovery::Discovery) -> Result<(), Box<dyn std::error::Error>> {
/// let (channel, _feed) = discovery.balance_channel("order-service")?;
/// # drop(channel);
/// # Ok(()) }
/// ```
#[must_use = "dropping it ends the changes"]
pub struct ChannelFeed {
    task: AbortHandle,
}

impl ChannelFeed {
    /// A channel, and what feeds it with the instances of a service. `configure` makes what connections to one of them need of what names
    /// its address: time limits, or TLS, which an instance that says `secure=true` cannot be called without. It is called on a task of
    /// this, so it must be quick.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    ///
    /// # Panics
    /// Outside a tokio runtime, unless the source fails there first.
    pub fn open(
        directory: &Directory,
        service: &ServiceKey,
        configure: impl Fn(ChannelEndpoint) -> ChannelEndpoint + Send + 'static,
    ) -> Result<(Channel, Self), DiscoveryError> {
        let changes = directory.discover(service)?;
        let (channel, sender) = Channel::balance_channel(CAPACITY);
        Ok((channel, Self::start(changes, sender, configure)))
    }

    /// Feeds a channel that was made elsewhere, by `Channel::balance_channel_with_executor` for example.
    ///
    /// # Errors
    /// If the name is invalid or the source is shut down.
    ///
    /// # Panics
    /// Outside a tokio runtime, unless the source fails there first.
    pub fn into_channel(
        directory: &Directory,
        service: &ServiceKey,
        sender: Sender<ChannelChange<InstanceKey, ChannelEndpoint>>,
        configure: impl Fn(ChannelEndpoint) -> ChannelEndpoint + Send + 'static,
    ) -> Result<Self, DiscoveryError> {
        Ok(Self::start(directory.discover(service)?, sender, configure))
    }

    /// Whether the channel is told of nothing any more: it was dropped, or `configure` panicked, or the runtime ended. The end of the source
    /// alone is no such end.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.task.is_finished()
    }

    fn start(
        changes: impl Stream<Item = Change> + Send + Unpin + 'static,
        sender: Sender<ChannelChange<InstanceKey, ChannelEndpoint>>,
        configure: impl Fn(ChannelEndpoint) -> ChannelEndpoint + Send + 'static,
    ) -> Self {
        Self { task: tokio::spawn(feed(changes, sender, configure)).abort_handle() }
    }
}

/// Reads changes whether or not there is room for them. Ends with the channel.
async fn feed(
    mut changes: impl Stream<Item = Change> + Send + Unpin,
    sender: Sender<ChannelChange<InstanceKey, ChannelEndpoint>>,
    configure: impl Fn(ChannelEndpoint) -> ChannelEndpoint + Send,
) {
    let mut backlog: Backlog<InstanceKey, Target> = Backlog::new();
    let mut source_is_open = true;
    loop {
        tokio::select! {
            biased;
            change = changes.next(), if source_is_open => match change {
                Some(Change::Insert(key, endpoint)) => backlog.insert(key, endpoint.target().clone()),
                Some(Change::Remove(key)) => backlog.remove(key),
                None => source_is_open = false,
            },
            room = sender.reserve(), if !backlog.is_empty() => match (room, backlog.next()) {
                (Ok(room), Some(Step::Insert(key, target))) => {
                    room.send(ChannelChange::Insert(key, configure(endpoint(target))));
                }
                (Ok(room), Some(Step::Remove(key))) => room.send(ChannelChange::Remove(key)),
                (Ok(_), None) => {}
                (Err(_), _) => return,
            },
            () = sender.closed(), if backlog.is_empty() => return,
        }
    }
}

fn endpoint(target: Target) -> ChannelEndpoint {
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(target.scheme);
    parts.authority = Some(target.authority);
    parts.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    Channel::builder(Uri::from_parts(parts).expect("scheme, authority and path are all there"))
}

impl Drop for ChannelFeed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for ChannelFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChannelFeed").field("is_ended", &self.is_ended()).finish_non_exhaustive()
    }
}

impl Discovery {
    /// A channel of tonic that is told of the instances of a service of the configured group, by [`Discovery::grpc_directory`]. What it cannot
    /// do, [`ChannelFeed`] says; [`Discovery::tonic`] can.
    ///
    /// # Errors
    /// If the name is invalid or the client is shut down.
    ///
    /// # Panics
    /// Outside a tokio runtime, unless the source fails there first.
    pub fn balance_channel(&self, service: &str) -> Result<(Channel, ChannelFeed), DiscoveryError> {
        ChannelFeed::open(self.grpc_directory(), &self.service_key(service), |endpoint| endpoint)
    }
}
