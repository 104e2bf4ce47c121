//! The server as a program.
#![forbid(unsafe_code)]

mod cli;

use std::error::Error as _;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;
use nacos_server_min::{Behaviour, Server, Settings, StartError};
use tracing_subscriber::EnvFilter;

use cli::Args;

/// The ports could not be had, or a setting is wrong; also what the parser of the command line exits with.
const UNUSABLE: u8 = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    let filter = match EnvFilter::try_new(&args.log) {
        Ok(filter) => filter,
        Err(error) => return fail(&format!("--log {:?}: {error}", args.log)),
    };
    // Colours are for people: in a file or a pipe they would only be noise.
    let colours = std::io::stderr().is_terminal();
    // A log that cannot be written, as on a full disk, is lost: to say so where it cannot be written either would be a panic.
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start the runtime: {error}")),
    };
    runtime.block_on(run(args))
}

async fn run(args: Args) -> ExitCode {
    // Asked for first, so that a signal during the start is not lost.
    let stop = match Stop::listen() {
        Ok(stop) => stop,
        Err(error) => return fail(&format!("cannot listen for signals: {error}")),
    };
    let mut settings = Settings::default();
    settings.probes = args.probes.into();
    settings.token_life = std::time::Duration::from_secs(args.token_seconds);
    let http_threads = args.http_threads();
    let mut builder = Server::builder()
        .settings(settings)
        .host(args.host)
        .port(args.port)
        .seed(args.seed)
        .http_threads(http_threads)
        .behaviour(args.behaviour.into());
    if let Some(name) = args.auth_user {
        match std::env::var(&args.auth_password_env) {
            Ok(password) => builder = builder.user(name, password),
            Err(_) => return fail(&format!("--auth-user {name}: {} holds no password", args.auth_password_env)),
        }
    }
    let server = match builder.start().await {
        Ok(server) => server,
        Err(error) => return fail(&describe(&error)),
    };
    announce(&server, args.behaviour.into());
    let exit = tokio::select! {
        () = stop.requested() => ExitCode::SUCCESS,
        () = server.failed() => ExitCode::FAILURE,
    };
    server.shutdown().await;
    exit
}

/// For scripts, which wait for these lines. Whether anybody reads them is no matter of the server's.
fn announce(server: &Server, behaviour: Behaviour) {
    let version = env!("CARGO_PKG_VERSION");
    let (http, grpc) = (server.http_addr(), server.grpc_addr());
    let mut text = format!(
        "nacos-server-min {version} listening on http://{http}/nacos\nnacos-server-min {version} listening on {grpc} (gRPC)\n"
    );
    if behaviour == Behaviour::Nacos25 {
        text.push_str("nacos-server-min behaves like a recorded Nacos 2.5.1\n");
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// The one line that a user gets when the server does not start. If it cannot be written, nothing is left to do.
fn fail(message: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "nacos-server-min: {message}");
    ExitCode::from(UNUSABLE)
}

/// The error with its causes.
fn describe(error: &StartError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// The signals that end the server.
#[cfg(unix)]
struct Stop {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Stop {
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn requested(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// The signals that end the server.
#[cfg(not(unix))]
struct Stop;

#[cfg(not(unix))]
impl Stop {
    fn listen() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn requested(self) {
        // If it cannot be listened for, only killing the process ends it.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
