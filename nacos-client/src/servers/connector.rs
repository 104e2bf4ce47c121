//! From a server entry to a byte stream.

use std::{
    fmt, io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use super::{Host, Resolve, resolver::interleave};

/// The wait before the next address of a name is tried beside the ones that have not answered yet.
const STAGGER: Duration = Duration::from_millis(200);

/// A byte stream to a server.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for T {}

/// A connected byte stream and what is known about its ends.
pub(crate) struct Link {
    /// The stream.
    pub(crate) io: Box<dyn Io>,
    /// Address and port of the other end, as text.
    pub(crate) peer: Arc<str>,
    /// Our own address on it.
    pub(crate) local_ip: Option<IpAddr>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("peer", &self.peer).field("local_ip", &self.local_ip).finish_non_exhaustive()
    }
}

/// Why no byte stream came about.
#[derive(Debug)]
pub(crate) enum DialError {
    /// The name has no address.
    Resolve(io::Error),
    /// None of the addresses took the connection; the last one tried.
    Connect {
        /// Address and port.
        peer: Arc<str>,
        /// What it said.
        source: io::Error,
    },
}

/// Makes byte streams to servers; the place where tests put something else than TCP.
pub(crate) trait Connector: fmt::Debug + Send + Sync + 'static {
    /// Connects to `host`. The caller drops the future after `limit`, so every address should have had its turn by then.
    fn connect(&self, host: Host, port: u16, limit: Duration) -> BoxFuture<'static, Result<Link, DialError>>;
}

/// TCP without delay for small messages, over all addresses of a name.
#[derive(Debug, Clone)]
pub(crate) struct TcpConnector {
    resolver: Arc<dyn Resolve>,
}

impl TcpConnector {
    /// A connector that asks `resolver` for each connection.
    pub(crate) fn new(resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver }
    }
}

impl Connector for TcpConnector {
    fn connect(&self, host: Host, port: u16, limit: Duration) -> BoxFuture<'static, Result<Link, DialError>> {
        let addresses = self.resolver.resolve(host.to_string(), port);
        Box::pin(async move {
            let addresses = interleave(addresses.await.map_err(DialError::Resolve)?);
            race(addresses, limit, dial).await
        })
    }
}

async fn dial(address: SocketAddr) -> Result<Link, (SocketAddr, io::Error)> {
    let stream = TcpStream::connect(address).await.map_err(|e| (address, e))?;
    stream.set_nodelay(true).map_err(|e| (address, e))?;
    let local_ip = stream.local_addr().ok().map(|local| local.ip().to_canonical());
    Ok(Link { io: Box::new(stream), peer: Arc::from(address.to_string()), local_ip })
}

/// The first success. The next address starts when one fails, or a moment after the one before: a dead address costs that moment, not the limit.
async fn race<T, F>(addresses: Vec<SocketAddr>, limit: Duration, dial: impl Fn(SocketAddr) -> F) -> Result<T, DialError>
where
    F: Future<Output = Result<T, (SocketAddr, io::Error)>>,
{
    let parts = u32::try_from(addresses.len()).unwrap_or(u32::MAX).saturating_add(1);
    let stagger = STAGGER.min(limit / parts);
    let mut waiting = addresses.into_iter();
    let mut running = FuturesUnordered::new();
    let mut last = DialError::Resolve(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
    loop {
        if let Some(address) = waiting.next() {
            running.push(dial(address));
        }
        tokio::select! {
            biased;
            done = running.next() => match done {
                Some(Ok(link)) => return Ok(link),
                Some(Err((peer, source))) => last = DialError::Connect { peer: Arc::from(peer.to_string()), source },
                None => return Err(last),
            },
            () = tokio::time::sleep(stagger), if waiting.len() > 0 => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, sync::Mutex};

    use tokio::time::Instant;

    use super::*;

    fn addresses(count: u16) -> Vec<SocketAddr> {
        (1..=count).map(|port| SocketAddr::from(([127, 0, 0, 1], port))).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn g14_black_holes_cost_a_moment_each_and_refusals_nothing() {
        let start = Instant::now();
        let limit = Duration::from_millis(1500);
        let port = race(addresses(3), limit, |address| async move {
            match address.port() {
                1 => pending().await,
                2 => Err((address, io::ErrorKind::ConnectionRefused.into())),
                port => Ok(port),
            }
        });
        assert_eq!(port.await.unwrap(), 3);
        assert_eq!(start.elapsed(), STAGGER);
    }

    #[tokio::test(start_paused = true)]
    async fn g14_all_of_many_addresses_get_their_turn_within_the_limit() {
        let tried = Mutex::new(Vec::new());
        let limit = Duration::from_millis(1500);
        let all = race::<(), _>(addresses(40), limit, |address| {
            tried.lock().unwrap().push(address.port());
            pending()
        });
        assert!(tokio::time::timeout(limit, all).await.is_err());
        assert_eq!(*tried.lock().unwrap(), (1..=40).collect::<Vec<u16>>());
    }

    #[tokio::test]
    async fn the_error_names_the_address_really_tried() {
        let error = race::<(), _>(addresses(2), Duration::from_secs(1), |address| async move {
            Err((address, io::ErrorKind::ConnectionRefused.into()))
        });
        match error.await.unwrap_err() {
            DialError::Connect { peer, source } => {
                assert_eq!((&*peer, source.kind()), ("127.0.0.1:2", io::ErrorKind::ConnectionRefused));
            }
            DialError::Resolve(e) => panic!("{e}"),
        }
    }

    #[tokio::test]
    async fn a_name_without_address_is_not_resolved() {
        let error = race::<(), _>(Vec::new(), Duration::from_secs(1), |_| pending()).await.unwrap_err();
        assert!(matches!(error, DialError::Resolve(_)));
    }
}
