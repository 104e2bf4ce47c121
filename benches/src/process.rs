//! Servers in processes of their own: to be killed, or so that only their memory and processor time is counted.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clap::ValueEnum;
use tempfile::TempDir;

use super::http_load::{Link, Request};
use super::idle_http::IdleHttp;
use super::idle_server::IdleServer;
use super::{Failure, machine, ours};

/// What runs in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Our server with its default settings.
    Nacos,
    /// [`IdleServer`].
    IdleGrpc,
    /// [`IdleHttp`].
    IdleHttp,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Nacos => "nacos",
            Self::IdleGrpc => "idle-grpc",
            Self::IdleHttp => "idle-http",
        }
    }
}

/// A running server; dropping it kills it.
pub(crate) struct Process {
    child: Child,
    /// Where clients connect: of our server the main port, else the only one.
    address: SocketAddr,
    /// Where a real server keeps what it writes; it goes with the process.
    _data: Option<TempDir>,
}

impl Process {
    /// Our server.
    pub(crate) fn start() -> Result<Self, Failure> {
        // Ports in use are tried again elsewhere; the range lies below the one that outgoing connections take theirs from.
        for attempt in 0..20 {
            let port = 20_000 + u16::try_from((std::process::id() + attempt * 7) % 2_000)?;
            if let Ok((child, address)) = spawn(Role::Nacos, port, 0) {
                return Ok(Self { child, address, _data: None });
            }
        }
        Err("no free port found".into())
    }

    /// A real Nacos server, which this script starts; it listens within a minute.
    pub(crate) async fn start_real(script: &OsStr) -> Result<Self, Failure> {
        let port = 22_500 + u16::try_from(std::process::id() % 400)?;
        let data = TempDir::new()?;
        let child = Command::new(script)
            .args(["2.0.4.RELEASE", &port.to_string()])
            .arg(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let server = Self { child, address: (Ipv4Addr::LOCALHOST, port).into(), _data: Some(data) };
        let metrics = Request::get("/nacos/v1/ns/operator/metrics");
        for _ in 0..600 {
            if let Ok(mut link) = Link::open(server.address).await
                && link.ask(&metrics).await.is_ok()
            {
                return Ok(server);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("the real server did not start within a minute".into())
    }

    /// A server that does nothing, on any port; `answer` is the size of what it says, in bytes.
    pub(crate) fn start_idle(role: Role, answer: usize) -> Result<Self, Failure> {
        let (child, address) = spawn(role, 0, answer)?;
        Ok(Self { child, address, _data: None })
    }

    pub(crate) fn http(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn grpc(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.address.port() + 1_000).into()
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> Result<f64, Failure> {
        machine::resident(self.child.id()).ok_or_else(|| "the system does not tell the memory of a process".into())
    }

    /// Processor seconds used so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        machine::cpu_seconds_of(self.child.id())
    }

    pub(crate) fn kill(&mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Starts our server again on the same port.
    pub(crate) fn restart(&mut self) -> Result<(), Failure> {
        (self.child, self.address) = spawn(Role::Nacos, self.address.port(), 0)?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.kill());
    }
}

/// Starts the server and returns once it listens.
fn spawn(role: Role, port: u16, answer: usize) -> Result<(Child, SocketAddr), Failure> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["serve", "--port", &port.to_string(), "--role", role.name(), "--answer", &answer.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    if let Some(address) = line.trim().strip_prefix(LISTENING).and_then(|address| address.parse().ok()) {
        return Ok((child, address));
    }
    child.kill()?;
    child.wait()?;
    Err("the server did not start".into())
}

const LISTENING: &str = "listening on ";

/// The child's side: runs until it is killed or the parent ends.
pub(crate) async fn serve(role: Role, port: u16, answer: usize) -> Result<(), Failure> {
    match role {
        Role::Nacos => {
            let server = ours::Server::start(port).await?;
            until_parent_ends(server.http()).await
        }
        Role::IdleGrpc => {
            let server = IdleServer::start(answer)?;
            until_parent_ends(server.address()).await
        }
        Role::IdleHttp => {
            let server = IdleHttp::start(answer).await?;
            until_parent_ends(server.address()).await
        }
    }
}

async fn until_parent_ends(address: SocketAddr) -> Result<(), Failure> {
    println!("{LISTENING}{address}");
    // The other end of standard input closes when the parent ends in whatever way, and then so does this process.
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await??;
    Ok(())
}
