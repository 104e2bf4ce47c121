//! A TCP relay on loopback between a client and a server, with the faults of a network.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

const BACKLOG: u32 = 1024;

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    ToServer,
    ToClient,
}

/// What becomes of the bytes that go one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Pass,
    /// Nothing arrives, not even the end of the connection; what was held is delivered once it heals.
    BlackHole,
    /// Each piece arrives so much later.
    Late(Duration),
    /// One byte in each such time.
    Drip(Duration),
    /// This half is closed in an orderly way, the other one goes on.
    HalfClosed,
}

/// What becomes of new connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Open,
    /// Nobody listens.
    Shut,
    /// Accepted and reset at once.
    Slammed,
    /// Accepted, and then nothing is ever said.
    Silent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Close,
    Reset,
}

#[derive(Debug, Clone)]
struct Faults {
    target: SocketAddr,
    door: Door,
    to_server: Flow,
    to_client: Flow,
    /// The number of cuts so far and the kind of the last one.
    cuts: (u64, Cut),
}

impl Faults {
    fn flow(&self, way: Way) -> Flow {
        match way {
            Way::ToServer => self.to_server,
            Way::ToClient => self.to_client,
        }
    }
}

#[derive(Debug, Default)]
struct Counters {
    accepted: AtomicU64,
    open: AtomicU64,
}

/// The relay. Dropping it closes its port and all connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    faults: watch::Sender<Faults>,
    listening: watch::Receiver<bool>,
    counters: Arc<Counters>,
    /// Bound and never listening: keeps the port ours while nobody listens.
    _reserved: TcpSocket,
    _task: AbortOnDropHandle<()>,
}

impl Proxy {
    /// A relay to `target` on a free port.
    pub(crate) async fn to(target: SocketAddr) -> Self {
        let reserved = TcpSocket::new_v4().expect("sockets are to be had");
        reserved.set_reuseaddr(true).expect("any socket can do that");
        reserved.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port is to be had");
        let address = reserved.local_addr().expect("the socket is bound");
        let (faults, seen) = watch::channel(Faults {
            target,
            door: Door::Open,
            to_server: Flow::Pass,
            to_client: Flow::Pass,
            cuts: (0, Cut::Close),
        });
        let (told, listening) = watch::channel(false);
        let counters = Arc::<Counters>::default();
        // Ends when the proxy is dropped, and all its connections with it.
        let task = tokio::spawn(serve(address, seen, told, Arc::clone(&counters)));
        let proxy =
            Self { address, faults, listening, counters, _reserved: reserved, _task: AbortOnDropHandle::new(task) };
        proxy.await_listening(true).await;
        proxy
    }

    /// A relay to nowhere, that refuses connections until it gets a target.
    pub(crate) async fn closed() -> Self {
        let proxy = Self::to((Ipv4Addr::LOCALHOST, 9).into()).await;
        proxy.refuse().await;
        proxy
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The entry of a client's server list for it: `main` is the port a server would be known by.
    pub(crate) fn entry(&self, main: u16) -> String {
        format!("127.0.0.1:{main}?grpc_port={}", self.address.port())
    }

    /// New connections go to `target`.
    pub(crate) fn retarget(&self, target: SocketAddr) {
        self.faults.send_modify(|faults| faults.target = target);
    }

    /// New connections are refused, as by a host where nothing listens.
    pub(crate) async fn refuse(&self) {
        self.faults.send_modify(|faults| faults.door = Door::Shut);
        self.await_listening(false).await;
    }

    /// New connections are relayed again.
    pub(crate) async fn accept(&self) {
        self.open_as(Door::Open).await;
    }

    /// New connections are accepted and reset at once.
    pub(crate) async fn slam(&self) {
        self.open_as(Door::Slammed).await;
    }

    /// New connections are accepted, and never hear a word.
    pub(crate) async fn be_silent(&self) {
        self.open_as(Door::Silent).await;
    }

    /// All connections end with a reset.
    pub(crate) fn reset_connections(&self) {
        self.faults.send_modify(|faults| faults.cuts = (faults.cuts.0 + 1, Cut::Reset));
    }

    /// All connections end in an orderly way.
    pub(crate) fn close_connections(&self) {
        self.faults.send_modify(|faults| faults.cuts = (faults.cuts.0 + 1, Cut::Close));
    }

    /// Sets what becomes of the bytes that go `way`, on present and future connections.
    pub(crate) fn flow(&self, way: Way, flow: Flow) {
        self.faults.send_modify(|faults| match way {
            Way::ToServer => faults.to_server = flow,
            Way::ToClient => faults.to_client = flow,
        });
    }

    /// Nothing arrives, either way.
    pub(crate) fn black_hole(&self) {
        self.flow(Way::ToServer, Flow::BlackHole);
        self.flow(Way::ToClient, Flow::BlackHole);
    }

    /// Bytes pass again, both ways.
    pub(crate) fn heal(&self) {
        self.flow(Way::ToServer, Flow::Pass);
        self.flow(Way::ToClient, Flow::Pass);
    }

    /// How many connections were accepted so far.
    pub(crate) fn accepted(&self) -> u64 {
        self.counters.accepted.load(Ordering::SeqCst)
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> u64 {
        self.counters.open.load(Ordering::SeqCst)
    }

    async fn open_as(&self, door: Door) {
        self.faults.send_modify(|faults| faults.door = door);
        self.await_listening(true).await;
    }

    async fn await_listening(&self, wanted: bool) {
        let mut listening = self.listening.clone();
        listening.wait_for(|now| *now == wanted).await.expect("the task lives as long as the proxy");
    }
}

async fn serve(
    address: SocketAddr,
    mut faults: watch::Receiver<Faults>,
    told: watch::Sender<bool>,
    counters: Arc<Counters>,
) {
    let mut connections = JoinSet::new();
    while faults.wait_for(|faults| faults.door != Door::Shut).await.is_ok() {
        let listener = listen(address);
        let mut door = faults.clone();
        told.send_replace(true);
        loop {
            tokio::select! {
                biased;
                shut = door.wait_for(|faults| faults.door == Door::Shut) => {
                    if shut.is_err() {
                        return;
                    }
                    break;
                }
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept() => {
                    let (client, _) = accepted.expect("an open listener accepts");
                    counters.accepted.fetch_add(1, Ordering::SeqCst);
                    let open = Open::new(Arc::clone(&counters));
                    let faults = faults.clone();
                    // Ends with either end of the connection, when it is cut, or with the proxy.
                    connections.spawn(async move {
                        relay(client, faults).await;
                        drop(open);
                    });
                }
            }
        }
        drop(listener);
        told.send_replace(false);
    }
}

fn listen(address: SocketAddr) -> TcpListener {
    let socket = TcpSocket::new_v4().expect("sockets are to be had");
    socket.set_reuseaddr(true).expect("any socket can do that");
    socket.bind(address).expect("the port is reserved for us");
    socket.listen(BACKLOG).expect("nobody else listens there")
}

/// Counts a connection as open as long as it lives.
struct Open(Arc<Counters>);

impl Open {
    fn new(counters: Arc<Counters>) -> Self {
        counters.open.fetch_add(1, Ordering::SeqCst);
        Self(counters)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn relay(mut client: TcpStream, mut faults: watch::Receiver<Faults>) {
    let Faults { target, door, cuts: (cuts, _), .. } = faults.borrow().clone();
    match door {
        Door::Slammed | Door::Shut => return reset(&client),
        Door::Silent => {
            let mut ignored = [0; 1024];
            tokio::select! {
                _ = faults.wait_for(|faults| faults.cuts.0 != cuts) => {}
                () = async { while client.read(&mut ignored).await.is_ok_and(|read| read > 0) {} } => {}
            }
            return;
        }
        Door::Open => {}
    }
    let Ok(mut server) = TcpStream::connect(target).await else { return reset(&client) };
    for side in [&client, &server] {
        side.set_nodelay(true).expect("a connected socket can do that");
    }
    let cut = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        let there = pump(Way::ToServer, from_client, to_server, faults.clone());
        let back = pump(Way::ToClient, from_server, to_client, faults.clone());
        tokio::select! {
            // An error of either direction is the end of both, as with a reset.
            ended = async { tokio::try_join!(there, back) } => if ended.is_ok() { Cut::Close } else { Cut::Reset },
            cut = faults.wait_for(|faults| faults.cuts.0 != cuts) => cut.map_or(Cut::Reset, |faults| faults.cuts.1),
        }
    };
    if cut == Cut::Reset {
        reset(&client);
        reset(&server);
    }
}

/// Makes the end of a connection a reset.
fn reset(stream: &TcpStream) {
    // Fails if the connection is gone already, and then there is nothing to reset.
    drop(stream.set_zero_linger());
}

async fn pump(
    way: Way,
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut faults: watch::Receiver<Faults>,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = tokio::select! {
            biased;
            _ = faults.wait_for(|faults| faults.flow(way) == Flow::HalfClosed) => 0,
            read = from.read(&mut buffer) => read?,
        };
        if read == 0 {
            passable(way, &mut faults).await?;
            return to.shutdown().await;
        }
        let mut rest = buffer.get(..read).unwrap_or_default();
        while !rest.is_empty() {
            let length = match passable(way, &mut faults).await? {
                Flow::HalfClosed => return to.shutdown().await,
                Flow::Drip(every) => {
                    sleep(every).await;
                    1
                }
                Flow::Late(delay) => {
                    sleep(delay).await;
                    rest.len()
                }
                Flow::Pass | Flow::BlackHole => rest.len(),
            };
            let (now, later) = rest.split_at(length);
            to.write_all(now).await?;
            rest = later;
        }
    }
}

/// Waits until something may pass.
async fn passable(way: Way, faults: &mut watch::Receiver<Faults>) -> io::Result<Flow> {
    let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
    Ok(faults.wait_for(|faults| faults.flow(way) != Flow::BlackHole).await.map_err(gone)?.flow(way))
}
