//! Servers in processes of their own: to be killed, or so that only their memory and processor time is counted.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use tempfile::TempDir;

use super::http_load::{Link, Request};
use super::idle_http::IdleHttp;
use super::idle_server::IdleServer;
use super::rival::Rival;
use super::{Failure, attackers, machine, ours};

/// Names the server's program, such as `target/release/nacos-server-min`.
const PROGRAM: &str = "NACOS_BENCH_PROGRAM";

/// What runs in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Our server with its default settings.
    Nacos,
    /// The same on one thread; it tells how much it has allocated.
    NacosCounted,
    /// [`IdleServer`].
    IdleGrpc,
    /// [`IdleHttp`].
    IdleHttp,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Nacos => "nacos",
            Self::NacosCounted => "nacos-counted",
            Self::IdleGrpc => "idle-grpc",
            Self::IdleHttp => "idle-http",
        }
    }
}

/// A running server; dropping it kills it.
pub(crate) struct Process {
    child: Child,
    out: Option<BufReader<ChildStdout>>,
    /// Where clients connect: of our server the main port, else the only one.
    address: SocketAddr,
    /// Where a real server keeps what it writes; it goes with the process.
    _data: Option<TempDir>,
}

impl Process {
    /// Our server: the program that the environment names, or else this one in its role, whose own pages count as its memory too.
    pub(crate) fn start() -> Result<Self, Failure> {
        if std::env::var_os(PROGRAM).is_some() { ours_at(0) } else { Self::start_as(Role::Nacos) }
    }

    /// Our server, which counts what it allocates.
    pub(crate) fn start_counted() -> Result<Self, Failure> {
        Self::start_as(Role::NacosCounted)
    }

    fn start_as(role: Role) -> Result<Self, Failure> {
        // Ports in use are tried again elsewhere; the range lies below the one that outgoing connections take theirs from.
        for attempt in 0..20 {
            let port = 20_000 + u16::try_from((std::process::id() + attempt * 7) % 2_000)?;
            if let Ok(process) = serving(role, port, 0) {
                return Ok(process);
            }
        }
        Err("no free port found".into())
    }

    /// A server that others wrote; it listens within a minute.
    pub(crate) async fn start_rival(rival: &Rival) -> Result<Self, Failure> {
        // Another port each time: connections of the one before may linger.
        static STARTED: AtomicU16 = AtomicU16::new(0);
        let port = 22_500 + (u16::try_from(std::process::id() % 400)? + STARTED.fetch_add(2, Ordering::Relaxed)) % 400;
        let data = TempDir::new()?;
        let mut command = match rival {
            Rival::Nacos(script) => {
                let mut command = Command::new(script);
                command.args(["2.0.4.RELEASE", &port.to_string()]).arg(data.path());
                command
            }
            Rival::RNacos(program) => {
                let mut command = Command::new(program);
                command.env("RNACOS_HTTP_PORT", port.to_string()).env("RNACOS_HTTP_CONSOLE_PORT", "0");
                // It writes a line for each request otherwise.
                command.env("RNACOS_DATA_DIR", data.path()).env("RUST_LOG", "warn");
                command
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.current_dir(data.path()).spawn()?;
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let server = Self { child, out: None, address, _data: Some(data) };
        let metrics = Request::get("/nacos/v1/ns/operator/metrics");
        for _ in 0..600 {
            if let Ok(mut link) = Link::open(server.http()).await
                && link.ask(&metrics).await.is_ok()
                && Link::open(server.grpc()).await.is_ok()
            {
                return Ok(server);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("it did not start within a minute".into())
    }

    /// A server that does nothing, on any port; `answer` is the size of what it says, in bytes.
    pub(crate) fn start_idle(role: Role, answer: usize) -> Result<Self, Failure> {
        serving(role, 0, answer)
    }

    /// Somebody who means no good to our server.
    pub(crate) fn start_attack(kind: attackers::Kind, server: &Self, strength: usize) -> Result<Self, Failure> {
        let name = kind.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let (server, strength) = (server.http().to_string(), strength.to_string());
        spawn(&["attack", "--kind", &name, "--server", &server, "--strength", &strength])
    }

    /// Bytes that a counting server has allocated since this was asked last.
    pub(crate) fn allocated(&mut self) -> Result<f64, Failure> {
        self.child.stdin.as_mut().ok_or("no way to ask")?.write_all(b"\n")?;
        let mut line = String::new();
        self.out.as_mut().ok_or("no way to hear")?.read_line(&mut line)?;
        Ok(line.trim().parse()?)
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
        *self = ours_at(self.address.port())?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.kill());
    }
}

/// Our server on this port; a program of its own finds a free one for 0.
fn ours_at(port: u16) -> Result<Process, Failure> {
    match std::env::var_os(PROGRAM) {
        Some(program) => started(Command::new(program).args(["--port", &port.to_string(), "--log", "error"])),
        None => serving(Role::Nacos, port, 0),
    }
}

fn serving(role: Role, port: u16, answer: usize) -> Result<Process, Failure> {
    spawn(&["serve", "--port", &port.to_string(), "--role", role.name(), "--answer", &answer.to_string()])
}

/// Starts this program in another part and returns once it says where it listens.
fn spawn(args: &[&str]) -> Result<Process, Failure> {
    started(Command::new(std::env::current_exe()?).args(args))
}

fn started(command: &mut Command) -> Result<Process, Failure> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        let mut out = BufReader::new(out);
        out.read_line(&mut line)?;
        if let Some(address) = listening(&line) {
            return Ok(Process { child, out: Some(out), address, _data: None });
        }
    }
    child.kill()?;
    child.wait()?;
    Err("the server did not start".into())
}

const LISTENING: &str = "listening on ";

/// What a program says in its first line: only the address, or its name first and a URL.
fn listening(line: &str) -> Option<SocketAddr> {
    let (_, address) = line.trim().split_once(LISTENING)?;
    address.trim_start_matches("http://").trim_end_matches("/nacos").parse().ok()
}

/// The child's side: runs until it is killed or the parent ends.
pub(crate) async fn serve(role: Role, port: u16, answer: usize) -> Result<(), Failure> {
    match role {
        Role::NacosCounted => Err("it has a thread of its own".into()),
        Role::Nacos => {
            let server = ours::Server::start_like_program(port).await?;
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

/// The same on this thread alone, so that what it allocates is what the server allocates. Tells that, and begins anew,
/// whenever the parent writes a line.
pub(crate) fn serve_counted(port: u16) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let server = runtime.block_on(ours::Server::start(port))?;
    println!("{LISTENING}{}", server.http());
    loop {
        let mut asked = Ok(Ok(0));
        let taken = allocation_counter::measure(|| {
            let line = || std::io::stdin().read_line(&mut String::new());
            asked = runtime.block_on(async { tokio::task::spawn_blocking(line).await });
        });
        if asked?? == 0 {
            return Ok(());
        }
        println!("{}", taken.bytes_total);
    }
}

/// Says where it listens, and returns when the parent has ended.
pub(crate) async fn until_parent_ends(address: SocketAddr) -> Result<(), Failure> {
    println!("{LISTENING}{address}");
    // The other end of standard input closes when the parent ends in whatever way, and then so does this process.
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await??;
    Ok(())
}
