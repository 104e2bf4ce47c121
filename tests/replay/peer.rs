//! The server at the other end.

use std::net::SocketAddr;

use nacos_server_min::{Behaviour, Server};
use nacos_tests::compare::Reply;
use nacos_tests::http::{self, Call};

use crate::player::Player;
use crate::script::Mode;

/// The dice of [`Behaviour::Nacos25`]. Any seed will do, but with this one the second probe is the one that fails to save the
/// silent connection, so that its scenario is over soon.
const SEED: u64 = 4;

#[derive(Debug)]
pub(crate) enum Peer {
    /// Ours.
    Server(Server),
    /// One that plays the recording.
    Player(Player),
}

impl Peer {
    pub(crate) async fn start(mode: Mode) -> Self {
        let builder = match mode {
            Mode::Nacos25 => Server::builder().behaviour(Behaviour::Nacos25).seed(SEED),
            Mode::Default => Server::builder(),
        };
        Self::Server(builder.start().await.expect("a server starts on free ports"))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Server(server) => server.grpc_addr(),
            Self::Player(player) => player.address(),
        }
    }

    /// The operator's wish to move a connection; he hears "success" of an unknown one as well.
    pub(crate) async fn reset(&self, connection: &str, target: Option<&str>) {
        let target = target.map(|target| format!("&redirectAddress={target}")).unwrap_or_default();
        let query = format!("connectionId={connection}{target}");
        let call = Call { method: "GET", path: "/nacos/v2/core/loader/reloadClient", query: &query, ..Call::default() };
        if let Some(reply) = self.http(call).await {
            assert_eq!((reply.status, reply.body.as_str()), (200, "success"), "{connection}");
        }
    }

    /// Makes a call to the HTTP port, if there is one.
    pub(crate) async fn http(&self, call: Call<'_>) -> Option<Reply> {
        match self {
            Self::Server(server) => Some(http::call(server.http_addr(), call).await.expect("the HTTP port answers")),
            Self::Player(_) => None,
        }
    }

    pub(crate) async fn stop(self) {
        if let Self::Server(server) = self {
            server.shutdown().await;
        }
    }
}
