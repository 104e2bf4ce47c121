//! Listens for the UDP packets by which servers push lists to clients that speak HTTP.
//!
//! ```text
//!   Pushes.begin ─▶ family of addresses ─▶ bind ─▶ receive ─▶ sender known? ─▶ gunzip, read ─▶ Event::Push ─▶ acknowledge
//!                                           ▲         │ error
//!                                           └─ pause ─┘            the port in use is announced by the next query
//! ```
//!
//! A packet is a hint that comes early: whatever is lost, broken or dropped here is found by the next poll.

mod datagram;
mod pushes;
mod socket;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

use self::datagram::Incoming;
pub(super) use self::pushes::Pushes;
use self::pushes::{Family, dump};
pub(super) use self::socket::UdpSockets;
use self::socket::{Bind, Datagrams};
use crate::{
    log_limit::LogLimit,
    transport::{
        EventHandler,
        backoff::{Cap, delay},
    },
};

/// The longest packet UDP has.
const LONGEST: usize = 65_535;
/// A socket that worked for this long was a good one: the pause after its error is short.
const STABLE: Duration = Duration::from_secs(5);
/// Errors in a row that are taken for echoes of acknowledgements nobody listened to, as some systems report them.
const ECHOES: u32 = 16;
/// Everything known is told so often at most: the answer is much longer than the question.
const DUMP_PAUSE: Duration = Duration::from_secs(1);

/// The receiver of one client; its task owns the socket.
pub(super) struct PushReceiver {
    pushes: Arc<Pushes>,
    handler: Arc<dyn EventHandler>,
    sockets: Box<dyn Bind>,
    foreign_log: LogLimit,
    broken_log: LogLimit,
    socket_log: LogLimit,
    dumped: Option<Instant>,
}

/// Why a socket is given up.
enum End {
    Stopped,
    /// The way to the servers needs another family of addresses.
    Moved,
    Failed(io::Error),
}

impl PushReceiver {
    pub(super) fn new(pushes: Arc<Pushes>, handler: Arc<dyn EventHandler>, sockets: impl Bind) -> Self {
        let (foreign_log, broken_log, socket_log) = Default::default();
        Self { pushes, handler, sockets: Box::new(sockets), foreign_log, broken_log, socket_log, dumped: None }
    }

    /// Listens from the first epoch on, until `stop` is cancelled.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut route = self.pushes.route();
        let mut rng = fastrand::Rng::new();
        let mut failures = 0;
        loop {
            let Some(family) = known(&mut route, &stop).await else { return };
            let begun = Instant::now();
            let end = match self.sockets.bind(family.any(self.pushes.settings().port)) {
                Ok(socket) => self.serve(&*socket, family, &mut route, &stop).await,
                Err(error) => End::Failed(error),
            };
            self.pushes.announce(0);
            match end {
                End::Stopped => return,
                End::Moved => continue,
                End::Failed(error) => self.tell_failure(&error),
            }
            if begun.elapsed() >= STABLE {
                failures = 0;
            }
            let pause = delay(failures, Cap::Usual, &mut rng);
            failures = failures.saturating_add(1);
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn serve(
        &mut self,
        socket: &dyn Datagrams,
        family: Family,
        route: &mut watch::Receiver<Option<Family>>,
        stop: &CancellationToken,
    ) -> End {
        match socket.port() {
            Ok(port) => self.pushes.announce(port),
            Err(error) => return End::Failed(error),
        }
        let mut buffer = vec![0; LONGEST];
        let mut echoes = 0;
        loop {
            let received = tokio::select! {
                biased;
                () = stop.cancelled() => return End::Stopped,
                moved = route.wait_for(|now| *now != Some(family)) => {
                    return if moved.is_ok() { End::Moved } else { End::Stopped };
                }
                received = socket.receive(&mut buffer) => received,
            };
            match received {
                Ok((length, sender)) => {
                    echoes = 0;
                    self.take(socket, buffer.get(..length).unwrap_or_default(), sender).await;
                }
                Err(error) if is_echo(&error) && echoes < ECHOES => echoes += 1,
                Err(error) => return End::Failed(error),
            }
        }
    }

    async fn take(&mut self, socket: &dyn Datagrams, bytes: &[u8], sender: SocketAddr) {
        if !self.pushes.believes(sender.ip()) {
            return self.tell_foreign(sender);
        }
        let ack = match datagram::read(bytes) {
            Ok(Incoming::Push { packet, info }) => {
                // Nobody is there to take it; the server sends it once more.
                if !self.pushes.deliver(&*self.handler, sender, info) {
                    return;
                }
                packet.ack(String::new())
            }
            Ok(Incoming::Dump(packet)) => packet.ack(self.dump()),
            Ok(Incoming::Unknown(packet)) => {
                self.pushes.counters.unknown();
                tracing::debug!(%sender, kind = %packet.kind, "a UDP packet of an unknown type");
                packet.ack(String::new())
            }
            Err(error) => return self.tell_broken(sender, &error),
        };
        // A lost acknowledgement costs the server one packet more.
        if let Err(error) = socket.send(&ack.encode(), sender).await {
            tracing::debug!(%sender, %error, "a push could not be acknowledged");
        }
    }

    /// Whom packets may come from can be anybody: then nothing is told.
    fn dump(&mut self) -> String {
        let now = Instant::now();
        if !self.pushes.knows_senders() || self.dumped.is_some_and(|last| now < last + DUMP_PAUSE) {
            return String::new();
        }
        self.dumped = Some(now);
        dump(&self.handler.known_lists())
    }

    fn tell_foreign(&self, sender: SocketAddr) {
        self.pushes.counters.foreign();
        if let Some(left_out) = self.foreign_log.pass(Instant::now()) {
            tracing::warn!(%sender, lines_left_out = left_out, "a UDP packet is ignored, its sender is none of the servers (do they stand behind a load balancer? see UdpPush::senders)");
        }
    }

    fn tell_broken(&self, sender: SocketAddr, error: &datagram::Broken) {
        self.pushes.counters.unreadable();
        if let Some(left_out) = self.broken_log.pass(Instant::now()) {
            let error = crate::error::describe(error);
            tracing::warn!(%sender, error, lines_left_out = left_out, "a UDP packet of a server cannot be read");
        }
    }

    fn tell_failure(&self, error: &io::Error) {
        self.pushes.counters.lost_socket();
        if let Some(left_out) = self.socket_log.pass(Instant::now()) {
            let port = self.pushes.settings().port;
            tracing::warn!(port, %error, lines_left_out = left_out, "no socket for UDP pushes, lists are only polled until there is one");
        }
    }
}

/// The family of addresses to listen on, once it is known; `None` when told to stop.
async fn known(route: &mut watch::Receiver<Option<Family>>, stop: &CancellationToken) -> Option<Family> {
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        known = route.wait_for(Option::is_some) => known.ok().and_then(|family| *family),
    }
}

fn is_echo(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests;
