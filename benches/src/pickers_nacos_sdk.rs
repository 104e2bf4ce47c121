//! The chooser of the crate nacos-sdk over simulated instances: it picks from the registry's list and learns nothing of how
//! calls end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::{sleep, timeout};

use super::peer::{GROUP, Peer};
use super::pickers_fleet::{Client, Fleet};
use super::raw::{Connection, instance};
use super::{Failure, ours};

const SERVICE: &str = "orders";
const READY: Duration = Duration::from_secs(20);
/// Of the instance with the number 0.
const FIRST_PORT: i32 = 10_000;

/// With the first so many instances, which a server of ours lists.
pub(crate) async fn client(fleet: Arc<Fleet>, count: usize) -> Result<Box<dyn Client>, Failure> {
    let server = ours::Server::start(0).await?;
    let provider = Arc::new(Connection::open_answering(server.grpc()).await?);
    provider.registered().await?;
    let peer = Arc::new(Peer::connect(server.http()).await?);
    let sdk = NacosSdk { fleet, peer, provider, _server: server };
    sdk.add(count - 1).await?;
    // Only a push fills its cache.
    let full = async {
        loop {
            let list = sdk.peer.naming.get_all_instances(SERVICE.to_owned(), Some(GROUP.to_owned()), Vec::new(), true);
            if list.await.is_ok_and(|list| list.len() == count) {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(READY, full).await?;
    Ok(Box::new(sdk))
}

struct NacosSdk {
    fleet: Arc<Fleet>,
    peer: Arc<Peer>,
    provider: Arc<Connection>,
    _server: ours::Server,
}

impl Client for NacosSdk {
    fn call(&self) -> BoxFuture<'static, bool> {
        let (fleet, peer) = (Arc::clone(&self.fleet), Arc::clone(&self.peer));
        async move {
            let group = Some(GROUP.to_owned());
            let picked = peer.naming.select_one_healthy_instance(SERVICE.to_owned(), group, Vec::new(), true).await;
            let number = picked.ok().and_then(|instance| usize::try_from(instance.port - FIRST_PORT).ok());
            match number {
                Some(number) => fleet.serve(number).await.is_ok(),
                None => false,
            }
        }
        .boxed()
    }

    /// All up to this number.
    fn add(&self, number: usize) -> BoxFuture<'static, Result<(), Failure>> {
        let provider = Arc::clone(&self.provider);
        async move {
            let all = (0..=number as i32).map(|number| instance(FIRST_PORT + number)).collect();
            provider.register_batch(SERVICE, all).await
        }
        .boxed()
    }
}
